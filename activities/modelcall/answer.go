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

// defaultMemory is the default of Deps.AnswerMemory: hundreds of pictures, or the longest answer that a provider may give.
const defaultMemory = 256 << 20

// memory is the budget for answers that the blob store does not take, for example because the disk is full.
type memory struct {
	size int64

	mu   sync.Mutex // guards used
	used int64
}

func newMemory(size int64) *memory {
	if size <= 0 {
		size = defaultMemory
	}
	return &memory{size: size}
}

// take takes n more bytes. It reports whether the budget allows them.
func (m *memory) take(n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used+n > m.size {
		return false
	}
	m.used += n
	return true
}

// short reports whether answers fill half of the budget, so that no further call may begin: the rest is for the calls
// under way.
func (m *memory) short() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used > m.size/2
}

var errNoMemory = fault.New(fault.Exhausted, fault.CodeDiskFull, "answers wait for space to store them")

// answer receives the bytes of a provider's answer. If the blob store fails while it takes them, they wait until it takes them
// again, because only this process has the answer of a paid call: in memory, or, beyond the budget, in the staged file of the
// writer whose commit failed.
type answer struct {
	blobs  blob.Store
	memory *memory     // nil: the answer can be requested again, so it does not wait
	writer blob.Writer // nil once the answer is in memory
	failed bool        // the commit of writer failed: its bytes are stored by another one
	kept   [][]byte    // the answer in memory
	links  linkFinder
	stored *blob.Stored // set once the store has the answer
	lost   error        // why the answer is neither stored nor waiting
}

// gone reports whether the answer is lost for good.
func (a *answer) gone() bool { return a.lost != nil && a.memory != nil }

func (m *Activities) newAnswer(ctx context.Context, waits *memory) (*answer, error) {
	w, err := m.Blobs.Create(ctx, blob.Durable)
	if err != nil {
		return nil, err
	}
	return &answer{blobs: m.Blobs, memory: waits, writer: w}, nil
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
		if a.lost = a.keep(); a.lost != nil {
			a.lost = fmt.Errorf("%w: %w", err, a.lost)
			return n, a.lost
		}
		taken = n
	}
	if rest := p[taken:]; a.memory.take(int64(len(rest))) {
		a.kept = append(a.kept, bytes.Clone(rest))
		return len(p), nil
	}
	a.lost = errNoMemory
	return taken, a.lost
}

// keep moves what the writer has taken into memory, because the writer has failed.
func (a *answer) keep() error {
	want, size := a.writer.Sum()
	if a.memory == nil || !a.memory.take(size) {
		return errNoMemory
	}
	kept := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(a.writer, 0, size), kept)
	if err == nil && blob.Sum(kept) != want {
		err = blob.Corrupt(want)
	}
	if err != nil {
		a.memory.take(-size)
		return fmt.Errorf("read the answer back: %w", err)
	}
	_ = a.writer.Abort() // its space is needed
	a.writer, a.kept = nil, [][]byte{kept}
	return nil
}

// commit stores the answer. After an error, unless the answer is lost, commit can be repeated.
func (a *answer) commit(ctx context.Context) (stored blob.Stored, err error) {
	switch {
	case a.stored != nil:
		return *a.stored, nil
	case a.writer == nil:
		readers := make([]io.Reader, len(a.kept))
		for i, piece := range a.kept {
			readers[i] = bytes.NewReader(piece)
		}
		stored, err = blob.Put(ctx, a.blobs, blob.Durable, io.MultiReader(readers...))
	case a.failed: // a sync that is repeated may report success for bytes that the disk has dropped, so they are copied
		want, size := a.writer.Sum()
		stored, err = blob.Put(ctx, a.blobs, blob.Durable, io.NewSectionReader(a.writer, 0, size))
		if err == nil && stored.Ref != want {
			a.lost = blob.Corrupt(want)
			return blob.Stored{}, a.lost
		}
	default:
		if stored, err = a.writer.Commit(ctx); err != nil {
			a.failed = a.keep() != nil
			if a.memory == nil {
				a.lost = err
			}
		}
	}
	if err == nil {
		a.stored = &stored
		a.discard()
	}
	return stored, err
}

// discard drops the answer, which is stored or no longer needed.
func (a *answer) discard() {
	if a.writer != nil {
		_ = a.writer.Abort() // has no effect after a commit; otherwise a sweep clears the staging folder
	}
	for _, piece := range a.kept {
		a.memory.take(-int64(len(piece)))
	}
	a.kept = nil
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
