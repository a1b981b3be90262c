package job_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// at returns the time at which recorded sets the event of a version.
func at(version int) *time.Time {
	t := recorded(version).RecordedAt
	return &t
}

// whole is a submission with a value in every field that the state of its job repeats.
var whole = job.SubmittedV1{
	Number: 3, Surface: job.SurfaceV2, ClientID: "c", Targets: []string{"2"}, NodesTotal: 4, Metadata: map[string]string{"k": "v"},
	Origin: &job.Origin{Job: "o"}, WorkflowID: "w", PublicID: "p", Deployment: &job.Deployed{ID: "d"},
	Calls: &job.Calls{Mark: ":", Nodes: map[string]string{"9": "Deployment.x"}},
}

// Every event changes what it is about, and nothing else.
func TestTheStateOfAJobHasAllThatItsEventsSay(t *testing.T) {
	t.Parallel()
	want := job.Job{
		ID: id, Chosen: "p", Account: "acme", State: job.Queued, Number: 3, Surface: job.SurfaceV2, ClientID: "c", Targets: []string{"2"},
		NodesTotal: 4, Metadata: map[string]string{"k": "v"}, Origin: whole.Origin, Deployment: whole.Deployment, Calls: whole.Calls,
		WorkflowID: "w", SubmittedAt: *at(1),
	}
	state, version := job.Job{}, 0
	failure := job.Failure{Code: "x", Message: "m", Node: "2", Class: "B"}
	for _, step := range []struct {
		event any
		want  func()
	}{
		{whole, func() {}},
		{job.AdmittedV1{Run: 1}, func() { want.State, want.Run, want.AdmittedAt = job.Running, 1, at(2) }},
		{job.StartedV1{Run: 2, NodesTotal: 7, Execution: "y"}, func() {}},
		{job.StartedV1{Run: 1, NodesTotal: 5, Execution: "x"}, func() { want.StartedAt, want.NodesTotal, want.Execution = at(4), 5, "x" }},
		{job.NodesCachedV1{Run: 2, Nodes: []string{"7"}}, func() {}},
		{job.NodesCachedV1{Run: 1, Nodes: []string{"3"}}, func() { want.Cached, want.NodesDone = []string{"3"}, 1 }},
		{job.NodesCachedV1{Run: 1, Nodes: []string{"4", "5"}, More: true}, func() {
			want.Cached, want.NodesDone = []string{"3", "4", "5"}, 3
		}},
		{job.NodesCachedV1{Run: 1, Nodes: []string{"6"}}, func() { want.Cached, want.NodesDone = []string{"6"}, 4 }},
		{job.NodeStartedV1{Run: 2, Node: "2", Class: "B"}, func() { want.Running = map[string]string{} }},
		{job.NodeStartedV1{Run: 1, Node: "2", Class: "B", Attempt: 2}, func() { want.Running = map[string]string{"2": "B"} }},
		{job.NodeExecutedV1{Run: 1, Node: "8", Class: "B", Cached: true, UI: json.RawMessage("1")}, func() {
			want.Outputs = append(want.Outputs, job.NodeOutput{Node: "8", Class: "B", UI: json.RawMessage("1")})
		}},
		{job.NodeExecutedV1{Run: 1, Node: "8.1", Class: "B", Within: &job.Expansion{Real: "8"}, Cached: true, UI: json.RawMessage("{}")}, func() {
			want.Outputs = append(want.Outputs, job.NodeOutput{
				Node: "8.1", Class: "B", UI: json.RawMessage("{}"), Within: &job.Expansion{Real: "8"}, Reused: true,
			})
		}},
		{job.NodeExecutedV1{Run: 1, Node: "8.2", Class: "B", Within: &job.Expansion{Real: "8"}, UI: json.RawMessage("{}")}, func() {
			want.Executed = []string{"8.2"} // it does not count
			want.Outputs = append(want.Outputs, job.NodeOutput{
				Node: "8.2", Class: "B", UI: json.RawMessage("{}"), Within: &job.Expansion{Real: "8"},
			})
		}},
		{job.NodeExecutedV1{Run: 1, Node: "9:1", Class: "B"}, func() { want.Executed, want.NodesDone = []string{"8.2", "9:1"}, 5 }},
		{job.NodeExecutedV1{Run: 1, Node: "9:1", Class: "B"}, func() {}},
		{job.SegmentWaitingV1{Run: 1, Segment: 3, Node: "9:2", Reason: "r", Slot: true}, func() {
			want.Waiting = []job.SegmentWait{{Segment: 3, Node: "9", Reason: "r", Slot: true}}
		}},
		{job.SlotReleasedV1{Run: 2}, func() {}},
		{job.SlotReleasedV1{Run: 1}, func() { want.Waiting = nil }},
		{job.SegmentWaitingV1{Run: 1, Segment: 4, Node: "8", Reason: "s"}, func() {
			want.Waiting = []job.SegmentWait{{Segment: 4, Node: "8", Reason: "s"}}
		}},
		{job.CancelRequestedV1{Run: 1}, func() { want.State = job.Canceling }},
	} {
		version++
		state = job.Fold(state, recorded(version), step.event)
		step.want()
		want.Version, want.Position, want.UpdatedAt = int64(version), int64(100+version), *at(version)
		require.Equal(t, want, state, "version %d: %T", version, step.event)
		require.Equal(t, state, job.Fold(state, recorded(version), job.SucceededV1{Run: 1}), "a version is folded once")
	}
	version++
	want.Version, want.Position, want.UpdatedAt, want.EndedAt = int64(version), int64(100+version), *at(version), at(version)
	want.Running, want.Waiting = nil, nil
	for _, end := range []struct {
		event any
		want  func(*job.Job)
	}{
		{job.SucceededV1{Run: 1}, func(j *job.Job) { j.State = job.Succeeded }},
		{job.FailedV1{Run: 1, Failure: failure}, func(j *job.Job) { j.State, j.Error = job.Failed, &failure }},
		{job.CanceledV1{Run: 1, At: &job.NodeRef{Node: "9:3", Class: "B"}}, func(j *job.Job) {
			j.State, j.Interrupted = job.Canceled, &job.NodeRef{Node: "9", Class: "Deployment.x"}
		}},
		{job.CanceledV1{Run: 1, At: &job.NodeRef{Node: "2", Class: "B"}}, func(j *job.Job) {
			j.State, j.Interrupted = job.Canceled, &job.NodeRef{Node: "2", Class: "B"}
		}},
		{job.CanceledV1{Run: 1}, func(j *job.Job) { j.State = job.Canceled }},
		{job.ExpiredV1{}, func(j *job.Job) { j.State = job.Expired }},
	} {
		want := want
		end.want(&want)
		ended := job.Fold(state, recorded(version), end.event)
		require.Equal(t, want, ended, "%T", end.event)
		want.Version, want.Position = want.Version+1, want.Position+1
		require.Equal(t, want, job.Fold(ended, recorded(version+1), job.AdmittedV1{Run: 2}), "what follows the end moves the version only")
	}
}

// What happens to a node of a version, happens to the node that calls it.
func TestEventsAreAboutTheNodesOfTheSubmittedGraph(t *testing.T) {
	t.Parallel()
	calls := &job.Calls{Mark: ":", Nodes: map[string]string{"9": "Deployment.x"}}
	shown := &job.Expansion{Parent: "9", Display: "9", Real: "9", Class: "Deployment.x"}
	counted := *shown
	counted.Counts = true
	inner, plain := &job.Expansion{Parent: "9:1", Display: "9:1", Real: "9:1"}, &job.Expansion{Parent: "2", Display: "2", Real: "2"}
	trace, placed := []string{"node 9:1 (A)\n", "node 2 (A)\n"}, []string{"node 9 (Deployment.x)\n", "node 2 (A)\n"}
	failed := job.Failure{Node: "9:1", Class: "A", Traceback: trace, Inputs: json.RawMessage(`{"a":["1"]}`)}
	outer := job.Failure{Node: "9", Class: "Deployment.x", Traceback: placed, Inputs: json.RawMessage(`{}`)}
	elsewhere := job.Failure{Node: "2", Class: "A", Traceback: trace, Inputs: json.RawMessage(`{"a":["1"]}`)}
	for _, c := range []struct{ data, want any }{
		{job.NodeStartedV1{Node: "9:1"}, job.NodeStartedV1{Node: "9:1", Within: &counted}},
		{job.NodeStartedV1{Node: "9:1.2", Within: inner}, job.NodeStartedV1{Node: "9:1.2", Within: shown}},
		{job.NodeStartedV1{Node: "2.1", Within: plain}, job.NodeStartedV1{Node: "2.1", Within: plain}},
		{job.NodeExecutedV1{Node: "9:1"}, job.NodeExecutedV1{Node: "9:1", Within: &counted}},
		{job.NodeExecutedV1{Node: "9"}, job.NodeExecutedV1{Node: "9"}},
		{job.NodeExecutedV1{Node: "8:1"}, job.NodeExecutedV1{Node: "8:1"}},
		{job.NodeFailedV1{Failure: failed}, job.NodeFailedV1{Failure: outer, Inner: "9:1"}},
		{job.NodeFailedV1{Failure: elsewhere, Inner: "2.1"}, job.NodeFailedV1{Failure: elsewhere, Inner: "2.1"}},
		{job.FailedV1{Failure: failed}, job.FailedV1{Failure: outer}},
		{job.FailedV1{Failure: elsewhere}, job.FailedV1{Failure: elsewhere}},
		{job.SegmentWaitingV1{Node: "9:1"}, job.SegmentWaitingV1{Node: "9"}},
		{job.SegmentWaitingV1{Node: "8:1"}, job.SegmentWaitingV1{Node: "8:1"}},
		{job.SucceededV1{Run: 1}, job.SucceededV1{Run: 1}},
	} {
		require.Equal(t, c.want, calls.Place(c.data))
		require.Equal(t, c.data, (*job.Calls)(nil).Place(c.data))
	}
	require.Equal(t, "node 9:1 (A)\n", trace[0], "the event stays as it is")
	for node, want := range map[string]bool{"9:1": true, "9": false, "8:1": false, "8": false} {
		_, inside := calls.Of(node)
		require.Equal(t, want, inside, node)
	}
	_, inside := (*job.Calls)(nil).Of("9:1")
	require.False(t, inside)
	require.Equal(t, []string{"1", "9", "1", "2"}, calls.Shown([]string{"1", "9:1", "9:2", "1", "2"}), "a call once")
}

// An output is reused if it, or the node of the prompt that made it, is of an earlier job.
func TestAJobSaysWhetherItReusedOutputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		job  job.Job
		want bool
	}{
		{job.Job{}, false},
		{job.Job{Cached: []string{"1"}}, false},
		{job.Job{Cached: []string{"1"}, Outputs: []job.NodeOutput{{Node: "2"}}}, false},
		{job.Job{Cached: []string{"1"}, Outputs: []job.NodeOutput{{Node: "2"}, {Node: "1"}}}, true},
		{job.Job{Outputs: []job.NodeOutput{{Node: "2"}, {Node: "2.1", Reused: true}}}, true},
	} {
		require.Equal(t, c.want, c.job.OutputsReused(), "%+v", c.job)
	}
}

// Every field of a failure except the name of its exception is the same in ComfyUI's words, and a server's own name of it wins.
func TestAServersNameOfAnExceptionWins(t *testing.T) {
	t.Parallel()
	f := &job.Failure{
		Code: fault.CodeNotFound, Message: "m", Node: "1", Class: "A", ExceptionType: "ServiceError", RuntimeType: "KeyError",
		Inputs: json.RawMessage(`{}`), Traceback: []string{"x ServiceError: y", "ServiceError: z"},
	}
	want := *f
	want.ExceptionType, want.Traceback = "KeyError", []string{"x ServiceError: y", "KeyError: z"}
	require.Equal(t, &want, f.InRuntimeNames())
	require.Equal(t, "ServiceError: z", f.Traceback[1], "the event stays as it is")
}

// A file shows an output even if its UI map is empty; a node with an element of any member shows it too.
func TestAnOutputShowsWhatCanBeFetched(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		out  job.NodeOutput
		want bool
	}{
		{job.NodeOutput{Node: "1", UI: json.RawMessage(`{"images":[]}`), Files: []job.OutputFile{{}}}, true},
		{job.NodeOutput{Node: "1", UI: json.RawMessage(`{"images":[]}`)}, false},
		{job.NodeOutput{Node: "1", UI: json.RawMessage(`{"images":null}`)}, false},
		{job.NodeOutput{Node: "1", UI: json.RawMessage(`{"images":[],"text":["x"]}`)}, true},
		{job.NodeOutput{Node: "1", UI: json.RawMessage(`"of another shape"`)}, true},
		{job.NodeOutput{Node: "2", UI: json.RawMessage(`{"text":["x"]}`)}, false},
	} {
		require.Equal(t, c.want, c.out.ShowsFor("1"), "%+v", c.out)
	}
	j := job.Job{State: job.Succeeded, Targets: []string{"1"}}
	require.Equal(t, []job.Warning{
		{Code: "no_output", Node: "1", Message: "the node left no file and no text that can be fetched"},
	}, j.Warnings())
}

func TestPublicIDsAreUUIDs(t *testing.T) {
	t.Parallel()
	got, err := job.ParsePublicID(string(id))
	require.NoError(t, err)
	require.EqualValues(t, id, got)
	_, err = job.ParsePublicID("x")
	require.Error(t, err)
}

// The id of a job whose client chose its public id is a hash that must not change.
func TestTheIDOfAChoiceIsStableAndTheAccountsOwn(t *testing.T) {
	t.Parallel()
	one := job.IDOfChoice("a", "p")
	require.Equal(t, one, job.IDOfChoice("a", "p"))
	require.NotEqual(t, one, job.IDOfChoice("b", "p"))
	require.NotEqual(t, one, job.IDOfChoice("a", "q"))
	_, err := job.ParseID(string(one))
	require.NoError(t, err)
}

// Ids that are derived must be the same in every version of the program.
func TestDerivedIDsStayTheSame(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, "9787dade-4f84-55e5-bcbd-06fcb9862497", job.IDOfChoice("a", "11111111-2222-4333-8444-555555555555"))
	require.Equal(t, "d6e6d714-e811-5b3b-8493-f08da92ff6fd", job.EventID(id, 1, "n", 0, job.TypeNodeExecuted).String())
	require.Equal(t, "job-"+string(id)+"-2", id.WorkflowID(2))
	require.Equal(t, "job-"+string(id), id.HoldID())
}
