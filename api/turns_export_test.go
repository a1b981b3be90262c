package api

import "context"

// Turns are the places for heavy work.
type Turns struct{ inner *turns }

// NewTurns returns that many places, of which an account may have its share.
func NewTurns(places, share int) Turns { return Turns{newTurns(places, share)} }

// Take waits for a place.
func (t Turns) Take(ctx context.Context, account string) (func(), error) {
	return t.inner.take(ctx, account)
}

// Waiting counts who stands in line.
func (t Turns) Waiting() int {
	t.inner.mu.Lock()
	defer t.inner.mu.Unlock()
	n := 0
	for _, w := range t.inner.waiting {
		n += len(w)
	}
	return n
}
