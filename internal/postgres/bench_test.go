package postgres_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// BenchmarkAppend is the cost of one append of three events to a new stream, without the disk.
func BenchmarkAppend(b *testing.B) {
	pool := openPool(b, newDatabase(b))
	store := postgres.NewEventStore(pool, eventlogtest.Registry(b), nil)
	for b.Loop() {
		_, err := store.Append(b.Context(), noted("note-"+uuid.NewString(), 0, "one", "two", "three"))
		require.NoError(b, err)
	}
}
