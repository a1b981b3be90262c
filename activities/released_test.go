package activities_test

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// A chain of large pictures holds those that are still to be read, and not all of them.
func TestChainFreesValuesAfterTheirLastReader(t *testing.T) {
	t.Parallel()
	solid := func(ctx context.Context) (*raster.Image, error) {
		return raster.Engine{}.Solid(ctx, 1, 64, 64, []uint8{1, 2, 3})
	}
	var first weak.Pointer[raster.Image]
	gone := false
	start := &node.Class{
		Name: "Start", Module: "nodes", Outputs: []node.Output{{Type: node.Image}},
		Run: func(ctx context.Context, _ *node.Call) (node.Result, error) {
			im, err := solid(ctx)
			first = weak.Make(im)
			return node.Result{Outputs: []node.Value{im}}, err
		},
	}
	next := &node.Class{
		Name: "Next", Module: "nodes", Inputs: []node.Input{{Name: "image", Type: node.Image}}, Outputs: []node.Output{{Type: node.Image}},
		Run: func(ctx context.Context, _ *node.Call) (node.Result, error) {
			im, err := solid(ctx)
			return node.Result{Outputs: []node.Value{im}}, err
		},
	}
	end := &node.Class{
		Name: "End", Module: "nodes", OutputNode: true, Inputs: []node.Input{{Name: "image", Type: node.Image}},
		Run: func(context.Context, *node.Call) (node.Result, error) {
			runtime.GC()
			gone = first.Value() == nil
			return node.Result{}, nil
		},
	}
	b := newBench(t, `{"1":{"class_type":"Start","inputs":{}},"2":{"class_type":"Next","inputs":{"image":["1",0]}},
		"3":{"class_type":"End","inputs":{"image":["2",0]}}}`, []string{"3"}, start, next, end)
	res, err := b.run(t.Context(), b.begin(t), 0, 1, 2)
	require.NoError(t, err)
	require.Len(t, res.Units, 3)
	require.Equal(t, graph.Done, res.Units[2].Status)
	require.True(t, gone)
}
