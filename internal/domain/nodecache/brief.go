package nodecache

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Bounds of a Brief: about ten megabytes when it is full.
const (
	briefEntries = 8192
	briefBytes   = 1 << 10 // of the UI output of an entry; a larger one is not kept
)

// Brief keeps the latest results of nodes that take less time than a lookup in a Store, in the memory of one process. A
// node whose result is not known runs again: in another process, after a restart, or when newer results took its space.
// A nil Brief keeps nothing.
type Brief struct {
	entries *lru.Cache[briefKey, briefEntry]
}

type briefKey struct {
	account string
	key     Key
}

type briefEntry struct {
	Entry
	made time.Time
}

// NewBrief returns an empty Brief.
func NewBrief() *Brief {
	entries, err := lru.New[briefKey, briefEntry](briefEntries)
	if err != nil {
		panic(err) // the bound is a constant
	}
	return &Brief{entries: entries}
}

func (b *Brief) find(account string, key Key, age time.Duration) (Entry, bool) {
	if b == nil {
		return Entry{}, false
	}
	e, ok := b.entries.Get(briefKey{account, key})
	return e.Entry, ok && time.Since(e.made) < age
}

func (b *Brief) keep(account string, e Entry) {
	if b == nil || len(e.UI) > briefBytes || len(e.Files) > 0 || len(e.Values) > 0 {
		return
	}
	b.entries.Add(briefKey{account, e.Key}, briefEntry{e, time.Now()})
}
