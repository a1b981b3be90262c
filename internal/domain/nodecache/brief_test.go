package nodecache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
)

// slowStore is a store of one entry that counts what it is asked for and what it is given.
type slowStore struct {
	nodecache.Store
	entry nodecache.Entry
	away  error
	asked []nodecache.Key
	saved []nodecache.Entry
}

func (s *slowStore) Find(_ context.Context, _ string, keys []nodecache.Key, _ time.Duration) ([]nodecache.Entry, error) {
	s.asked = append(s.asked, keys...)
	return []nodecache.Entry{s.entry}, s.away
}

func (s *slowStore) Save(_ context.Context, _ string, entries []nodecache.Entry) error {
	s.saved = append(s.saved, entries...)
	return nil
}

func TestTheStoreIsNotAskedForBriefNodes(t *testing.T) {
	t.Parallel()
	store := &slowStore{entry: nodecache.Entry{Key: nodecache.Key{9}}}
	cache := &nodecache.Cache{Store: store, Age: time.Hour, Brief: nodecache.NewBrief()}
	keys := []nodecache.Key{{1}, {2}, {}}
	lookup := func(account string, of func(int) nodecache.Unit, keys ...nodecache.Key) map[int]nodecache.Entry {
		hits, err := cache.Lookup(t.Context(), account, keys, of)
		require.NoError(t, err)
		return hits
	}
	brief := func(int) nodecache.Unit { return nodecache.Unit{Brief: true} }
	require.Empty(t, lookup("a", brief, keys...))
	require.NoError(t, cache.Keep(t.Context(), "a", nil, []nodecache.Entry{
		{Key: keys[0], UI: []byte(`{"text":["x"]}`)},
		{Key: keys[1], UI: []byte(`"` + strings.Repeat("x", 2000) + `"`)},
		{Key: nodecache.Key{3}, Files: []job.OutputFile{{}}},
	}))
	hits := lookup("a", brief, append(keys, nodecache.Key{3})...)
	require.Len(t, hits, 1, "what is large or has files is not kept")
	require.JSONEq(t, `{"text":["x"]}`, string(hits[0].UI))
	require.Empty(t, lookup("b", brief, keys...), "of another account")
	require.Empty(t, store.asked)
	require.Empty(t, store.saved)

	mixed := func(u int) nodecache.Unit { return nodecache.Unit{Brief: u == 0} }
	require.Len(t, lookup("a", mixed, keys[0], nodecache.Key{9}), 2)
	require.Equal(t, []nodecache.Key{{9}}, store.asked, "only for what it may have")
	require.Empty(t, lookup("a", func(int) nodecache.Unit { return nodecache.Unit{Brief: true, Anew: true} }, keys...))
	require.NoError(t, cache.Keep(t.Context(), "a", []nodecache.Entry{{Key: keys[0]}}, nil))
	require.Len(t, store.saved, 1)
}

func TestResultsOfBriefNodesExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := &nodecache.Cache{Age: time.Minute, Brief: nodecache.NewBrief()}
		key := nodecache.Key{1}
		require.NoError(t, cache.Keep(t.Context(), "a", nil, []nodecache.Entry{{Key: key, UI: []byte(`{}`)}}))
		brief := func(int) nodecache.Unit { return nodecache.Unit{Brief: true} }
		hits, err := cache.Lookup(t.Context(), "a", []nodecache.Key{key}, brief)
		require.NoError(t, err)
		require.Len(t, hits, 1)
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's clock
		hits, err = cache.Lookup(t.Context(), "a", []nodecache.Key{key}, brief)
		require.NoError(t, err)
		require.Empty(t, hits)
	})
}

// What is shown of an entry is that of its node, or those of the nodes of its segment; a result without UI output shows nothing.
func TestAnEntryShowsItsUIOutputs(t *testing.T) {
	t.Parallel()
	inner := []nodecache.Shown{{Node: "7", Class: "Save", UI: []byte(`{}`)}}
	require.Equal(t, inner, (&nodecache.Entry{Nodes: inner}).Shown("segment:7", ""))
	require.Equal(t, []nodecache.Shown{{Node: "1", Class: "Save", UI: []byte(`{}`)}}, (&nodecache.Entry{UI: []byte(`{}`)}).Shown("1", "Save"))
	require.Empty(t, (&nodecache.Entry{Values: []string{"x"}}).Shown("1", "Save"))
}

// A lookup that fails is no lookup without hits: the caller decides what that means.
func TestAFailedLookupIsAnError(t *testing.T) {
	t.Parallel()
	away := errors.New("the database is away")
	cache := &nodecache.Cache{Store: &slowStore{away: away}, Brief: nodecache.NewBrief()}
	_, err := cache.Lookup(t.Context(), "a", []nodecache.Key{{1}}, func(int) nodecache.Unit { return nodecache.Unit{} })
	require.ErrorIs(t, err, away)
}
