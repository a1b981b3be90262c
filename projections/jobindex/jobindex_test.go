package jobindex_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/jobindex"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

func id(n int) job.ID { return job.ID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

func registry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	types := eventlogtest.Registry(tb)
	require.NoError(tb, job.Register(types))
	return types
}

func of(n int, account, kind string, data any) projectiontest.Given {
	return projectiontest.Given{Stream: id(n).Stream(), Account: account, Type: kind, Data: data}
}

const graph = `{"prompt":{"1":{"class_type":"CheckpointLoaderSimple","inputs":{"ckpt_name":"sd15.safetensors"}},
	"2":{"class_type":"CLIPTextEncode","inputs":{"text":"a red fox, \u0000 in snow","clip":["1",1]},"_meta":{"title":"What to draw"}}},
	"extra_data":{"extra_pnginfo":{"workflow":{"extra":{"title":"Foxes"}}}}}`

func submitted(document string, metadata map[string]string) job.SubmittedV1 {
	return job.SubmittedV1{Document: job.Document{Inline: document}, Metadata: metadata, NodesTotal: 2}
}

func failed(message string) job.FailedV1 {
	return job.FailedV1{Failure: job.Failure{Code: "node_execution_error", Class: "KSampler", Message: message}}
}

func history() []projectiontest.Given {
	return []projectiontest.Given{
		of(1, "acme", job.TypeSubmitted, submitted(graph, map[string]string{"customer": "Ärger GmbH"})),
		of(2, "acme", job.TypeSubmitted, submitted("", nil)), // its document is a blob
		of(2, "acme", job.TypeNodeExecuted, job.NodeExecutedV1{Node: "1", Class: "VAEDecode"}),
		of(2, "acme", job.TypeNodeExecuted, job.NodeExecutedV1{Node: "2", Class: "VAEDecode"}),
		of(2, "acme", job.TypeSegmentPlaced, job.SegmentPlacedV1{URL: "http://gpu-1:8188"}),
		of(2, "acme", job.TypeFailed, failed("CUDA out of memory: tried 12.5 GiB for 'a.png'\nand more")),
		of(3, "acme", job.TypeSubmitted, submitted(graph, nil)),
		of(3, "acme", job.TypeFailed, failed("CUDA out of memory: tried 3 GiB for 'b.png'")),
		of(4, "beta", job.TypeSubmitted, submitted(graph, nil)),
		of(4, "beta", job.TypeFailed, failed("no such file")),
		of(5, "beta", job.TypeSubmitted, submitted(graph, nil)),
		of(5, "beta", job.TypeSucceeded, job.SucceededV1{}),
		of(5, "beta", job.TypeRetired, job.RetiredV1{}),
	}
}

func TestRowsDependOnEventsOnly(t *testing.T) {
	t.Parallel()
	types := registry(t)
	projectiontest.Golden(t, projectiontest.NewPool, jobindex.NewProjection(types), "jobindex", projectiontest.Record(t, types, history()...))
}

func TestTheViewIsTheSameWhenRebuilt(t *testing.T) {
	t.Parallel()
	types := registry(t)
	view := jobindex.NewProjection(types)
	projectiontest.RebuildsSame(t, projectiontest.Live(t, types, view, history()...), view)
}

func TestJobsAreFoundByWhatTheyAre(t *testing.T) {
	t.Parallel()
	types := registry(t)
	pool := projectiontest.NewPool(t)
	events := projectiontest.Record(t, types, history()...)
	projectiontest.Apply(t, pool, jobindex.NewProjection(types), events...)
	projectiontest.Apply(t, pool, jobs.NewProjection(types), events...)
	r := jobindex.NewReader(pool)
	for name, c := range map[string]struct {
		q    jobindex.Query
		want []int
	}{
		"all of an account":   {jobindex.Query{Account: "acme"}, []int{3, 2, 1}},
		"all":                 {jobindex.Query{}, []int{4, 3, 2, 1}},
		"class":               {jobindex.Query{Account: "acme", Class: "CLIPTextEncode"}, []int{3, 1}},
		"class of a blob":     {jobindex.Query{Class: "VAEDecode"}, []int{2}},
		"model":               {jobindex.Query{Account: "beta", Model: "sd15.safetensors"}, []int{4}},
		"server":              {jobindex.Query{Server: "http://gpu-1:8188"}, []int{2}},
		"state":               {jobindex.Query{Account: "acme", States: []job.State{job.Failed}}, []int{3, 2}},
		"words of the prompt": {jobindex.Query{Text: "red FO"}, []int{4, 3, 1}},
		"word of a title":     {jobindex.Query{Account: "acme", Text: "foxes"}, []int{3, 1}},
		"word of metadata":    {jobindex.Query{Text: "ärger"}, []int{1}},
		"metadata":            {jobindex.Query{Metadata: map[string]string{"customer": "Ärger GmbH"}}, []int{1}},
		"cause":               {jobindex.Query{Cause: "CUDA out of memory: tried N GiB for …"}, []int{3, 2}},
		"code":                {jobindex.Query{Account: "beta", Code: "node_execution_error"}, []int{4}},
		"time":                {jobindex.Query{Since: events[6].RecordedAt}, []int{4, 3}},
		"hostile words":       {jobindex.Query{Text: `' | !( <-> :* & \`}, []int{4, 3, 2, 1}},
		"nothing":             {jobindex.Query{Class: "'; drop table events; --"}, nil},
	} {
		c.q.Limit = 10
		page, err := r.Find(t.Context(), c.q)
		require.NoError(t, err, name)
		var got []job.ID
		for _, j := range page.Jobs {
			got = append(got, j.ID)
		}
		var want []job.ID
		for _, n := range c.want {
			want = append(want, id(n))
		}
		require.Equal(t, want, got, name)
		require.Zero(t, page.Next, name)
	}
	first, err := r.Find(t.Context(), jobindex.Query{Account: "acme", Limit: 2})
	require.NoError(t, err)
	rest, err := r.Find(t.Context(), jobindex.Query{Account: "acme", Limit: 2, Before: first.Next})
	require.NoError(t, err)
	require.Equal(t, id(1), rest.Jobs[0].ID)
	known, err := r.Descriptions(t.Context(), []job.ID{id(1), id(9)})
	require.NoError(t, err)
	require.Equal(t, map[job.ID]jobindex.Description{id(1): {
		Title: "Foxes", Classes: []string{"CLIPTextEncode", "CheckpointLoaderSimple"}, Models: []string{"sd15.safetensors"}, Servers: []string{},
	}}, known)
}

// The index and the view of jobs are folded one without the other. Whichever is behind: a group has the failures that are
// found by its cause.
func TestGroupsCountWhatIsFoundByTheirCause(t *testing.T) {
	t.Parallel()
	types := registry(t)
	events := projectiontest.Record(t, types, history()...)
	index, view := jobindex.NewProjection(types), jobs.NewProjection(types)
	for name, order := range map[string][2]projections.Projection{"the index is ahead": {index, view}, "the view is ahead": {view, index}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := projectiontest.NewPool(t)
			projectiontest.Apply(t, pool, order[0], events...)
			r := jobindex.NewReader(pool)
			for i, e := range events {
				projectiontest.Apply(t, pool, order[1], e)
				groups, err := r.Failures(t.Context(), "", time.Time{})
				require.NoError(t, err)
				for _, g := range groups {
					page, err := r.Find(t.Context(), jobindex.Query{Code: g.Code, Cause: g.Cause, Limit: 10})
					require.NoError(t, err)
					require.Len(t, page.Jobs, int(g.Count), "behind event %d", i)
					for _, j := range page.Jobs {
						require.Equal(t, job.Failed, j.State, "%s", j.ID)
					}
				}
				require.True(t, i+1 < len(events) || len(groups) == 2)
			}
		})
	}
}

func TestFailuresOfOneCauseAreOneGroup(t *testing.T) {
	t.Parallel()
	types := registry(t)
	pool := projectiontest.NewPool(t)
	events := projectiontest.Record(t, types, history()...)
	projectiontest.Apply(t, pool, jobindex.NewProjection(types), events...)
	projectiontest.Apply(t, pool, jobs.NewProjection(types), events...)
	groups, err := jobindex.NewReader(pool).Failures(t.Context(), "", time.Time{})
	require.NoError(t, err)
	require.Len(t, groups, 2)
	require.Equal(t, jobindex.Group{
		Code: "node_execution_error", Class: "KSampler", Cause: "CUDA out of memory: tried N GiB for …", Count: 2,
		Last: job.PublicID(id(3)), LastAt: groups[0].LastAt, Account: "acme",
	}, groups[0])
	own, err := jobindex.NewReader(pool).Failures(t.Context(), "beta", time.Time{})
	require.NoError(t, err)
	require.Len(t, own, 1)
	require.Equal(t, "no such file", own[0].Cause)
}
