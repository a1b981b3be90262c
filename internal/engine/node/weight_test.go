package node_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// A list whose values are each within their bound must not exhaust the memory of a worker.
func TestTheValuesOfAListAreBoundedTogether(t *testing.T) {
	t.Parallel()
	calls := 0
	class := &node.Class{
		Name: "Grow", Inputs: []node.Input{{Name: "n", Type: node.Int}}, Outputs: []node.Output{{Type: node.Image}},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			calls++
			im, err := raster.Engine{MaxPixels: call.MaxPixels}.Solid(ctx, 1, 100, 100, []uint8{1, 2, 3})
			return node.Result{Outputs: []node.Value{im}}, err
		},
	}
	list := make(node.List, 4096)
	for i := range list {
		list[i] = int64(i)
	}
	const most = 10_000 // pixels that one value may have
	_, err := node.Invocation{Class: class, Inputs: node.Args{"n": list}}.Run(t.Context(), node.Call{MaxPixels: most})
	require.Equal(t, fault.Exhausted, fault.KindOf(err), "%v", err)
	require.Equal(t, fault.CodeListTooLarge, fault.CodeOf(err))
	require.Equal(t, 6, calls, "the run ends as soon as the bound is exceeded")
	res, err := node.Invocation{Class: class, Inputs: node.Args{"n": list[:5]}}.Run(t.Context(), node.Call{MaxPixels: most})
	require.NoError(t, err)
	require.Len(t, res.Outputs[0], 5)
}

func TestTextsOfAListAreBoundedTogether(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<10)
	list := make(node.List, 100)
	for i := range list {
		list[i] = long
	}
	inv := node.Invocation{Class: joiner(), Inputs: node.Args{"a": list, "b": long}}
	_, err := inv.Run(t.Context(), node.Call{MaxPixels: 1 << 12})
	require.Equal(t, fault.CodeListTooLarge, fault.CodeOf(err))
	_, err = inv.Run(t.Context(), node.Call{MaxPixels: 1 << 14})
	require.NoError(t, err)
}

func TestLayersHaveTheWeightOfTheirPictures(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Stack", Inputs: []node.Input{{Name: "n", Type: node.Int}}, Outputs: []node.Output{{Type: node.Layers}},
		Run: func(context.Context, *node.Call) (node.Result, error) {
			return node.Result{Outputs: []node.Value{stack(t)}}, nil
		},
	}
	inv := node.Invocation{Class: class, Inputs: node.Args{"n": node.List{int64(1), int64(2), int64(3)}}}
	_, err := inv.Run(t.Context(), node.Call{MaxPixels: 30})
	require.Equal(t, fault.CodeListTooLarge, fault.CodeOf(err), "%v", err)
	_, err = inv.Run(t.Context(), node.Call{MaxPixels: 300})
	require.NoError(t, err)
}
