package nodecache_test

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

var errAway = errors.New("the database is away")

// crowded is a store with more entries than it may have. The call of a number fails.
type crowded struct {
	nodecache.Store
	over  int
	fails int

	mu    sync.Mutex // guards calls
	calls [][]any
}

// called returns how often Evict was called.
func (c *crowded) called() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// journal is the text of a log that several goroutines use.
type journal struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) count(part string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), part)
}

func (c *crowded) Evict(_ context.Context, most int64, age time.Duration, limit int) (values []string, gone int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, []any{most, age, limit})
	if len(c.calls) == c.fails {
		return nil, 0, errAway
	}
	gone = min(limit, c.over)
	c.over -= gone
	return []string{"v"}, gone, nil
}

func (c *crowded) Save(context.Context, string, []nodecache.Entry) error { return errAway }

// Entries are evicted in batches, and the values of each are forgotten, until few are left or one of them fails.
func TestACacheIsShortenedInBatches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		over, fails, forgets int // which call fails, and which call of forget
		calls, forgotten     int
		failed               bool
	}{
		"nothing":          {0, 0, 0, 1, 1, false},
		"a part":           {499, 0, 0, 1, 1, false},
		"a whole batch":    {500, 0, 0, 2, 2, false},
		"two":              {999, 0, 0, 2, 2, false},
		"a failure":        {999, 2, 0, 2, 1, true},
		"a failure before": {999, 1, 0, 1, 0, true},
		"no forgetting":    {999, 0, 1, 1, 1, true},
	} {
		store := &crowded{over: c.over, fails: c.fails}
		cache := &nodecache.Cache{Store: store, Bytes: 7, Age: time.Hour}
		forgotten := 0
		err := cache.Shorten(t.Context(), func(_ context.Context, values []string) error {
			require.Equal(t, []string{"v"}, values)
			if forgotten++; forgotten == c.forgets {
				return errAway
			}
			return nil
		})
		require.Equal(t, c.failed, errors.Is(err, errAway), "%s: %v", name, err)
		require.Len(t, store.calls, c.calls, name)
		require.Equal(t, c.forgotten, forgotten, name)
		require.Equal(t, []any{int64(7), time.Hour, 500}, store.calls[0], name)
	}
}

// A cache is shortened every minute, also after a failure, which is logged unless the process stops.
func TestACacheIsShortenedEveryMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &crowded{fails: 2}
		lines := &journal{}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- (&nodecache.Cache{Store: store}).Run(ctx, func(context.Context, []string) error {
				if store.called() == 4 { // while the process stops
					stop()
					return errAway
				}
				return nil
			}, slog.New(slog.NewTextHandler(lines, nil)))
		}()
		for n, logged := range []int{0, 0, 1, 1} {
			synctest.Wait()
			require.Equal(t, n, store.called())
			require.Equal(t, logged, lines.count("node cache eviction failed; the next sweep will retry"))
			<-time.After(time.Minute)
		}
		require.NoError(t, <-ended)
		require.Len(t, store.calls, 4)
		require.Equal(t, 1, lines.count("\n"))
	})
}

// Brief results are kept up to a bound, and only if they are nothing but a short text.
func TestBriefResultsAreSmall(t *testing.T) {
	t.Parallel()
	brief := func(int) nodecache.Unit { return nodecache.Unit{Brief: true} }
	for name, c := range map[string]struct {
		entry nodecache.Entry
		kept  bool
	}{
		"no output":            {nodecache.Entry{}, true},
		"an output of 1 KiB":   {nodecache.Entry{UI: make([]byte, 1<<10)}, true},
		"a larger one":         {nodecache.Entry{UI: make([]byte, 1<<10+1)}, false},
		"an output with files": {nodecache.Entry{Files: make([]job.OutputFile, 1)}, false},
		"an entry with values": {nodecache.Entry{Values: []string{"v"}}, false},
	} {
		c.entry.Key = nodecache.Key{1}
		cache := &nodecache.Cache{Age: time.Hour, Brief: nodecache.NewBrief()}
		require.NoError(t, cache.Keep(t.Context(), "a", nil, []nodecache.Entry{c.entry}))
		hits, err := cache.Lookup(t.Context(), "a", []nodecache.Key{{1}}, brief)
		require.NoError(t, err)
		require.Equal(t, c.kept, len(hits) == 1, name)
		none := &nodecache.Cache{Age: time.Hour}
		require.NoError(t, none.Keep(t.Context(), "a", nil, []nodecache.Entry{c.entry}))
		hits, err = none.Lookup(t.Context(), "a", []nodecache.Key{{1}}, brief)
		require.NoError(t, err)
		require.Empty(t, hits, "without a place for them none are kept")
	}
}

func TestEntriesThatAreNotSavedAreAnError(t *testing.T) {
	t.Parallel()
	cache := &nodecache.Cache{Store: &crowded{}}
	require.ErrorIs(t, cache.Keep(t.Context(), "a", []nodecache.Entry{{}}, nil), errAway)
	require.NoError(t, cache.Keep(t.Context(), "a", nil, nil), "nothing is to be saved")
}

// A unit that must run again has no hit, though another unit with the same key has.
func TestAUnitThatRunsAnewHasNoHit(t *testing.T) {
	t.Parallel()
	key := nodecache.Key{9}
	store := &slowStore{entry: nodecache.Entry{Key: key, Class: "X"}}
	cache := &nodecache.Cache{Store: store, Age: time.Hour}
	hits, err := cache.Lookup(t.Context(), "a", []nodecache.Key{key, {8}, key, {}}, func(u int) nodecache.Unit {
		return nodecache.Unit{Anew: u == 0}
	})
	require.NoError(t, err)
	require.Equal(t, map[int]nodecache.Entry{2: store.entry}, hits)
	require.Equal(t, []nodecache.Key{{8}, key}, store.asked)
}

func TestTheNodesOfASegmentAreShownInPlaceOfIt(t *testing.T) {
	t.Parallel()
	inner := []nodecache.Shown{{Node: "7", Class: "Save", UI: []byte(`{}`)}}
	require.Equal(t, inner, (&nodecache.Entry{Nodes: inner, UI: []byte(`{}`)}).Shown("segment:7", ""))
	files := []job.OutputFile{{Asset: "a"}}
	require.Equal(t, []nodecache.Shown{{Node: "1", Class: "Save", UI: []byte(`{}`), Files: files}},
		(&nodecache.Entry{UI: []byte(`{}`), Files: files}).Shown("1", "Save"))
}

// Parts of a key do not run into each other, and a file input counts as linked only if it is.
func TestKeysOfFilesAndScopes(t *testing.T) {
	t.Parallel()
	of := func(account, surface string) nodecache.Key {
		return nodecache.Keys(nodecache.Scope{Account: account, Surface: surface}, pair("", int64(1), 0), registry(t, nil), plain)[1]
	}
	require.NotEqual(t, of("a", "bc"), of("ab", "c"))
	file := registry(t, func(c *node.Class) {
		c.Inputs = []node.Input{{Name: "n", Type: node.Combo, Folder: node.FolderInput}, {Name: "x", Type: node.Any}}
	})
	linked := &graph.Plan{Nodes: []graph.PlanNode{
		{ID: "1", Class: "Join"},
		{ID: "2", Class: "Source", Constants: node.Args{"n": "file"}, Links: map[string]graph.Link{"x": {Unit: 0}}},
	}}
	require.False(t, nodecache.Keys(scope, linked, file, plain)[1].IsZero(), "another input is linked")
	require.Len(t, nodecache.Key{1}.String(), 64)
	require.Equal(t, "0102", nodecache.Key{1, 2}.String()[:4])
}

// A segment whose result cannot be known before it runs has no key.
func TestSegmentsWithoutAKey(t *testing.T) {
	t.Parallel()
	jobs := nodecache.Scope{Account: "a", Surface: "cloud", Job: "j"}
	plan := func(inner graph.PlanNode) *graph.Plan {
		return &graph.Plan{Nodes: []graph.PlanNode{{ID: "segment:s", Segment: &graph.Segment{Nodes: []graph.PlanNode{inner}}}}}
	}
	file := registry(t, func(c *node.Class) { c.Inputs = []node.Input{{Name: "f", Type: node.Combo, Folder: node.FolderInput}} })
	fails := func(*node.Class, node.Args) (string, error) { return "", errAway }
	for name, c := range map[string]struct {
		inner graph.PlanNode
		print nodecache.Fingerprint
		want  bool
	}{
		"a known class":         {graph.PlanNode{ID: "s", Class: "Source"}, plain, true},
		"a class of nobody":     {graph.PlanNode{ID: "s", Class: "Gone"}, plain, false},
		"a file that is linked": {graph.PlanNode{ID: "s", Class: "Source", Links: map[string]graph.Link{"f": {}}}, plain, false},
		"a file that is not":    {graph.PlanNode{ID: "s", Class: "Source", Links: map[string]graph.Link{"g": {}}}, plain, true},
		"an unknown file":       {graph.PlanNode{ID: "s", Class: "Source"}, fails, false},
		"no JSON":               {graph.PlanNode{ID: "s", Class: "Source", Constants: node.Args{"x": func() {}}}, plain, false},
	} {
		require.Equal(t, c.want, !nodecache.Keys(jobs, plan(c.inner), file, c.print)[0].IsZero(), name)
	}
}

// The latest 8192 brief results are kept.
func TestTheLatestBriefResultsAreKept(t *testing.T) {
	t.Parallel()
	const most = 8192
	cache := &nodecache.Cache{Age: time.Hour, Brief: nodecache.NewBrief()}
	entries, keys := make([]nodecache.Entry, most+1), make([]nodecache.Key, most+1)
	for i := range entries {
		binary.BigEndian.PutUint32(keys[i][:], uint32(i)+1)
		entries[i].Key = keys[i]
	}
	require.NoError(t, cache.Keep(t.Context(), "a", nil, entries))
	hits, err := cache.Lookup(t.Context(), "a", keys, func(int) nodecache.Unit { return nodecache.Unit{Brief: true} })
	require.NoError(t, err)
	require.Len(t, hits, most)
	require.NotContains(t, hits, 0, "the oldest one")
}

// A key is the same in every version of the program, unless its generation is raised on purpose.
func TestStoredKeysStayValid(t *testing.T) {
	t.Parallel()
	keys := nodecache.Keys(scope, pair("", int64(1), 0), registry(t, nil), plain)
	require.Equal(t, "4a549b3844609ea9a3b202c670b05d9dde369ddd8e6cfeb5819595fbe45bad5c", keys[1].String())
	given := &graph.Plan{Nodes: []graph.PlanNode{{ID: "v", Given: "r", Digest: "d"}}}
	require.Equal(t, "3e17e767eac36216fd05457eb9561f529ef535c35159eabd755c95d9c02bf4aa",
		nodecache.Keys(scope, given, registry(t, nil), plain)[0].String())
	segment := &graph.Plan{Nodes: []graph.PlanNode{{ID: "s", Segment: &graph.Segment{
		Nodes: []graph.PlanNode{{ID: "1", Class: "Source"}}, Outputs: []graph.SegmentOut{{Type: "IMAGE"}},
	}}}}
	jobs := nodecache.Scope{Account: "a", Surface: "cloud", Job: "j"}
	require.Equal(t, "178d489de05c3df699f8646a369c2823629c7297ffec08cf2ae6ac75c950536c",
		nodecache.Keys(jobs, segment, registry(t, nil), plain)[0].String())
}
