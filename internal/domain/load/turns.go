package load

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// piece is a piece of work that waits.
type piece struct {
	account string
	granted chan struct{} // of a caller: closed when it has a slot
	intent  outbox.Intent // of a gate of intents
}

// turns is a queue in which accounts take turns: an account with many pieces of work delays another one by one piece.
type turns struct {
	pieces map[string][]*piece // by account, oldest first
	order  []string            // accounts that wait
	count  int
}

func (t *turns) add(p *piece) {
	if len(t.pieces[p.account]) == 0 {
		t.order = append(t.order, p.account)
	}
	t.pieces[p.account] = append(t.pieces[p.account], p)
	t.count++
}

// next removes the oldest piece of the first account that may have a turn, and returns nil if none may.
func (t *turns) next(may func(account string) bool) *piece {
	i := slices.IndexFunc(t.order, may)
	if i < 0 {
		return nil
	}
	p := t.pieces[t.order[i]][0]
	t.remove(p)
	if len(t.pieces[p.account]) > 0 {
		t.order = append(slices.Delete(t.order, i, i+1), p.account)
	}
	return p
}

// remove reports whether p was in the queue.
func (t *turns) remove(p *piece) bool {
	i := slices.Index(t.pieces[p.account], p)
	if i < 0 {
		return false
	}
	t.count--
	if t.pieces[p.account] = slices.Delete(t.pieces[p.account], i, i+1); len(t.pieces[p.account]) == 0 {
		delete(t.pieces, p.account)
		t.order = slices.DeleteFunc(t.order, func(a string) bool { return a == p.account })
	}
	return true
}
