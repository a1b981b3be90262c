package assetstore

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// NewBounded is New with joint transactions of at most so many new assets, 0 = as many as New has, of which so many are under
// way at once.
func NewBounded(pool *pgxpool.Pool, events *eventstore.Store, most, parallel int) *Store {
	s := New(pool, events)
	s.creations = committer.New(committer.Options{Count: most, Parallel: parallel}, s.createAll)
	return s
}

// Parallel is how many joint transactions New has under way at once.
const Parallel = parallel

// Joining returns how many new assets of an account wait to be committed together.
func (s *Store) Joining(account string) int { return s.creations.Waiting(account) }
