package node_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// joiner concatenates a and b and returns the result as its UI output too.
func joiner() *node.Class {
	return &node.Class{
		Name:    "Join",
		Inputs:  []node.Input{{Name: "a", Type: node.String}, {Name: "b", Type: node.String}},
		Outputs: []node.Output{{Type: node.String}, {Type: node.Int}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			text := call.String("a") + call.String("b")
			return node.Result{
				Outputs: []node.Value{text, int64(len(text))}, UI: map[string][]any{"text": {text}},
			}, nil
		},
	}
}

func TestRunWithoutListsCallsOnce(t *testing.T) {
	t.Parallel()
	res, err := node.Invocation{Class: joiner(), Inputs: node.Args{"a": "x", "b": "y"}}.Run(t.Context(), node.Call{})
	require.NoError(t, err)
	require.Equal(t, []node.Value{"xy", int64(2)}, res.Outputs)
	require.Equal(t, map[string][]any{"text": {"xy"}}, res.UI)
}

func TestRunMapsOverTheLongestListAndRepeatsTheLast(t *testing.T) {
	t.Parallel()
	inv := node.Invocation{Class: joiner(), Inputs: node.Args{"a": node.List{"1", "2", "3"}, "b": node.List{"x", "y"}}}
	res, err := inv.Run(t.Context(), node.Call{})
	require.NoError(t, err)
	require.Equal(t, []node.Value{node.List{"1x", "2y", "3y"}, node.List{int64(2), int64(2), int64(2)}}, res.Outputs)
	require.Equal(t, map[string][]any{"text": {"1x", "2y", "3y"}}, res.UI)
}

func TestRunOverAListOfOneYieldsAList(t *testing.T) {
	t.Parallel()
	res, err := node.Invocation{Class: joiner(), Inputs: node.Args{"a": node.List{"1"}, "b": "x"}}.Run(t.Context(), node.Call{})
	require.NoError(t, err)
	require.Equal(t, node.List{"1x"}, res.Outputs[0])
}

func TestRunOverAnEmptyListYieldsEmptyLists(t *testing.T) {
	t.Parallel()
	res, err := node.Invocation{Class: joiner(), Inputs: node.Args{"a": node.List{}, "b": "x"}}.Run(t.Context(), node.Call{})
	require.NoError(t, err)
	require.Equal(t, []node.Value{node.List{}, node.List{}}, res.Outputs)
}

func TestEmptyListAmongOthersLeavesItsInputAbsent(t *testing.T) {
	t.Parallel()
	_, err := node.Invocation{Class: joiner(), Inputs: node.Args{"a": node.List{"1"}, "b": node.List{}}}.Run(t.Context(), node.Call{})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

func TestListOutputsAreConcatenated(t *testing.T) {
	t.Parallel()
	c := &node.Class{
		Name: "Twice", Outputs: []node.Output{{Type: node.Int, IsList: true}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			return node.Result{Outputs: []node.Value{node.List{call.Args["v"], call.Args["v"]}}}, nil
		},
	}
	res, err := node.Invocation{Class: c, Inputs: node.Args{"v": node.List{int64(1), int64(2)}}}.Run(t.Context(), node.Call{})
	require.NoError(t, err)
	require.Equal(t, node.List{int64(1), int64(1), int64(2), int64(2)}, res.Outputs[0])
}

func TestClassOfListsGetsThemWhole(t *testing.T) {
	t.Parallel()
	c := &node.Class{
		Name: "Count", InputIsList: true, Outputs: []node.Output{{Type: node.Int}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			n := len(call.Lists["many"]) + 10*len(call.Lists["one"])
			return node.Result{Outputs: []node.Value{int64(n)}}, nil
		},
	}
	res, err := node.Invocation{Class: c, Inputs: node.Args{"many": node.List{1, 2, 3}, "one": "x"}}.Run(t.Context(), node.Call{})
	require.NoError(t, err)
	require.Equal(t, []node.Value{int64(13)}, res.Outputs)
}

func TestPanicsAndBrokenPromisesAreInternal(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(context.Context, *node.Call) (node.Result, error){
		"panic":          func(context.Context, *node.Call) (node.Result, error) { panic("secret") },
		"missing output": func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil },
		"undeclared list": func(context.Context, *node.Call) (node.Result, error) {
			return node.Result{Outputs: []node.Value{node.List{}}}, nil
		},
	} {
		c := &node.Class{Name: "Bad", Outputs: []node.Output{{Type: node.Int}}, Run: run}
		_, err := node.Invocation{Class: c}.Run(t.Context(), node.Call{})
		require.Error(t, err, name)
		require.Equal(t, fault.Internal, fault.KindOf(err), name)
	}
}

func TestMappingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	c := &node.Class{Name: "Stop", Run: func(context.Context, *node.Call) (node.Result, error) {
		calls++
		cancel()
		return node.Result{}, nil
	}}
	_, err := node.Invocation{Class: c, Inputs: node.Args{"a": node.List{1, 2, 3}}}.Run(ctx, node.Call{})
	require.Equal(t, fault.Canceled, fault.KindOf(err))
	require.Equal(t, 1, calls)
}

func TestListsThatAreTooLongAreRefused(t *testing.T) {
	t.Parallel()
	inv := node.Invocation{Class: joiner(), Inputs: node.Args{"a": make(node.List, 10_001), "b": ""}}
	_, err := inv.Run(t.Context(), node.Call{})
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
}

// indices records the indices of saved files.
type indices struct {
	node.Files
	saved []int
}

func (f *indices) Save(_ context.Context, s node.Save, _ func(io.Writer) error) (node.File, error) {
	f.saved = append(f.saved, s.Index)
	return node.File{}, nil
}

func TestMappedCallsSaveDistinctFiles(t *testing.T) {
	t.Parallel()
	c := &node.Class{Name: "Save", Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
		for i := range int(call.Args["n"].(int64)) {
			if _, err := call.Files.Save(ctx, node.Save{Index: i}, nil); err != nil {
				return node.Result{}, err
			}
		}
		return node.Result{}, nil
	}}
	files := &indices{}
	inv := node.Invocation{Class: c, Inputs: node.Args{"n": node.List{int64(2), int64(0), int64(3)}}}
	_, err := inv.Run(t.Context(), node.Call{Files: files})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2, 3, 4}, files.saved)
}

func TestNeedsNamesTheLazyInputsThatAreAbsent(t *testing.T) {
	t.Parallel()
	choose := &node.Class{Name: "Switch", LazyNeeds: func(args node.Args) []string {
		if args["on"] == true {
			return []string{"yes", "unlinked"}
		}
		return []string{"no"}
	}}
	lazy := []string{"no", "yes"}
	tests := map[string]struct {
		class  *node.Class
		inputs node.Args
		want   []string
	}{
		"the chosen input":             {choose, node.Args{"on": true}, []string{"yes"}},
		"nothing once it is evaluated": {choose, node.Args{"on": true, "yes": 1}, nil},
		"each choice of a list":        {choose, node.Args{"on": node.List{true, false}}, []string{"no", "yes"}},
		"all inputs without a rule":    {&node.Class{}, node.Args{"yes": 1}, []string{"no"}},
		"nil counts as evaluated":      {&node.Class{}, node.Args{"yes": nil, "no": nil}, nil},
	}
	for name, tt := range tests {
		require.ElementsMatch(t, tt.want, node.Invocation{Class: tt.class, Inputs: tt.inputs, Lazy: lazy}.Needs(), name)
	}
}
