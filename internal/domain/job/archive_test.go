package job_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// A job can be read for a day after its end, or for its retention if that is shorter, however long ago it was submitted.
func TestAJobExpiresByItsSubmissionAndItsEnd(t *testing.T) {
	t.Parallel()
	const hour, day = time.Hour, 24 * time.Hour
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		retention, ended, want time.Duration
	}{
		"it has not ended":                       {7 * day, -1, 7 * day},
		"it ended long before":                   {7 * day, hour, 7 * day},
		"it ended a day before":                  {7 * day, 6 * day, 7 * day},
		"it ended shortly before":                {7 * day, 6*day + hour, 7*day + hour},
		"it ended after its retention":           {7 * day, 9 * day, 10 * day},
		"it ended after its retention of a hour": {hour, 3 * hour, 4 * hour},
		"a retention of a hour":                  {hour, 0, hour},
	} {
		j := job.Job{SubmittedAt: begin}
		if c.ended >= 0 {
			end := begin.Add(c.ended)
			j.EndedAt = &end
		}
		require.Equal(t, begin.Add(c.want), j.ExpiresAt(c.retention), name)
	}
	require.Equal(t, 2*(7*day+day), job.OutputRetention(7*day))
}

// events returns the events of a stream, one for each text that they have as data.
func events(stream string, data ...string) []eventlog.Recorded {
	all := make([]eventlog.Recorded, len(data))
	for i, d := range data {
		raw, err := json.Marshal(map[string]string{"x": d})
		if err != nil {
			panic(err)
		}
		all[i] = eventlog.Recorded{Stream: stream, Version: int64(i) + 1, Type: job.TypeAdmitted, Data: raw}
	}
	return all
}

// full is a disk that is full after so many writes.
type full struct{ left int }

var errFull = errors.New("the disk is full")

func (f *full) Write(p []byte) (int, error) {
	if f.left == 0 {
		return 0, errFull
	}
	f.left--
	return len(p), nil
}

// Whichever write of an archive fails, the archive is not written.
func TestAnArchiveIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("some text ", 30_000)
	says := map[string]bool{}
	for name, all := range map[string][]eventlog.Recorded{
		"small": events("job-x", "a", "b"), "a long event": events("job-x", "a", long, "b"), "a long name": events("job-"+long, "a"),
	} {
		for n := 0; ; n++ {
			disk := &full{left: n}
			err := job.WriteArchive(disk, all)
			if disk.left > 0 {
				require.NoError(t, err)
				break
			}
			if err == nil {
				continue // the last write
			}
			require.ErrorIs(t, err, errFull, "%s: write %d", name, n)
			says[strings.SplitN(err.Error(), ":", 2)[0]] = true
		}
		var whole bytes.Buffer
		require.NoError(t, job.WriteArchive(&whole, all))
		read, err := job.ReadArchive(&whole)
		require.NoError(t, err)
		require.Equal(t, all, read)
	}
	require.Contains(t, says, "write the head of an archive")
	require.Contains(t, says, "end an archive")
	require.Contains(t, says, "archive event 2 of job-x")
}

// An archive keeps the data of events to the byte.
func TestAnArchiveKeepsTheDataOfEvents(t *testing.T) {
	t.Parallel()
	all := events("job-x", "a")
	all[0].Data = json.RawMessage(`{"x":"<a> & 'b'"}`)
	var archive bytes.Buffer
	require.NoError(t, job.WriteArchive(&archive, all))
	read, err := job.ReadArchive(&archive)
	require.NoError(t, err)
	require.Equal(t, string(all[0].Data), string(read[0].Data))
}

// archived returns lines compressed as an archive is.
func archived(t *testing.T, lines ...string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return z.EncodeAll([]byte(strings.Join(lines, "\n")), nil)
}

// An archive with a fault is Internal, and no part of it is returned.
func TestAFaultyArchiveIsNotRead(t *testing.T) {
	t.Parallel()
	head := func(format, stream string, events int) string {
		return fmt.Sprintf(`{"format":%q,"stream":%q,"events":%d}`, format, stream, events)
	}
	const format = "millrace-job-events/1"
	line := func(stream string, version int) string {
		raw, err := json.Marshal(eventlog.Recorded{Stream: stream, Version: int64(version), Data: json.RawMessage(`{}`)})
		require.NoError(t, err)
		return string(raw)
	}
	one, two := line("job-x", 1), line("job-x", 2)
	read, err := job.ReadArchive(bytes.NewReader(archived(t, head(format, "job-x", 2), one, two)))
	require.NoError(t, err)
	require.Len(t, read, 2)
	for says, lines := range map[string][]string{
		`unknown format "millrace-job-events/2"`:            {head("millrace-job-events/2", "job-x", 2), one, two},
		"the archive of job-x has 1 events of 2":            {head(format, "job-x", 2), one},
		"the archive of job-x has 2 events of 1":            {head(format, "job-x", 1), one, two},
		"the archive of job-y has 2 events of 2":            {head(format, "job-y", 2), one, two},
		"event 2 of job-x is at position 1 of an archive":   {head(format, "job-x", 1), two},
		"event 2 of job-y is at position 2 of an archive":   {head(format, "job-x", 2), one, line("job-y", 2)},
		"the archive has no events":                         {head(format, "job-x", 0)},
		"read event 2 of an archive":                        {head(format, "job-x", 2), one, "no event"},
		"read the head of an archive":                       {"no head"},
		"event 1 of job-x is at position 2 of an archive":   {head(format, "job-x", 2), one, one},
		"event 3 of job-x is at position 2 of an archive":   {head(format, "job-x", 2), one, line("job-x", 3)},
		"event 4611686018427387904 of job-x is at position": {head(format, "job-x", 1), line("job-x", 1<<62)},
	} {
		read, err := job.ReadArchive(bytes.NewReader(archived(t, lines...)))
		require.ErrorContains(t, err, says)
		require.True(t, fault.Is(err, fault.Internal), says)
		require.Nil(t, read, says)
	}
	err = job.WriteArchive(&bytes.Buffer{}, events("job-x", "a", "b")[1:])
	require.ErrorContains(t, err, "event 2 of job-x is at position 1 of an archive")
}

func TestAnArchiveIsOpenedByItsName(t *testing.T) {
	t.Parallel()
	blobs, all := mem.New(), events("job-x", "a", "b")
	var archive bytes.Buffer
	require.NoError(t, job.WriteArchive(&archive, all))
	ref, err := blob.PutBytes(t.Context(), blobs, archive.Bytes())
	require.NoError(t, err)
	read, err := job.OpenArchive(t.Context(), blobs, ref.String())
	require.NoError(t, err)
	require.Equal(t, all, read)
	_, err = job.OpenArchive(t.Context(), blobs, "no name")
	require.Error(t, err)
	_, err = job.OpenArchive(t.Context(), blobs, blob.Ref{1}.String())
	require.ErrorContains(t, err, "open the archive of a job")
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	ref, err = blob.PutBytes(t.Context(), blobs, []byte("no archive"))
	require.NoError(t, err)
	_, err = job.OpenArchive(t.Context(), blobs, ref.String())
	require.True(t, fault.Is(err, fault.Internal), "%v", err)
}
