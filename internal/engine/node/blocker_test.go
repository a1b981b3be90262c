package node_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

func TestBlockedCallIsSkippedAndPassesTheBlockerOn(t *testing.T) {
	t.Parallel()
	class := joiner()
	class.Run = func(context.Context, *node.Call) (node.Result, error) { panic("a blocked call must not run") }
	for name, message := range map[string]string{"with a message": "no face found", "silent": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inputs := node.Args{"a": node.Blocker{Message: message}, "b": "y"}
			res, err := node.Invocation{Class: class, Inputs: inputs}.Run(t.Context(), node.Call{})
			require.NoError(t, err)
			require.Equal(t, node.Result{Outputs: []node.Value{node.Blocker{}, node.Blocker{}}, Blocked: true, Message: message}, res)
		})
	}
}

func TestBlockerStopsOnlyItsCalls(t *testing.T) {
	t.Parallel()
	inputs := node.Args{"a": node.List{"1", node.Blocker{Message: "not this"}, "3"}, "b": "x"}
	res, err := node.Invocation{Class: joiner(), Inputs: inputs}.Run(t.Context(), node.Call{})
	require.NoError(t, err)
	require.Equal(t, []node.Value{
		node.List{"1x", node.Blocker{}, "3x"}, node.List{int64(2), node.Blocker{}, int64(2)},
	}, res.Outputs)
	require.Equal(t, map[string][]any{"text": {"1x", "3x"}}, res.UI)
	require.True(t, res.Blocked)
	require.Equal(t, "not this", res.Message)
}

func TestAClassThatTakesListsIsBlockedByOneElement(t *testing.T) {
	t.Parallel()
	class := joiner()
	class.InputIsList = true
	class.Run = func(context.Context, *node.Call) (node.Result, error) { panic("a blocked call must not run") }
	inputs := node.Args{"a": node.List{"1", node.Blocker{}}, "b": "x"}
	res, err := node.Invocation{Class: class, Inputs: inputs}.Run(t.Context(), node.Call{})
	require.NoError(t, err)
	require.Equal(t, node.Result{Outputs: []node.Value{node.Blocker{}, node.Blocker{}}, Blocked: true}, res)
}

func TestAClassMayBlockAnyOfItsOutputsAlsoAList(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Gate", Outputs: []node.Output{{Type: node.String, IsList: true}, {Type: node.Int}},
		Run: func(context.Context, *node.Call) (node.Result, error) {
			return node.Result{Outputs: []node.Value{node.Blocker{Message: "closed"}, int64(1)}}, nil
		},
	}
	res, err := node.Invocation{Class: class}.Run(t.Context(), node.Call{})
	require.NoError(t, err)
	require.Equal(t, []node.Value{node.Blocker{Message: "closed"}, int64(1)}, res.Outputs)
	require.True(t, res.Blocked, "a result with a blocker must not be cached")
	require.Empty(t, res.Message, "the first node that reads it reports the message")
}

func TestABlockedNodeAsksForNoLazyInputs(t *testing.T) {
	t.Parallel()
	all := &node.Class{Name: "Lazy", Outputs: []node.Output{{Type: node.Any}}}
	some := *all
	some.LazyNeeds = func(node.Args) []string { return []string{"late"} }
	for name, class := range map[string]*node.Class{"an input that it always needs": all, "an input that it names": &some} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv := node.Invocation{Class: class, Inputs: node.Args{"now": node.Blocker{}}, Lazy: []string{"late"}}
			require.Empty(t, inv.Needs())
			inv.Inputs = node.Args{"now": node.List{node.Blocker{}, true}}
			require.Equal(t, []string{"late"}, inv.Needs(), "a call that runs needs it")
		})
	}
}

func TestBlockerMessageIsBounded(t *testing.T) {
	t.Parallel()
	inputs := node.Args{"a": node.Blocker{Message: strings.Repeat("é", 5000)}}
	res, err := node.Invocation{Class: joiner(), Inputs: inputs}.Run(t.Context(), node.Call{})
	require.NoError(t, err)
	require.Less(t, len(res.Message), 1100)
}
