package modelcall

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// defaultRoom is the default of Deps.Room: hundreds of pictures, or the longest answer that a provider may give.
const defaultRoom = 256 << 20

// room is the memory for answers that the blob store does not take, for example because the disk is full.
type room struct {
	size int64

	mu   sync.Mutex // guards used
	used int64
}

func newRoom(size int64) *room {
	if size <= 0 {
		size = defaultRoom
	}
	return &room{size: size}
}

// take takes n more bytes. It reports whether there is room for them.
func (r *room) take(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used+n > r.size {
		return false
	}
	r.used += n
	return true
}

// short reports whether answers fill half of the room, so that no further call may begin: what is left is for the calls
// under way.
func (r *room) short() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used > r.size/2
}

var errNoRoom = fault.New(fault.Exhausted, fault.CodeDiskFull, "answers wait for space to store them")

// answer receives the bytes of a provider's answer. If the blob store fails while it takes them, they wait in memory: only
// this process has the answer of a paid call.
type answer struct {
	blobs  blob.Store
	room   *room       // nil: the answer can be requested again, so it is not kept
	writer blob.Writer // nil once the answer is in memory
	kept   []byte      // the answer in memory
	links  linkFinder
	stored *blob.Stored // set once the store has the answer
	lost   error        // why the answer is neither stored nor in memory
}

// gone reports whether the answer is lost for good.
func (a *answer) gone() bool { return a.lost != nil && a.room != nil }

// newAnswer returns the place for an answer, if there is space for one.
func (m *Activities) newAnswer(ctx context.Context, keptIn *room) (*answer, error) {
	if m.Space != nil {
		if err := m.Space(); err != nil {
			return nil, err
		}
	}
	w, err := m.Blobs.Create(ctx, blob.Durable)
	if err != nil {
		return nil, err
	}
	return &answer{blobs: m.Blobs, room: keptIn, writer: w}, nil
}

// Write implements io.Writer.
func (a *answer) Write(p []byte) (int, error) {
	if a.lost != nil {
		return 0, a.lost
	}
	a.links.see(p)
	taken := 0
	if a.writer != nil {
		n, err := a.writer.Write(p)
		if err == nil {
			return n, nil
		}
		if a.keep(err); a.lost != nil {
			return n, err
		}
		taken = n
	}
	if rest := p[taken:]; a.room.take(int64(len(rest))) {
		a.kept = append(a.kept, rest...)
		return len(p), nil
	}
	a.lost = errNoRoom
	return taken, a.lost
}

// keep moves what the writer has taken into memory, because the writer has failed.
func (a *answer) keep(cause error) {
	a.lost = cause
	_, size := a.writer.Sum()
	if a.room == nil || !a.room.take(size) {
		return
	}
	kept := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(a.writer, 0, size), kept); err != nil {
		a.room.take(-size)
		a.lost = fmt.Errorf("%w; and it cannot be read back: %w", cause, err)
		return
	}
	_ = a.writer.Abort() // its space is needed
	a.writer, a.kept, a.lost = nil, kept, nil
}

// commit stores the answer. After an error, unless the answer is lost, commit can be repeated.
func (a *answer) commit(ctx context.Context) (blob.Stored, error) {
	if a.stored != nil {
		return *a.stored, nil
	}
	var stored blob.Stored
	var err error
	if a.writer == nil {
		stored, err = blob.Put(ctx, a.blobs, blob.Durable, bytes.NewReader(a.kept))
	} else if stored, err = a.writer.Commit(ctx); err != nil {
		a.keep(err)
	}
	if err == nil {
		a.stored = &stored
		a.forget()
	}
	return stored, err
}

// forget drops the answer from memory.
func (a *answer) forget() {
	if a.writer == nil {
		a.room.take(-int64(len(a.kept)))
		a.kept = nil
	}
}

// discard drops an answer that is no longer needed.
func (a *answer) discard() {
	if a.writer != nil {
		_ = a.writer.Abort() // a sweep clears the staging folder
	}
	a.forget()
}

// linkFinder searches for JSON strings that begin like URLs: an answer with such a string may refer to content
// outside itself.
type linkFinder struct {
	found bool
	tail  []byte // end of the previous bytes, in which a URL may begin
}

var addresses = [][]byte{[]byte(`"http://`), []byte(`"https://`), []byte(`"http:\/\/`), []byte(`"https:\/\/`)}

// longestAddress is the length of the longest prefix above.
const longestAddress = len(`"https:\/\/`)

func (f *linkFinder) see(p []byte) {
	if f.found || len(p) == 0 {
		return
	}
	joint := append(f.tail, p[:min(len(p), longestAddress)]...)
	for _, a := range addresses {
		if bytes.Contains(joint, a) || bytes.Contains(p, a) {
			f.found = true
			return
		}
	}
	seen := append(f.tail, p[max(0, len(p)-longestAddress):]...)
	f.tail = bytes.Clone(seen[max(0, len(seen)-longestAddress):])
}
