package image_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/node/mask"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// fixture is a call of a class with its default arguments.
type fixture struct {
	class     *node.Class
	args      node.Args // all arguments
	constants node.Args // the arguments that a graph would hold as constants
	upstream  int64     // pixels of the largest linked value
}

func newFixture(t *testing.T, c *node.Class) fixture {
	t.Helper()
	f := fixture{class: c, args: node.Args{}, constants: node.Args{}}
	for _, in := range c.Inputs {
		name, value := in.Name, node.Value(in.Default)
		switch in.Type {
		case node.Image:
			value = picture(t, 2, 40, 48, 3)
		case node.Mask:
			m, err := raster.Engine{}.Channel(t.Context(), picture(t, 2, 40, 48, 3), 1)
			require.NoError(t, err)
			value = m
		case "COMFY_AUTOGROW_V3":
			name, value = "images.image0", picture(t, 2, 40, 48, 3)
		case node.Combo:
			if in.Folder != "" {
				value = "rgba.png"
			} else if value == nil {
				value = in.Options[0]
			}
		case node.Int:
			value = int64(in.Default.(int))
		}
		if in.Section == node.Hidden {
			continue
		}
		f.args[name] = value
		if n := pixelsOf(value); n > 0 {
			f.upstream = max(f.upstream, n)
		} else {
			f.constants[name] = value
		}
	}
	return f
}

func pixelsOf(v node.Value) int64 {
	if p, ok := v.(interface{ Pixels() int64 }); ok {
		return p.Pixels()
	}
	return 0
}

func (f fixture) call(t *testing.T) *node.Call {
	t.Helper()
	call := &node.Call{NodeID: "3", Files: newMemory(t, "rgba.png"), Live: &watcher{}, SubmittedAt: time.Unix(1e9, 0)}
	if !f.class.InputIsList {
		call.Args = f.args
		return call
	}
	call.Lists = map[string]node.List{}
	for name, v := range f.args {
		call.Lists[name] = node.List{v}
	}
	return call
}

// contentOf returns the serialised pixels of a value, or the value itself.
func contentOf(t *testing.T, v node.Value) any {
	t.Helper()
	if list, ok := v.(node.List); ok {
		var all []any
		for _, e := range list {
			all = append(all, contentOf(t, e))
		}
		return all
	}
	w, ok := v.(io.WriterTo)
	if !ok {
		return v
	}
	var buf bytes.Buffer
	_, err := w.WriteTo(&buf)
	require.NoError(t, err)
	return buf.String()
}

func contents(t *testing.T, args node.Args) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, v := range args {
		out[name] = contentOf(t, v)
	}
	return out
}

func TestClassesConform(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(image.Classes(nil), mask.Classes()) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c)
			before := contents(t, f.args)
			res, err := c.Run(t.Context(), f.call(t))
			require.NoError(t, err)
			f.requireDeclaredOutputs(t, res)
			f.requireWithinPixels(t, res)
			require.Equal(t, before, contents(t, f.args), "inputs are not changed")
			again, err := c.Run(t.Context(), f.call(t))
			require.NoError(t, err)
			require.Equal(t, contentOf(t, node.List(res.Outputs)), contentOf(t, node.List(again.Outputs)), "deterministic")
			require.Equal(t, res.UI, again.UI)
			f.requireCancellable(t)
			f.requireBounded(t, res)
			if c.Cost != nil {
				require.Greater(t, c.Cost(nil, 1<<20), c.Cost(nil, 1<<10))
			}
		})
	}
}

func (f fixture) requireDeclaredOutputs(t *testing.T, res node.Result) {
	t.Helper()
	require.Len(t, res.Outputs, len(f.class.Outputs))
	for i, out := range f.class.Outputs {
		v := res.Outputs[i]
		if list, ok := v.(node.List); ok {
			require.True(t, out.IsList)
			v = list[0]
		}
		switch out.Type {
		case node.Image:
			require.IsType(t, &raster.Image{}, v)
		case node.Mask:
			require.IsType(t, &raster.Mask{}, v)
		case node.Int:
			require.IsType(t, int64(0), v)
		}
	}
}

// requireWithinPixels requires that results keep the bound that planning uses. If constants give the result's size,
// planning counts one frame; the fixture has two.
func (f fixture) requireWithinPixels(t *testing.T, res node.Result) {
	t.Helper()
	bound := f.upstream
	if f.class.Pixels != nil {
		bound = f.class.Pixels(f.constants, f.upstream)
	}
	for _, v := range res.Outputs {
		if f.upstream > 0 || f.class.Pixels != nil {
			require.LessOrEqual(t, pixelsOf(v), max(2*bound, 64*64))
		}
	}
}

func (f fixture) requireCancellable(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.class.Run(ctx, f.call(t)); err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func (f fixture) requireBounded(t *testing.T, res node.Result) {
	t.Helper()
	call := f.call(t)
	call.MaxPixels = 1
	_, err := f.class.Run(t.Context(), call)
	for _, v := range res.Outputs {
		if pixelsOf(v) > f.upstream {
			require.Equal(t, fault.Exhausted, fault.KindOf(err), "a result larger than every input is bounded")
		}
	}
}
