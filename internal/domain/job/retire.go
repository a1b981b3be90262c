package job

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// afterEnd is the minimum time for which a job can be read after its end, unless its retention is shorter.
const afterEnd = 24 * time.Hour

// ExpiresAt returns when the job expires: its retention after submission, but not earlier than afterEnd (or the
// retention, if shorter) after its end. An unfinished job does not expire.
func (j Job) ExpiresAt(retention time.Duration) time.Time {
	at := j.SubmittedAt.Add(retention)
	if j.EndedAt == nil {
		return at
	}
	if late := j.EndedAt.Add(min(retention, afterEnd)); late.After(at) {
		return late
	}
	return at
}

// OutputRetention returns how long an output is kept after it was saved, so that it outlives its job. It is twice the
// life of a job, because later jobs may reuse an output from the node cache during the first half of its life.
func OutputRetention(retention time.Duration) time.Duration { return 2 * (retention + afterEnd) }

// archiveFormat is the format that the first line of an archive names.
const archiveFormat = "millrace-job-events/1"

// archiveHead is the first line of an archive. One line for each event follows.
type archiveHead struct {
	Format string `json:"format"`
	Stream string `json:"stream"`
	Events int    `json:"events"`
}

// WriteArchive writes the events of one stream, versions 1 to the last, as JSON lines compressed with zstd.
func WriteArchive(w io.Writer, events []eventlog.Recorded) error {
	if err := checkEvents(events); err != nil {
		return err
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	out := json.NewEncoder(z)
	out.SetEscapeHTML(false)
	if err := out.Encode(archiveHead{Format: archiveFormat, Stream: events[0].Stream, Events: len(events)}); err != nil {
		return fmt.Errorf("write the head of an archive: %w", err)
	}
	for _, event := range events {
		if err := out.Encode(event); err != nil {
			return fmt.Errorf("archive event %d of %s: %w", event.Version, event.Stream, err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("end an archive: %w", err)
	}
	return nil
}

// archiveMemory bounds the memory for decompressing an archive.
const archiveMemory = 64 << 20

// ReadArchive returns the events that WriteArchive wrote. An archive that is truncated or out of order is Internal;
// no part of it is returned.
func ReadArchive(r io.Reader) ([]eventlog.Recorded, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(archiveMemory))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	in := json.NewDecoder(bufio.NewReader(z))
	var head archiveHead
	if err := in.Decode(&head); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "", "read the head of an archive")
	}
	if head.Format != archiveFormat {
		return nil, fault.New(fault.Internal, "", "the archive has the unknown format %q", head.Format)
	}
	var events []eventlog.Recorded
	for {
		var event eventlog.Recorded
		if err := in.Decode(&event); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "", "read event %d of an archive", len(events)+1)
		}
		events = append(events, event)
	}
	if err := checkEvents(events); err != nil {
		return nil, err
	}
	if len(events) != head.Events || events[0].Stream != head.Stream {
		return nil, fault.New(fault.Internal, "", "the archive of %s has %d events of %d", head.Stream, len(events), head.Events)
	}
	return events, nil
}

// checkEvents returns an error unless the events are versions 1, 2, 3 and so on of one stream.
func checkEvents(events []eventlog.Recorded) error {
	if len(events) == 0 {
		return fault.New(fault.Internal, "", "the archive has no events")
	}
	for i, event := range events {
		if event.Stream != events[0].Stream || event.Version != int64(i)+1 {
			return fault.New(fault.Internal, "", "event %d of %s is at position %d of an archive", event.Version, event.Stream, i+1)
		}
	}
	return nil
}

// OpenArchive reads an archive from the blob store, which verifies its hash.
func OpenArchive(ctx context.Context, blobs blob.Store, name string) ([]eventlog.Recorded, error) {
	ref, err := blob.ParseRef(name)
	if err != nil {
		return nil, err
	}
	r, err := blobs.Open(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("open the archive of a job: %w", err)
	}
	defer r.Close()
	return ReadArchive(r)
}

// Overdue is a job that may be past its retention.
type Overdue struct {
	Job       Job
	CreatedAt time.Time // cursor of the listing
}

// Retirement is a command to remove an ended job from the views.
type Retirement struct {
	ID       ID
	Account  string
	Version  int64    // of its last event
	Archive  blob.Ref // holds its events; zero = the events are erased
	Document blob.Ref // holds a large submission, kept as long as the archive; zero = none
}

// DocumentBlob returns the name of the blob with a job's submission, given the job's first event. It returns "" if
// the event contains the submission.
func DocumentBlob(first eventlog.Recorded) (string, error) {
	var event SubmittedV1
	if err := json.Unmarshal(first.Data, &event); err != nil {
		return "", fmt.Errorf("read the first event of %s: %w", first.Stream, err)
	}
	return event.Document.Blob, nil
}
