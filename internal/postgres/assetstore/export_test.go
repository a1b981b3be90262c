package assetstore

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// NewBounded is New with joint transactions of at most so many new assets.
func NewBounded(pool *pgxpool.Pool, events *eventstore.Store, most int) *Store {
	s := New(pool, events)
	s.creations = committer.New(committer.Options{Count: most}, s.createAll)
	return s
}

// Joining returns how many new assets of an account wait to be committed together.
func (s *Store) Joining(account string) int { return s.creations.Waiting(account) }
