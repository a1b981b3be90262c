package fanout_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

const ms = 1767323045000

func statusFrame(n int) string {
	return fmt.Sprintf(`{"type":"status","data":{"status":{"exec_info":{"queue_remaining":%d}}}}`, n)
}

func lifecycle(kind string) string {
	return fmt.Sprintf(`{"type":%q,"data":{"prompt_id":%q,"timestamp":%d}}`, kind, id, ms)
}

func cachedFrame(nodes string) string {
	return fmt.Sprintf(`{"type":"execution_cached","data":{"nodes":%s,"prompt_id":%q,"timestamp":%d}}`, nodes, id, ms)
}

func executing(node string) string {
	return fmt.Sprintf(`{"type":"executing","data":{"node":%q,"display_node":%q,"prompt_id":%q}}`, node, node, id)
}

func executedFrame(node, output string) string {
	return fmt.Sprintf(`{"type":"executed","data":{"node":%q,"display_node":%q,"output":%s,"prompt_id":%q}}`, node, node, output, id)
}

func over() string {
	return fmt.Sprintf(`{"type":"executing","data":{"node":null,"prompt_id":%q}}`, id)
}

func notification() string {
	return fmt.Sprintf(`{"type":"notification","data":{"value":"Your workflow has a slot and starts now.","prompt_id":%q}}`, id)
}

// nodeEntry is a node in progress_state. One that has reported no steps is at a fraction of 1.0, as on ComfyUI.
func nodeEntry(node, state string, value, limit int) string {
	fraction := ""
	if limit == 1 {
		fraction = ".0"
	}
	return fmt.Sprintf(`%q:{"value":%d%s,"max":%d%s,"state":%q,"node_id":%q,"prompt_id":%q,"display_node_id":%q,"parent_node_id":null,`+
		`"real_node_id":%q}`,
		node, value, fraction, limit, fraction, state, node, id, node, node)
}

func progressState(entries ...string) string {
	all := ""
	for i, e := range entries {
		if i > 0 {
			all += ","
		}
		all += e
	}
	return fmt.Sprintf(`{"type":"progress_state","data":{"prompt_id":%q,"nodes":{%s}}}`, id, all)
}

func progressFrame(node string, value, limit int) string {
	return fmt.Sprintf(`{"type":"progress","data":{"value":%d,"max":%d,"prompt_id":%q,"node":%q}}`, value, limit, id, node)
}

const images = `{"images":[{"filename":"a_00001_.png","subfolder":"","type":"output"}]}`

func TestMessagesOfARunComeInTheContractsOrder(t *testing.T) {
	t.Parallel()
	begin := []any{submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1, NodesTotal: 2}}
	began := []string{statusFrame(1), notification(), statusFrame(1), lifecycle("execution_start")}
	failure := job.Failure{
		Code: "node_execution_error", Message: "no such file", Node: "3", Class: "LoadImage",
		ExceptionType: "ValidationError", Traceback: []string{"line 1"}, Inputs: json.RawMessage(`{"image":["x.png"]}`),
	}
	cases := map[string]struct {
		events []any
		want   []string
	}{
		"normal, with a node without output": {
			append(begin, job.NodesCachedV1{Run: 1, Nodes: []string{}},
				job.NodeStartedV1{Run: 1, Node: "3", Class: "LoadImage"},
				job.NodeExecutedV1{Run: 1, Node: "3", Class: "LoadImage"},
				job.NodeStartedV1{Run: 1, Node: "9", Class: "SaveImage"},
				job.NodeExecutedV1{Run: 1, Node: "9", Class: "SaveImage", UI: json.RawMessage(images)},
				job.SucceededV1{Run: 1}),
			append(began, cachedFrame("[]"),
				progressState(nodeEntry("3", "running", 0, 1)), executing("3"), progressState(nodeEntry("3", "finished", 1, 1)),
				progressState(nodeEntry("3", "finished", 1, 1), nodeEntry("9", "running", 0, 1)), executing("9"),
				executedFrame("9", images), progressState(nodeEntry("3", "finished", 1, 1), nodeEntry("9", "finished", 1, 1)),
				lifecycle("execution_success"), statusFrame(0), over()),
		},
		"events that leave out the cache and a node's start": {
			append(begin, job.NodeExecutedV1{Run: 1, Node: "9", Class: "SaveImage", UI: json.RawMessage(images)}, job.SucceededV1{Run: 1}),
			append(began, cachedFrame("[]"), progressState(nodeEntry("9", "running", 0, 1)), executing("9"),
				executedFrame("9", images), progressState(nodeEntry("9", "finished", 1, 1)),
				lifecycle("execution_success"), statusFrame(0), over()),
		},
		"a run that begins again": {
			append(begin, job.StartedV1{Run: 1, NodesTotal: 2}, job.SucceededV1{Run: 1}),
			append(began, statusFrame(1), lifecycle("execution_success"), statusFrame(0), over()),
		},
		"wholly cached": {
			append(begin, job.NodesCachedV1{Run: 1, Nodes: []string{"3", "9"}},
				job.NodeExecutedV1{Run: 1, Node: "3", Class: "LoadImage", Cached: true},
				job.NodeExecutedV1{Run: 1, Node: "9", Class: "SaveImage", Cached: true, UI: json.RawMessage(images)},
				job.SucceededV1{Run: 1}),
			append(began, cachedFrame(`["3","9"]`), executedFrame("9", images), progressState(nodeEntry("9", "finished", 1, 1)),
				lifecycle("execution_success"), statusFrame(0), over()),
		},
		"on a server, which has a node in its cache": {
			append(begin, job.NodesCachedV1{Run: 1}, job.NodesCachedV1{Run: 1, Nodes: []string{"3"}, More: true},
				job.NodeStartedV1{Run: 1, Node: "9", Class: "SaveImage"},
				job.NodeExecutedV1{Run: 1, Node: "9", Class: "SaveImage", UI: json.RawMessage(images)},
				job.SucceededV1{Run: 1}),
			append(began, cachedFrame("[]"), cachedFrame(`["3"]`), progressState(nodeEntry("9", "running", 0, 1)), executing("9"),
				executedFrame("9", images), progressState(nodeEntry("9", "finished", 1, 1)),
				lifecycle("execution_success"), statusFrame(0), over()),
		},
		"failed": {
			append(begin, job.NodesCachedV1{Run: 1}, job.NodeStartedV1{Run: 1, Node: "3", Class: "LoadImage"},
				job.NodeFailedV1{Run: 1, Failure: failure}, job.FailedV1{Run: 1, Failure: failure}),
			append(began, cachedFrame("[]"), progressState(nodeEntry("3", "running", 0, 1)), executing("3"),
				fmt.Sprintf(`{"type":"execution_error","data":{"prompt_id":%q,"node_id":"3","node_type":"LoadImage","executed":[],`+
					`"exception_message":"no such file\n","exception_type":"ValidationError","traceback":["line 1"],`+
					`"current_inputs":{"image":["x.png"]},"current_outputs":[],"timestamp":%d}}`, id, ms),
				statusFrame(0), over()),
		},
		"blocked, and the run goes on": {
			append(begin, job.NodesCachedV1{Run: 1},
				job.NodeStartedV1{Run: 1, Node: "9", Class: "SaveImage"},
				job.NodeExecutedV1{Run: 1, Node: "9", Class: "SaveImage", Blocked: "no face found"},
				job.NodeStartedV1{Run: 1, Node: "10", Class: "SaveImage"},
				job.NodeExecutedV1{Run: 1, Node: "10", Class: "SaveImage"},
				job.SucceededV1{Run: 1}),
			append(began, cachedFrame("[]"), progressState(nodeEntry("9", "running", 0, 1)), executing("9"),
				fmt.Sprintf(`{"type":"notification","data":{"value":"Node 9 (SaveImage) did not run: no face found","prompt_id":%q}}`, id),
				progressState(nodeEntry("9", "finished", 1, 1)),
				progressState(nodeEntry("9", "finished", 1, 1), nodeEntry("10", "running", 0, 1)), executing("10"),
				progressState(nodeEntry("9", "finished", 1, 1), nodeEntry("10", "finished", 1, 1)),
				lifecycle("execution_success"), statusFrame(0), over()),
		},
		"canceled while running": {
			append(begin, job.NodesCachedV1{Run: 1}, job.NodeStartedV1{Run: 1, Node: "3", Class: "LoadImage"},
				job.CancelRequestedV1{Run: 1}, job.CanceledV1{Run: 1, At: &job.NodeRef{Node: "3", Class: "LoadImage"}}),
			append(began, cachedFrame("[]"), progressState(nodeEntry("3", "running", 0, 1)), executing("3"),
				fmt.Sprintf(`{"type":"execution_interrupted","data":{"prompt_id":%q,"node_id":"3","node_type":"LoadImage","executed":[],`+
					`"timestamp":%d}}`, id, ms),
				statusFrame(0), over()),
		},
		"canceled while pending": {[]any{submitted(), job.CanceledV1{}}, []string{statusFrame(1), statusFrame(0)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t)
			w.happen(t, c.events...)
			require.Equal(t, c.want, frames(drain(t, w.sub)))
		})
	}
}

// The messages of a job that runs are marked for clients that follow one job at a time, those of the account are not.
func TestMessagesOfAJobInTurnAreMarked(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	s := submitted()
	s.InTurn = true
	w.happen(t, s, job.AdmittedV1{Run: 1})
	for _, m := range drain(t, w.sub) {
		require.False(t, m.InTurn, "%s", m.Text)
	}
	w.happen(t, job.StartedV1{Run: 1}, job.NodeStartedV1{Run: 1, Node: "3", Class: "Blur"})
	w.out.HandleFrame(preview("3", "x"))
	w.happen(t, job.SucceededV1{Run: 1})
	messages := drain(t, w.sub)
	for _, m := range messages {
		require.Equal(t, !m.Broadcast, m.InTurn, "%s", m.Text)
	}
	require.Equal(t, job.Succeeded, messages[len(messages)-1].State.State)
}

func TestRepeatedEventsSendNoMessages(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	recs := w.log.append(t, owner, id, submitted(), job.AdmittedV1{Run: 1})
	require.NoError(t, w.out.Handle(t.Context(), recs))
	require.Len(t, drain(t, w.sub), 2)
	require.NoError(t, w.out.Handle(t.Context(), recs))
	require.Empty(t, drain(t, w.sub))
}

func TestLastMessageOfAnEventCarriesTheState(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.happen(t, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1, NodesTotal: 2}, job.CancelRequestedV1{Run: 1})
	var states []job.State
	for _, m := range drain(t, w.sub) {
		if m.State != nil {
			states = append(states, m.State.State)
		}
	}
	require.Equal(t, []job.State{job.Queued, job.Running, job.Running, job.Canceling}, states)
}

func TestFramesAreShownOnlyWhileTheirNodeRuns(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.happen(t, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1, NodesTotal: 2}, job.NodesCachedV1{Run: 1})
	drain(t, w.sub)

	w.out.HandleFrame(preview("3", "early"))
	w.out.HandleFrame(progress("3", 1, 4))
	w.out.HandleFrame(preview("3", "next"))
	w.out.HandleFrame(progress("3", 2, 4))
	require.Empty(t, drain(t, w.sub), "nothing of a node before it is executing")

	w.happen(t, job.NodeStartedV1{Run: 1, Node: "3", Class: "Blur"})
	require.Equal(t, []string{
		progressState(nodeEntry("3", "running", 0, 1)), executing("3"),
		"<preview 3 early>", progressState(nodeEntry("3", "running", 1, 4)), progressFrame("3", 1, 4),
		"<preview 3 next>", progressState(nodeEntry("3", "running", 2, 4)), progressFrame("3", 2, 4),
	}, frames(drain(t, w.sub)), "and then all of it")

	w.out.HandleFrame(progress("3", 3, 4))
	w.out.HandleFrame(progress("3", 2, 4)) // overtaken
	require.Equal(t, []string{progressState(nodeEntry("3", "running", 3, 4)), progressFrame("3", 3, 4)}, frames(drain(t, w.sub)))

	w.happen(t, job.NodeExecutedV1{Run: 1, Node: "3", Class: "Blur"})
	drain(t, w.sub)
	w.out.HandleFrame(preview("3", "late"))
	other := progress("3", 4, 4)
	other.Run = 2
	w.out.HandleFrame(other)
	require.Empty(t, drain(t, w.sub), "nothing of a node that ended, nor of another run")
}

func TestAFrameOfAnEarlierAttemptIsDropped(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.happen(t, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1, NodesTotal: 2},
		job.NodeStartedV1{Run: 1, Node: "3", Class: "Blur", Attempt: 1})
	drain(t, w.sub)
	second := preview("3", "second")
	second.Attempt = 2
	w.out.HandleFrame(second)
	first := preview("3", "first")
	first.Attempt = 1
	w.out.HandleFrame(first)
	require.Equal(t, []string{"<preview 3 second>"}, frames(drain(t, w.sub)))
}

func TestProgressNeverFalls(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.happen(t, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1, NodesTotal: 2},
		job.NodeStartedV1{Run: 1, Node: "3", Class: "Blur"})
	w.out.HandleFrame(progress("3", 9, 10))
	w.happen(t, job.NodeStartedV1{Run: 1, Node: "4", Class: "Crop"}, job.NodeExecutedV1{Run: 1, Node: "3", Class: "Blur"})
	last := -1.0
	for _, m := range drain(t, w.sub) {
		if m.Progress != nil {
			require.GreaterOrEqual(t, m.Progress.Value, last)
			last = m.Progress.Value
		}
	}
	require.InDelta(t, 0.5, last, 0.01)
}

// The states of a large graph whose nodes all run at once are too many bytes for a watcher that has not read any. It gets the last of
// them, and every other message.
func TestABurstOfALargeGraphCutsNoWatcher(t *testing.T) {
	t.Parallel()
	const nodes = 1000
	w := newWatch(t)
	events := []any{submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1, NodesTotal: nodes}}
	for i := range nodes {
		n := fmt.Sprint(i)
		events = append(events, job.NodeStartedV1{Run: 1, Node: n}, job.NodeExecutedV1{Run: 1, Node: n})
	}
	w.happen(t, append(events, job.SucceededV1{Run: 1})...)
	kinds := map[string]int{}
	var states []string
	for _, text := range frames(drain(t, w.sub)) {
		var m struct{ Type string }
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		if kinds[m.Type]++; m.Type == "progress_state" {
			states = append(states, text)
		}
	}
	require.Equal(t, nodes+1, kinds["executing"], "with the one that says that no node is executing")
	require.Equal(t, 1, kinds["execution_success"])
	require.Less(t, kinds["progress_state"], 2*nodes)
	require.Contains(t, states[len(states)-1], nodeEntry(fmt.Sprint(nodes-1), "finished", 1, 1))
}

func TestProgressStateOfALargeGraphIsBounded(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.happen(t, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1, NodesTotal: 2000})
	var events []any
	for i := range 300 {
		n := fmt.Sprint(i)
		events = append(events, job.NodeStartedV1{Run: 1, Node: n}, job.NodeExecutedV1{Run: 1, Node: n})
	}
	w.happen(t, events...)
	messages := drain(t, w.sub)
	var state struct {
		Data struct{ Nodes map[string]json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(messages[len(messages)-1].Text, &state))
	require.LessOrEqual(t, len(state.Data.Nodes), 256)
	require.Contains(t, state.Data.Nodes, "299")
}

func TestFramesStayWithinTheirAccount(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	recs := w.log.append(t, "someone else", "99999999-2222-4333-8444-555555555555", submitted(), job.AdmittedV1{Run: 1})
	require.NoError(t, w.out.Handle(t.Context(), recs))
	foreign := preview("3", "x")
	foreign.Account = "someone else"
	w.out.HandleFrame(foreign)
	require.Empty(t, drain(t, w.sub))
}

func TestTextGoesToEveryClient(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.happen(t, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1}, job.NodeStartedV1{Run: 1, Node: "3"})
	drain(t, w.sub)
	w.out.HandleFrame(stream.Frame{Account: owner, Job: id, Run: 1, Node: "3", Kind: stream.FrameText, Data: []byte("größe")})
	messages := drain(t, w.sub)
	require.Equal(t, []string{"<text 3 größe>"}, frames(messages))
	require.True(t, messages[0].Broadcast)
}

// A picture is a result: each of a batch arrives, also before its node is known to run.
func TestEveryPictureIsShown(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	show := func(data string) {
		f := preview("3", data)
		f.Kind, f.ContentType = stream.FramePicture, "image/png"
		w.out.HandleFrame(f)
	}
	w.happen(t, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1})
	var want []string
	for i := range 20 {
		show(fmt.Sprint(i))
		want = append(want, fmt.Sprintf("<text 3 %d>", i))
	}
	drain(t, w.sub)
	w.happen(t, job.NodeStartedV1{Run: 1, Node: "3"})
	show("late")
	messages := frames(drain(t, w.sub))
	require.Equal(t, append(want, "<text 3 late>"), messages[len(messages)-21:])
}

// Of more previews than are kept before their node is known to run, the latest one is shown.
func TestTheLatestOfManyPreviewsIsShown(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.happen(t, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1})
	for i := range 100 {
		w.out.HandleFrame(preview("3", fmt.Sprint(i)))
	}
	drain(t, w.sub)
	w.happen(t, job.NodeStartedV1{Run: 1, Node: "3"})
	shown := frames(drain(t, w.sub))
	require.Equal(t, "<preview 3 99>", shown[len(shown)-1])
	require.Less(t, len(shown), 80)
}

// The events of a run's start may come behind what its first node shows: it is shown with them. What an earlier run
// left unshown is not.
func TestTextBeforeTheStartOfItsRunIsDelayed(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	text := func(run int, data string) stream.Frame {
		return stream.Frame{Account: owner, Job: id, Run: run, Node: "3", Kind: stream.FrameText, Data: []byte(data)}
	}
	w.happen(t, submitted(), job.AdmittedV1{Run: 1})
	w.out.HandleFrame(text(1, "early"))
	w.out.HandleFrame(text(2, "of another run"))
	drain(t, w.sub)
	w.happen(t, job.StartedV1{Run: 1}, job.NodeStartedV1{Run: 1, Node: "3"})
	messages := frames(drain(t, w.sub))
	require.Equal(t, "<text 3 early>", messages[len(messages)-1])
	require.NotContains(t, messages, "<text 3 of another run>")
}
