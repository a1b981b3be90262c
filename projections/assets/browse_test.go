package assets_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections/assets"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// shelf is a history of nine files in all places, of which two are changed, one goes, and one has ended.
func shelf() []projectiontest.Given {
	file := func(n int, folder, path string, size int, metadata string, tags ...string) projectiontest.Given {
		p := asset.Place{Folder: folder, Filename: path}
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			p.Subfolder, p.Filename = path[:i], path[i+1:]
		}
		e := asset.CreatedV1{
			Origin: asset.Uploaded, Hash: blob.Sum([]byte(path)), Size: int64(size), ContentType: "image/png", FilePath: &path,
			Place: &p, Tags: tags, Metadata: json.RawMessage(metadata),
		}
		if metadata == "" {
			e.Metadata = nil
		}
		if path == "ended.png" {
			past := deadline.AddDate(-20, 0, 0)
			e.ExpiresAt = &past
		}
		return given(n, asset.TypeCreated, e)
	}
	return []projectiontest.Given{
		file(1, "input", "Cat.png", 30, `{"rating":5,"who":["ann","bob"]}`, "pet"),
		file(2, "input", "dog.png", 10, `{"rating":5.0,"done":false}`, "pet", "brown"),
		file(3, "output", "out_1.png", 20, ""),
		file(4, "output", "out_2.png", 20, "", "pet"),
		file(5, "temp", "tmp_1.png", 40, ""),
		file(6, "input", "models/loras/x/y.safetensors", 50, "", "sdxl"),
		file(7, "input", "gone.png", 60, `{"rating":5}`, "pet"),
		file(8, "input", "ended.png", 70, "", "pet"),
		file(9, "input", "Ant.png", 80, `{"rating":1}`, "output"), // a tag that is not its place
		given(7, asset.TypeDeleted, asset.DeletedV1{}),
		given(3, asset.TypeRenamed, asset.RenamedV1{Name: "My cathedral"}),
		given(5, asset.TypeTagsAdded, asset.TagsAddedV1{Tags: []string{"pet"}}),
		given(5, asset.TypeTagsRemoved, asset.TagsRemovedV1{Tags: []string{"pet"}}),
	}
}

func numbers(found []asset.Asset) []int {
	out := []int{}
	for _, a := range found {
		for n := range 10 {
			if a.ID == id(n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// selections are filters with the files that they select, the newest first.
var selections = map[string]struct { // a table of the tests
	filter assets.Filter
	want   []int
}{
	"all":                  {assets.Filter{}, []int{9, 6, 5, 4, 3, 2, 1}},
	"a place":              {assets.Filter{All: []string{"input"}}, []int{9, 2, 1}},
	"places":               {assets.Filter{Any: []string{"output", "temp"}, None: []string{"missing"}}, []int{5, 4, 3}},
	"models of a category": {assets.Filter{All: []string{"models", "loras"}}, []int{6}},
	"a tag in places":      {assets.Filter{All: []string{"pet"}, Any: []string{"input", "output"}}, []int{4, 2, 1}},
	"not a tag":            {assets.Filter{All: []string{"pet"}, None: []string{"brown", "nothing"}}, []int{4, 1}},
	"any of tags":          {assets.Filter{Any: []string{"pet", "brown", "sdxl"}}, []int{6, 4, 2, 1}},
	"what nothing carries": {assets.Filter{All: []string{"input", "nothing"}}, []int{}},
	"a contradiction":      {assets.Filter{All: []string{"pet"}, None: []string{"pet"}}, []int{}},
	"part of a name":       {assets.Filter{Name: "CAT"}, []int{3, 1}},
	"a pattern is a text":  {assets.Filter{Name: "%"}, []int{}},
	"a name in a place":    {assets.Filter{Name: "o", All: []string{"input"}}, []int{2}},
	"bytes":                {assets.Filter{Hash: blob.Sum([]byte("dog.png"))}, []int{2}},
	"a number":             {assets.Filter{Metadata: []assets.Term{{Key: "rating", AnyOf: []any{json.Number("5e0")}}}}, []int{2, 1}},
	"one of values":        {assets.Filter{Metadata: []assets.Term{{Key: "rating", AnyOf: []any{"x", json.Number("1")}}}}, []int{9}},
	"within a list":        {assets.Filter{Metadata: []assets.Term{{Key: "who", AnyOf: []any{"bob"}}}}, []int{1}},
	"a boolean":            {assets.Filter{Metadata: []assets.Term{{Key: "done", AnyOf: []any{false}}}}, []int{2}},
	"two keys": {assets.Filter{Metadata: []assets.Term{
		{Key: "rating", AnyOf: []any{json.Number("5")}},
		{Key: "done", AnyOf: []any{nil}},
	}}, []int{1}},
	"a key that is absent": {assets.Filter{All: []string{"input"}, Metadata: []assets.Term{{Key: "done", AnyOf: []any{nil}}}}, []int{9, 1}},
}

// got returns a reader of the log with the shelf in it, of which the view has folded so many events.
func got(t *testing.T, folded int) (*assets.Reader, *pgxpool.Pool) {
	t.Helper()
	r, pool := registry(t), projectiontest.NewPool(t)
	events := eventstore.New(pool, r, nil)
	last := projectiontest.Position(projectiontest.Append(t, events, shelf()[:folded]...))
	fold(t, pool, r, last)
	projectiontest.Append(t, events, shelf()[folded:]...)
	return assets.NewReader(pool, r, nil), pool
}

func browse(t *testing.T, r *assets.Reader, q assets.Browse) assets.Found {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 20
	}
	if q.Sort == "" {
		q.Sort = assets.ByCreation
	}
	page, err := r.Browse(t.Context(), "acme", q)
	require.NoError(t, err)
	return page
}

// TestBrowsing gives the same answers whether the view has folded nothing, some or all of the log.
func TestBrowsing(t *testing.T) {
	t.Parallel()
	for _, folded := range []int{0, 4, 12, len(shelf())} {
		t.Run(fmt.Sprintf("%d events folded", folded), func(t *testing.T) {
			t.Parallel()
			reader, _ := got(t, folded)
			for name, s := range selections {
				page := browse(t, reader, assets.Browse{Filter: s.filter})
				require.Equal(t, s.want, numbers(page.Assets), name)
				require.EqualValues(t, len(s.want), page.Total, name)
				require.Nil(t, page.Next, name)
				if len(s.want) > 3 {
					walks(t, reader, name, s.filter, s.want)
				}
			}
			other, err := reader.Browse(t.Context(), "other", assets.Browse{Sort: assets.ByCreation, Limit: 9})
			require.NoError(t, err)
			require.Empty(t, other.Assets)
			require.Zero(t, other.Total)
		})
	}
}

// walks pages through a selection both ways and in every order: what comes is the whole selection, in order.
func walks(t *testing.T, reader *assets.Reader, name string, f assets.Filter, want []int) {
	t.Helper()
	for _, sort := range []assets.Sort{assets.ByCreation, assets.ByChange, assets.ByName, assets.BySize} {
		for _, ascending := range []bool{false, true} {
			q := assets.Browse{Filter: f, Sort: sort, Ascending: ascending}
			whole := numbers(browse(t, reader, q).Assets)
			require.ElementsMatch(t, want, whole, "%s by %s", name, sort)
			q.Limit = 2
			var walked []int
			for {
				page := browse(t, reader, q)
				walked = append(walked, numbers(page.Assets)...)
				require.GreaterOrEqual(t, page.Total, int64(len(page.Assets)))
				if q.After = page.Next; q.After == nil {
					break
				}
			}
			require.Equal(t, whole, append([]int{}, walked...), "%s by %s, page after page", name, sort)
			if q.After = nil; sort == assets.ByName || sort == assets.ByChange {
				continue
			}
			for q.Offset = 0; q.Offset <= len(want)+1; q.Offset++ {
				page := browse(t, reader, q)
				require.Equal(t, whole[min(q.Offset, len(whole)):min(q.Offset+2, len(whole))], numbers(page.Assets), "%s by %s from %d", name, sort,
					q.Offset)
				require.Equal(t, q.Offset+2 < len(whole), page.Next != nil)
			}
		}
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	reader, _ := got(t, len(shelf()))
	for sort, want := range map[assets.Sort][]int{
		assets.ByCreation: {1, 2, 3, 4, 5, 6, 9}, assets.ByChange: {1, 2, 4, 6, 9, 3, 5},
		assets.ByName: {9, 1, 2, 3, 4, 5, 6}, assets.BySize: {2, 3, 4, 1, 5, 6, 9},
	} {
		require.Equal(t, want, numbers(browse(t, reader, assets.Browse{Sort: sort, Ascending: true}).Assets), sort)
		slices.Reverse(want)
		require.Equal(t, want, numbers(browse(t, reader, assets.Browse{Sort: sort}).Assets), sort)
	}
}

func TestLabelsAreCounted(t *testing.T) {
	t.Parallel()
	want := []assets.LabelCount{
		{"input", 4}, {"pet", 4}, {"output", 2}, {"brown", 1}, {"loras", 1}, {"models", 1}, {"sdxl", 1}, {"temp", 1},
	} // with the file that has ended and waits for the sweep
	for _, folded := range []int{0, 4, 10, 12, len(shelf())} {
		reader, _ := got(t, folded)
		ask := func(q assets.LabelQuery) ([]assets.LabelCount, int64, bool) {
			page, total, more, err := reader.Labels(t.Context(), "acme", q)
			require.NoError(t, err)
			return page, total, more
		}
		page, total, more := ask(assets.LabelQuery{Limit: 100})
		require.Equal(t, want, page, "%d folded", folded)
		require.EqualValues(t, len(want), total)
		require.False(t, more)
		for offset := range want {
			page, total, more = ask(assets.LabelQuery{Offset: offset, Limit: 3})
			require.Equal(t, want[offset:min(offset+3, len(want))], page, "from %d", offset)
			require.EqualValues(t, len(want), total)
			require.Equal(t, offset+3 < len(want), more)
		}
		page, total, _ = ask(assets.LabelQuery{Prefix: "p", ByName: true, Limit: 9})
		require.Equal(t, []assets.LabelCount{{"pet", 4}}, page)
		require.EqualValues(t, 1, total)
		page, _, _ = ask(assets.LabelQuery{ByName: true, Limit: 2})
		require.Equal(t, []assets.LabelCount{{"brown", 1}, {"input", 4}}, page)

		refined, err := reader.Refine(t.Context(), "acme", assets.Filter{All: []string{"pet"}}, 3)
		require.NoError(t, err)
		require.Equal(t, []assets.LabelCount{{"pet", 3}, {"input", 2}, {"brown", 1}}, refined)
		refined, err = reader.Refine(t.Context(), "acme", assets.Filter{}, 2)
		require.NoError(t, err)
		require.Equal(t, want[:2], refined)
	}
}

// What the lists hold after every event, one at a time, is what a rebuild finds: counts that reached nothing
// are gone, not zero.
func TestListsOfAssetsEqualTheirRebuild(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Live(t, r, assets.NewProjection(r), shelf()...)
}

// listener keeps the statements on the view that a connection is asked.
type listener struct {
	statements []string
	args       [][]any
}

// TraceQueryStart implements pgx.QueryTracer.
func (l *listener) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "assets_v1") {
		l.statements, l.args = append(l.statements, data.SQL), append(l.args, data.Args)
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*listener) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// planned is a node of a plan with what it did.
type planned struct {
	Type    string    `json:"Node Type"`
	Rows    float64   `json:"Actual Rows"`
	Loops   float64   `json:"Actual Loops"`
	Removed float64   `json:"Rows Removed by Filter"`
	Plans   []planned `json:"Plans"`
}

// read is how many rows the scans of a plan looked at.
func (p planned) read() float64 {
	var n float64
	if strings.HasSuffix(p.Type, "Scan") {
		n = (p.Rows + p.Removed) * p.Loops
	}
	for _, below := range p.Plans {
		n += below.read()
	}
	return n
}

// rowsRead returns how many rows are looked at for what fn asks.
func rowsRead(t *testing.T, pool *pgxpool.Pool, fn func(*assets.Reader)) (read int) {
	t.Helper()
	heard := &listener{}
	cfg := pool.Config().Copy()
	cfg.MaxConns, cfg.ConnConfig.Tracer = 1, heard
	one, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer one.Close()
	fn(assets.NewReader(one, registry(t), nil))
	require.NotEmpty(t, heard.statements)
	for i, sql := range heard.statements {
		var plan []struct{ Plan planned }
		require.NoError(t, pool.QueryRow(t.Context(), `explain (analyze, timing off, format json) `+sql, heard.args[i]...).Scan(&plan), sql)
		read += int(plan[0].Plan.read())
	}
	return read
}

// The common listings of the hosted surface read about a page of a large account: no table whole, nothing sorted
// but what one label carries, and their totals come from counts.
func TestBrowsingALargeAccountReadsAPage(t *testing.T) {
	t.Parallel()
	pool := seeded(t, 40_000)
	for name, q := range map[string]assets.Browse{
		"newest":                    {},
		"oldest":                    {Ascending: true},
		"a place":                   {Filter: assets.Filter{All: []string{"output"}, None: []string{"missing"}}},
		"places":                    {Filter: assets.Filter{Any: []string{"output", "temp"}, None: []string{"missing"}}},
		"a page of places":          {Filter: assets.Filter{Any: []string{"output", "temp"}}, After: &assets.Place{Created: 20_000}},
		"bounded: a tag in a place": {Filter: assets.Filter{All: []string{"input", "t4"}}},
		"bounded: not a tag":        {Filter: assets.Filter{All: []string{"input"}, None: []string{"t4"}}},
		"by name":                   {Sort: assets.ByName, Ascending: true},
		"by size":                   {Sort: assets.BySize},
		"by size, a page":           {Sort: assets.BySize, After: &assets.Place{Number: 500, Created: 20_000}},
		"by change":                 {Sort: assets.ByChange},
		"bounded: a place by name":  {Filter: assets.Filter{All: []string{"input"}}, Sort: assets.ByName},
		"bytes":                     {Filter: assets.Filter{Hash: blob.Sum([]byte("none"))}},
		"metadata":                  {Filter: assets.Filter{Metadata: []assets.Term{{Key: "k", AnyOf: []any{"v"}}}}},
		"what nothing is called":    {Filter: assets.Filter{All: []string{"none"}, Name: "x"}},
	} {
		read := rowsRead(t, pool, func(r *assets.Reader) { browse(t, r, q) })
		most := 500
		if strings.HasPrefix(name, "bounded: ") {
			most = 4 * assets.MaxTotal // a total that is counted, or what carries a label and is sorted; both end
		}
		require.Less(t, read, most, name)
	}
}

// What no index serves ends at the time that a statement has, and is the client's concern.
func TestTooBroadFilterIsRefused(t *testing.T) {
	t.Parallel()
	dsn := projectiontest.NewDatabase(t)
	pool := projectiontest.OpenPool(t, dsn)
	blocker, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer blocker.Rollback(context.WithoutCancel(t.Context()))                          // nothing was written
	_, err = blocker.Exec(t.Context(), `lock table assets_v1 in access exclusive mode`) // so that a statement takes its whole time
	require.NoError(t, err)
	_, err = assets.NewReader(pool, registry(t), nil).Browse(t.Context(), "acme",
		assets.Browse{Filter: assets.Filter{Name: "x"}, Sort: assets.ByCreation, Limit: 1})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	require.Equal(t, fault.CodeQueryTooBroad, fault.CodeOf(err))
}
