package deployment_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// A file of a call is what its form says: a stored one is named, and one that the call brings is stored once and recorded by its hash.
func TestAFileOfACallIsNamedOrStored(t *testing.T) {
	t.Parallel()
	const id = "00000000-0000-4000-8000-000000000001"
	ref, made := blob.Sum([]byte("x")), `{"__type":"`+graph.AssetType+`","info":{"id":"made"}}`
	for name, c := range map[string]struct {
		given, value, recorded string
		made                   int
		private                bool // it names a file of the account
	}{
		"an asset":   {`"` + id + `"`, `{"__type":"` + graph.AssetType + `","info":{"id":"` + id + `"}}`, `"` + id + `"`, 0, true},
		"a hash":     {`"` + ref.String() + `"`, `"` + ref.String() + `"`, `"` + ref.String() + `"`, 0, true},
		"a name":     {`"a.png"`, `"a.png"`, `"a.png"`, 0, true},
		"data":       {`"data:image/png;base64,eA=="`, made, `"` + ref.String() + `"`, 1, false},
		"an address": {`"https://example.com/a.png"`, made, `"` + ref.String() + `"`, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, onlySent := range []bool{false, true} {
				f, in, store := newWorld(t, &faulttest.Calls{})
				_, err := f.Call(t.Context(), deployment.Call{Deployment: "portrait", Version: 2, OnlySent: onlySent, Submission: job.Submission{
					Account: "acme", RequestID: "r", Inputs: map[string]json.RawMessage{"photo": json.RawMessage(c.given)},
				}})
				if onlySent && c.private {
					require.EqualError(t, err, "input photo: this key may not read files of the account: send a data: URL or an https: address")
					require.Equal(t, fault.CodeInvalidInput, fault.CodeOf(err))
					require.Empty(t, in.taken)
					continue
				}
				require.NoError(t, err)
				require.Len(t, in.taken, 1)
				require.JSONEq(t, c.recorded, string(in.taken[0].Inputs["photo"]))
				var prompt map[string]struct{ Inputs map[string]json.RawMessage }
				require.NoError(t, json.Unmarshal(in.taken[0].Prompt, &prompt))
				require.JSONEq(t, c.value, string(prompt["2"].Inputs["size"]))
				require.Len(t, store.made, c.made)
				for _, n := range store.made {
					require.Equal(t, []any{"acme", "image/png", "r", ref, int64(1)}, []any{n.Account, n.ContentType, n.RequestID, n.Hash, n.Size})
				}
			}
		})
	}
}

// A call that is decided again, because the versions moved or because this process was behind, brings no file again. It
// gives up after ten decisions.
func TestACallIsDecidedAgainWhenVersionsMove(t *testing.T) {
	t.Parallel()
	for moves, fails := range map[int]bool{0: false, 9: false, 10: true} {
		f, in, store := newWorld(t, &faulttest.Calls{})
		in.moves = moves
		called, err := f.Call(t.Context(), deployment.Call{Deployment: "portrait", Version: 2, Submission: job.Submission{
			Account: "acme", Inputs: map[string]json.RawMessage{"photo": json.RawMessage(`"data:image/png;base64,eA=="`)},
		}})
		require.Len(t, store.made, 1)
		if fails {
			require.ErrorIs(t, err, deployment.ErrMoved)
			require.Len(t, in.taken, 10)
			continue
		}
		require.NoError(t, err)
		require.Len(t, in.taken, moves+1)
		require.Equal(t, []any{job.ID("j"), 2, "portrait"}, []any{called.Job.ID, called.Version, called.Deployment.Name})
	}
}

// A process that is behind the log reads a deployment again before it refuses a call.
func TestACallIsRefusedByTheNewestStateOnly(t *testing.T) {
	t.Parallel()
	inputs := map[string]json.RawMessage{"size": json.RawMessage("1")}
	for name, c := range map[string]struct {
		change func(*deployment.Deployment)
		found  int
	}{
		"it is as it was":            {func(*deployment.Deployment) {}, 0},
		"it was stopped":             {func(d *deployment.Deployment) { d.State = deployment.Stopped }, 1},
		"it was deleted":             {func(d *deployment.Deployment) { d.State = deployment.Deleted }, 1},
		"it had another version":     {func(d *deployment.Deployment) { d.Live = 9 }, 1},
		"its version had other ones": {func(d *deployment.Deployment) { d.Live = 2 }, 1},
	} {
		f, in := newCalls(t)
		f.put("portrait", sizedPaint, sized())
		f.version("portrait", sizedPaint, pictured())
		remembered := f.store.all[0]
		c.change(&remembered)
		f.store.recent = &remembered
		_, err := f.Call(t.Context(), deployment.Call{Deployment: "portrait", Submission: job.Submission{Account: "acme", Inputs: inputs}})
		require.NoError(t, err, name)
		require.Len(t, in.taken, 1, name)
		require.Equal(t, c.found, f.store.found, name)
		require.Equal(t, 1, in.taken[0].Deployment.Version)
	}
	for _, c := range []struct {
		refusal error
		calls   int
	}{
		{fault.New(fault.Exhausted, fault.CodeQueueFull, "full"), 1},
		{fault.New(fault.Invalid, fault.CodeInvalidRequest, "no"), 2},
		{fault.New(fault.NotFound, fault.CodeAssetNotFound, "no"), 2},
	} {
		f, in := newCalls(t)
		f.put("portrait", sizedPaint, sized())
		remembered := f.store.all[0]
		f.store.recent, in.refusal = &remembered, c.refusal
		_, err := f.Call(t.Context(), deployment.Call{Deployment: "portrait", Submission: job.Submission{Account: "acme", Inputs: inputs}})
		require.ErrorIs(t, err, c.refusal)
		require.Len(t, in.taken, c.calls)
	}
}

// The refusal of a graph is restated in terms of the call: what the servers lack, the input, or the file.
func TestARefusalIsRestatedForTheCaller(t *testing.T) {
	t.Parallel()
	refused := func(node, input string) error {
		return (&graph.Accepted{NodeErrors: graph.NodeErrors{{Node: node, Class: "Paint", Errors: []graph.InputError{{
			Type: "value_smaller_than_min", Message: "Value too small", ExtraInfo: map[string]any{"input_name": input},
		}}}}}).Refuse()
	}
	for name, c := range map[string]struct {
		graph   string
		refusal error
		kind    fault.Kind
		code    fault.Code
		says    string
	}{
		"a class that is away": {
			`{"1":{"class_type":"Gone","inputs":{}},"2":{"class_type":"Paint","inputs":{"size":1}}}`, refused("1", "x"), fault.Unavailable,
			fault.CodeDeploymentNotReady, "portrait@1 cannot run now: no server has the class Gone",
		},
		"a value": {sizedPaint, refused("2", "size"), fault.Invalid, fault.CodeInvalidInput, "size"},
		"a file": {
			sizedPaint, fault.New(fault.Invalid, fault.CodeMissingAsset, "node 2 has none"), fault.Invalid, fault.CodeMissingAsset,
			"a file that an input names does not exist",
		},
		"another refusal": {sizedPaint, fault.New(fault.Exhausted, fault.CodeQueueFull, "full"), fault.Exhausted, fault.CodeQueueFull, "full"},
	} {
		f, in := newCalls(t)
		in.refusal = c.refusal
		f.put("portrait", c.graph, sized())
		_, err := f.Call(t.Context(), deployment.Call{Deployment: "portrait", Submission: job.Submission{
			Account: "acme", Inputs: map[string]json.RawMessage{"size": json.RawMessage("1")},
		}})
		require.Equal(t, c.code, fault.CodeOf(err), name)
		require.Equal(t, c.kind, fault.KindOf(err), name)
		require.ErrorContains(t, err, c.says, name)
	}
}
