package graph_test

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

func nothing(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }

func manyOptions(n int) []string {
	options := make([]string, n)
	for i := range options {
		options[i] = strings.Repeat("x", i+1)
	}
	return options
}

// classes is a small registry: a source of each type, a class with every kind of input, and outputs.
func classes(t testing.TB) *node.Registry {
	t.Helper()
	r, err := node.NewRegistry(
		&node.Class{
			Name: "Image", Module: "nodes", Outputs: []node.Output{{Type: node.Image}, {Type: node.Mask}}, Run: nothing,
			Pixels: func(node.Args, int64) int64 { return 1 << 20 },
			Cost:   func(_ node.Args, p int64) time.Duration { return time.Duration(p) * 100 },
		},
		&node.Class{
			Name: "Text", Module: "nodes", Outputs: []node.Output{{Type: node.String}}, Run: nothing,
			Inputs: []node.Input{{Name: "value", Type: node.String}},
		},
		&node.Class{
			Name: "Wild", Module: "nodes", Outputs: []node.Output{{Type: node.Any}, {Type: "COMFY_MATCHTYPE_V3"}, {Type: "STRING,INT"}},
			Run: nothing,
		},
		&node.Class{
			Name: "Save", Module: "nodes", OutputNode: true, Run: nothing, Outputs: []node.Output{{Type: node.Image}},
			Inputs: []node.Input{{Name: "images", Type: node.Image}, {Name: "prompt", Type: "PROMPT", Section: node.Hidden}},
		},
		&node.Class{
			Name: "Show", Module: "comfy_extras.nodes_show", OutputNode: true, Run: nothing, Outputs: []node.Output{{Type: node.String}},
			Inputs: []node.Input{{Name: "source", Type: node.Any}},
		},
		&node.Class{
			Name: "Through", Module: "nodes", Run: nothing, Outputs: []node.Output{{Type: node.Any}},
			Inputs: []node.Input{{Name: "in", Type: node.Any, Section: node.Optional}},
		},
		&node.Class{Name: "Both", Module: "nodes", Run: nothing, Outputs: []node.Output{{Type: node.Any}}, Inputs: []node.Input{
			{Name: "a", Type: node.Any, Section: node.Optional}, {Name: "b", Type: node.Any, Section: node.Optional},
		}},
		&node.Class{Name: "Set", Module: "nodes", OutputNode: true, Run: nothing, Inputs: []node.Input{
			{Name: "int", Type: node.Int, Section: node.Optional, Default: 5, Min: 1, Max: 10, Step: 3},
			{Name: "float", Type: node.Float, Section: node.Optional, Default: 0.5, Min: -1.0, Max: 1.5},
			{Name: "text", Type: node.String, Section: node.Optional},
			{Name: "flag", Type: node.Boolean, Section: node.Optional},
			{Name: "pick", Type: node.Combo, Section: node.Optional, Options: []string{"a", "b'c"}},
			{Name: "many", Type: node.Combo, Section: node.Optional, Options: manyOptions(21)},
			{Name: "box", Type: node.BoundingBox, Section: node.Optional},
		}},
		&node.Class{Name: "SetV3", Module: "comfy_extras.nodes_set", OutputNode: true, Run: nothing, Inputs: []node.Input{
			{Name: "pick", Type: node.Combo, Options: []string{"a"}},
		}},
		&node.Class{
			Name: "Load", Module: "nodes", Run: nothing, Outputs: []node.Output{{Type: node.Image}},
			Inputs:  []node.Input{{Name: "image", Type: node.Combo, Folder: node.FolderInput}},
			Checked: []string{"image"},
			Check: func(ctx context.Context, files node.Files, constants node.Args) error {
				name, isConstant := constants["image"].(string)
				if _, number := constants["image"].(int64); number {
					return fault.New(fault.Invalid, "", "not a name").Raising("AttributeError", "'int' object has no attribute 'endswith'")
				}
				if !isConstant {
					return nil
				}
				_, err := files.Stat(ctx, name)
				if fault.Is(err, fault.NotFound) {
					return fault.New(fault.Invalid, "", "Invalid image file: %s", name)
				}
				return err
			},
		},
		&node.Class{
			Name: "Offer", Module: "nodes", OutputNode: true, Run: nothing,
			Inputs: []node.Input{{Name: "file", Type: node.Combo, Folder: node.FolderOutput}},
		},
		&node.Class{
			Name: "Switch", Module: "nodes", Run: nothing, Outputs: []node.Output{{Type: node.Any}},
			Inputs: []node.Input{
				{Name: "on", Type: node.Boolean},
				{Name: "no", Type: node.Any, Lazy: true, Section: node.Optional},
				{Name: "yes", Type: node.Any, Lazy: true, Section: node.Optional},
			},
			LazyNeeds: func(args node.Args) []string {
				if args["on"] == true {
					return []string{"yes"}
				}
				return []string{"no"}
			},
		},
	)
	require.NoError(t, err)
	return r
}

// shelf holds the files of an account; if err is set, every lookup returns it.
type shelf struct {
	names []string
	err   error
}

func (s shelf) Open(context.Context, string) (node.Content, error) { return nil, s.err }
func (s shelf) Stat(_ context.Context, name string) (node.Info, error) {
	if s.err == nil && !slices.Contains(s.names, name) {
		return node.Info{}, fault.New(fault.NotFound, "", "no file %s", name)
	}
	return node.Info{Name: name}, s.err
}
func (s shelf) List(context.Context, node.Folder, int) ([]string, error) { return s.names, s.err }
func (s shelf) Save(context.Context, node.Save, func(io.Writer) error) (node.File, error) {
	return node.File{}, s.err
}

func parse(t testing.TB, prompt string) *graph.Graph {
	t.Helper()
	g, err := graph.Parse(json.RawMessage(prompt), graph.Limits{})
	require.NoError(t, err)
	return g
}

func validate(t testing.TB, prompt string, targets ...string) (*graph.Accepted, error) {
	t.Helper()
	v := graph.Validator{Classes: classes(t)}
	return v.Validate(t.Context(), parse(t, prompt), shelf{names: []string{"a.png"}}, targets)
}

// refused validates a prompt without a good output.
func refused(t testing.TB, prompt string, targets ...string) *graph.PromptError {
	t.Helper()
	accepted, err := validate(t, prompt, targets...)
	require.Nil(t, accepted)
	var refusal *graph.PromptError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	return refusal
}

func toJSON(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return string(raw)
}
