package disk

import (
	"cmp"
	"io/fs"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// verifiedFiles remembers for a while which files passed a check, so that a popular blob is not hashed again for every range
// and reader.
type verifiedFiles struct {
	ttl time.Duration

	mu    sync.Mutex // guards files
	files map[blob.Ref]checkedFile
}

type checkedFile struct {
	size     int64
	modified time.Time
	until    time.Time
}

// maxVerified bounds the memory of trust to under a megabyte.
const maxVerified = 4096

func newVerifiedFiles(ttl time.Duration) *verifiedFiles {
	ttl = cmp.Or(ttl, defaultVerifiedTTL)
	return &verifiedFiles{ttl: ttl, files: map[blob.Ref]checkedFile{}}
}

func (t *verifiedFiles) add(ref blob.Ref, info fs.FileInfo) {
	if t.ttl < 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.files) >= maxVerified {
		for old := range t.files { // any entry: checking a file again is cheap
			delete(t.files, old)
			break
		}
	}
	t.files[ref] = checkedFile{size: info.Size(), modified: info.ModTime(), until: time.Now().Add(t.ttl)}
}

func (t *verifiedFiles) holds(ref blob.Ref, info fs.FileInfo) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.files[ref]
	if !ok {
		return false
	}
	if c.size != info.Size() || !c.modified.Equal(info.ModTime()) || time.Now().After(c.until) {
		delete(t.files, ref)
		return false
	}
	return true
}
