package deployment_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// names returns the names of the classes by which graphs call deployments.
func (f filling) names(t *testing.T) (all []string) {
	t.Helper()
	classes, err := f.Classes(t.Context(), "acme")
	require.NoError(t, err)
	for _, c := range classes {
		all = append(all, c.Name)
	}
	return all
}

// The deployments that answer calls have a class, as far as they can be read; what was read once is known.
func TestDeploymentsThatAnswerHaveAClass(t *testing.T) {
	t.Parallel()
	f := newFilling(t, graph.Limits{})
	f.deployAll()
	f.put("stopped", plainPicture, callable.Schema{})
	f.put("empty", plainPicture, callable.Schema{})
	f.put("unreadable", `{"9":{"class_type":"SaveImage","inputs":{}}}`, callable.Schema{})
	for i := range f.store.all {
		switch d := &f.store.all[i]; d.Name {
		case "stopped":
			d.State = deployment.Stopped
		case "empty":
			d.Live = 0
		case "unreadable":
			d.Versions[0].Digest = blob.Sum([]byte("nothing"))
		}
	}
	want := []string{"Deployment.plain", "Deployment.outer", "Deployment.invert", "Deployment.both"}
	require.Equal(t, want, f.names(t))
	for _, d := range f.store.all[:4] {
		_, err := f.blobs.Remove(t.Context(), d.Versions[0].Digest, time.Now().Add(time.Hour))
		require.NoError(t, err)
	}
	require.Equal(t, want, f.names(t))
	known, err := f.Known(t.Context(), "acme")
	require.NoError(t, err)
	for name, there := range map[string]bool{"Deployment.plain": true, "SaveImage": true, "Deployment.stopped": false} {
		_, ok := known.Lookup(name)
		require.Equal(t, there, ok, name)
	}
	other, err := f.Classes(t.Context(), "globex")
	require.NoError(t, err)
	require.Empty(t, other)
}

// large says that every blob has a size.
type large struct {
	blob.Store
	size int64
	asks int
}

func (l *large) Stat(context.Context, blob.Ref) (int64, error) {
	l.asks++
	return l.size, nil
}

// The versions that one graph calls may have 64 MiB together, and those that are known are not read again.
func TestTheVersionsOfAGraphAreBounded(t *testing.T) {
	t.Parallel()
	for size, refused := range map[int64]bool{32 << 20: false, 32<<20 + 1: true} {
		f := newFilling(t, graph.Limits{})
		f.deployAll()
		sized := &large{Store: f.blobs, size: size}
		f.Blobs = sized
		prompt := json.RawMessage(`{"1":{"class_type":"Deployment.plain","inputs":{}},"2":{"class_type":"Deployment.outer","inputs":{}},
			"3":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"s"}}}`)
		for name, do := range map[string]func(*deployment.Service) error{
			"a graph": func(s *deployment.Service) error {
				_, err := s.FillGraph(t.Context(), job.Submission{Account: "acme", Prompt: prompt})
				return err
			},
			"a new version": func(s *deployment.Service) error {
				_, err := s.Add(t.Context(), "acme", "new", deployment.Content{
					Graph: prompt, Classes: map[string]string{"Deployment.plain": "", "Deployment.outer": ""},
				}, ada)
				return err
			},
		} {
			s := deployment.NewService(f.Deps)
			sized.asks = 0
			err := do(s)
			require.Equal(t, 2, sized.asks, name)
			if refused {
				require.Equal(t, fault.CodeInvalidWorkflow, fault.CodeOf(err), name)
				require.ErrorContains(t, err, "has more than 67108864 bytes of versions")
				continue
			}
			require.NoError(t, err, name)
			require.NoError(t, do(s), name)
			require.Equal(t, 2, sized.asks, "%s: they are known now", name)
		}
	}
}

// The bounds of a graph that calls deployments are exact.
func TestTheBoundsOfCallsAreExact(t *testing.T) {
	t.Parallel()
	calls := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%d":{"class_type":"Deployment.one","inputs":{}}`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	const one = `{"1":{"class_type":"EmptyImage","inputs":{"width":16,"height":8,"batch_size":1,"color":0}}}`
	for _, c := range []struct {
		limits  graph.Limits
		calls   int
		refused string
	}{
		{graph.Limits{}, 100, ""},
		{graph.Limits{}, 101, "more than 100 nodes that call deployments"},
		{graph.Limits{MaxNodes: 3}, 2, ""},
		{graph.Limits{MaxNodes: 2}, 2, "more than 2 nodes"},
		{graph.Limits{MaxBytes: 2 * len(one)}, 2, ""},
		{graph.Limits{MaxBytes: 2*len(one) - 1}, 2, "bytes"},
	} {
		f := newFilling(t, c.limits)
		f.put("one", one, callable.Schema{Outputs: []callable.Output{{Name: "o", Node: "1"}}})
		_, err := f.fill(calls(c.calls))
		if c.refused == "" {
			require.NoError(t, err, c)
			continue
		}
		require.ErrorContains(t, err, c.refused)
		require.Equal(t, fault.CodeInvalidWorkflow, fault.CodeOf(err))
	}
	for levels, refused := range map[int]bool{16: false, 17: true} {
		f := newFilling(t, graph.Limits{})
		f.put("level-0", one, callable.Schema{})
		for i := range levels {
			f.put(fmt.Sprint("level-", i+1), fmt.Sprintf(`{"1":{"class_type":"Deployment.level-%d","inputs":{}}}`, i), callable.Schema{})
		}
		_, err := f.fill(fmt.Sprintf(`{"1":{"class_type":"Deployment.level-%d","inputs":{}}}`, levels-1))
		require.Equal(t, refused, err != nil, "%d: %v", levels, err)
	}
}

// A stopped deployment, and one whose version needs other definitions, refuse the graphs that call them.
func TestAGraphThatCallsARefusingDeploymentIsRefused(t *testing.T) {
	t.Parallel()
	f := newFilling(t, graph.Limits{})
	f.deployAll()
	call := `{"1":{"class_type":"Deployment.plain","inputs":{}},
		"3":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"s"}}}`
	f.store.all[0].State = deployment.Stopped
	_, err := f.fill(call)
	require.Equal(t, fault.CodeDeploymentStopped, fault.CodeOf(err))
	f.store.all[0].State = deployment.Ready
	got, err := f.FillGraph(t.Context(), job.Submission{Account: "acme", Prompt: json.RawMessage(call), Targets: []string{"9"}})
	require.NoError(t, err)
	require.Equal(t, []string{"9"}, got.Targets, "a job that names its outputs keeps them")
	_, err = f.FillGraph(t.Context(), job.Submission{
		Account: "acme", Prompt: json.RawMessage(call), Deployment: &job.Deployed{ID: string(f.store.all[0].ID), Version: 1},
	})
	require.ErrorContains(t, err, "the deployment plain would call itself")
	_, err = f.FillGraph(t.Context(), job.Submission{
		Account: "acme", Prompt: json.RawMessage(call), Deployment: &job.Deployed{ID: string(f.store.all[0].ID)},
	})
	require.NoError(t, err, "a graph below the path of a deployment is no call of it")
	_, err = f.fill(`{"1":{"class_type":"Deployment.`)
	require.True(t, fault.Is(err, fault.Invalid), err)
	nothing, err := f.fill(`{"1":"PrimitiveString"`)
	require.NoError(t, err, "a graph that calls nothing is checked elsewhere")
	require.Zero(t, nothing)
}

// A class that no server has is said to be missing for the node that calls, not for a node of its version.
func TestAMissingClassIsThatOfTheNodeThatCalls(t *testing.T) {
	t.Parallel()
	f := newFilling(t, graph.Limits{})
	f.deployAll()
	filled, err := f.fill(`{"7":{"class_type":"Deployment.plain","inputs":{}},
		"3":{"class_type":"SaveImage","inputs":{"images":["7",0],"filename_prefix":"s"}}}`)
	require.NoError(t, err)
	inside := &graph.PromptError{Message: "m", Details: "d", ExtraInfo: map[string]any{"node_id": "7:1", "class_type": "Gone"}}
	filled.Explain(inside)
	require.Equal(t, &graph.PromptError{
		Message: "Node 'Deployment.plain' cannot run: its version needs a class that no server has.", Details: "Node ID '#7'",
		ExtraInfo: map[string]any{"node_id": "7", "class_type": "Deployment.plain", "node_title": "Deployment.plain"},
	}, inside)
	outside := &graph.PromptError{Message: "m", Details: "d", ExtraInfo: map[string]any{"node_id": "3", "class_type": "Gone"}}
	filled.Explain(outside)
	require.Equal(t, &graph.PromptError{Message: "m", Details: "d", ExtraInfo: map[string]any{"node_id": "3", "class_type": "Gone"}}, outside)

	of := func(node, input string, extra map[string]any) *graph.NodeError {
		extra["input_name"] = input
		return &graph.NodeError{Node: node, Class: "EmptyImage", DependentOutputs: []string{"3"}, Errors: []graph.InputError{{
			Type: "t", Message: "m", Details: "d", ExtraInfo: extra,
		}}}
	}
	refused := &graph.PromptError{NodeErrors: graph.NodeErrors{
		of("7:1", "width", map[string]any{"received_value": 5}), of("7:1", "height", map[string]any{"received_value": 6}),
		of("3", "images", map[string]any{"linked_node": []any{"7:1", 0}}), of("3", "other", map[string]any{"linked_node": []any{"8", 0}}),
		of("7:1", "width", map[string]any{}),
	}}
	filled.Explain(refused)
	require.Equal(t, graph.NodeErrors{
		{Node: "7", Class: "Deployment.plain", DependentOutputs: []string{"3"}, Errors: []graph.InputError{
			{Type: "t", Message: "m", Details: "width", ExtraInfo: map[string]any{"input_name": "width", "received_value": 5}},
			{Type: "t", Message: "m", ExtraInfo: map[string]any{"input_name": ""}},
			{Type: "t", Message: "m", Details: "width", ExtraInfo: map[string]any{"input_name": "width"}},
		}},
		{Node: "3", Class: "EmptyImage", DependentOutputs: []string{"3"}, Errors: []graph.InputError{
			{Type: "t", Message: "m", Details: "d", ExtraInfo: map[string]any{"input_name": "images", "linked_node": []any{"7"}}},
			{Type: "t", Message: "m", Details: "d", ExtraInfo: map[string]any{"input_name": "other", "linked_node": []any{"8", 0}}},
		}},
	}, refused.NodeErrors)
}

// The content of a version is remembered unless its graph is larger than a mebibyte.
func TestLargeVersionsAreReadAgain(t *testing.T) {
	t.Parallel()
	const around = len(`{"1":{"class_type":"Paint","inputs":{"size":1},"_meta":{"title":""}}}`)
	for size, again := range map[int]int{1 << 20: 0, 1<<20 + 1: 1} {
		calls := &faulttest.Calls{}
		f, _, _ := newWorld(t, calls)
		title := strings.Repeat("x", size-around)
		f.put("large", `{"1":{"class_type":"Paint","inputs":{"size":1},"_meta":{"title":"`+title+`"}}}`, callable.Schema{})
		d := f.store.all[len(f.store.all)-1]
		for _, reads := range []int{1, again} {
			calls.Reset(0)
			_, err := f.Schema(t.Context(), d, 1)
			require.NoError(t, err)
			require.Len(t, calls.Made(), reads, size)
		}
	}
}
