package callable_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// noFiles is an account without files.
type noFiles struct{}

func (noFiles) Open(context.Context, string) (node.Content, error) {
	return nil, fault.New(fault.NotFound, "", "no file")
}

func (noFiles) Stat(context.Context, string) (node.Info, error) {
	return node.Info{}, fault.New(fault.NotFound, "", "no file")
}

func (noFiles) List(context.Context, node.Folder, int) ([]string, error) { return nil, nil }

func (noFiles) Save(context.Context, node.Save, func(io.Writer) error) (node.File, error) {
	return node.File{}, fault.New(fault.Denied, "", "no files")
}

func TestADigestChangesWithWhatAClassDoes(t *testing.T) {
	t.Parallel()
	digests := func(definitions string) map[string]string {
		all, err := callable.Digests(json.RawMessage(plain), registry(t, definitions))
		require.NoError(t, err)
		return all
	}
	before := digests(definitions)
	require.Len(t, before, 4)
	for change, same := range map[[2]string]bool{
		{`"What to draw."`, `"Something else."`}:                                                            true,
		{`["a.safetensors"]`, `["a.safetensors", "b.ckpt"]`}:                                                true,
		{`["example.png", "none"]`, `["other.png", "none"]`}:                                                true,
		{`"max": 30.0`, `"max": 40.0`}:                                                                      false,
		{`["euler", "heun"]`, `["euler"]`}:                                                                  false,
		{`"key": "other"`, `"key": "another"`}:                                                              false,
		{`"output": ["IMAGE"], "display_name": "Sample"`, `"output": ["LATENT"], "display_name": "Sample"`}: false,
	} {
		require.Contains(t, definitions, change[0])
		after := digests(strings.Replace(definitions, change[0], change[1], 1))
		require.Equal(t, same, maps.Equal(before, after), "%q", change)
	}
	all, err := callable.Digests(json.RawMessage(`{"1":{"class_type":"Gone","inputs":{}}}`), registry(t, definitions))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Gone": ""}, all)
}

func TestADiffTellsWhatChanged(t *testing.T) {
	t.Parallel()
	older := derive(t, plain, callable.Named{Inputs: []string{"2.text", "3.steps", "3.seed"}, Outputs: []string{"result=4"}})
	changed := strings.NewReplacer(`"steps": 20`, `"steps": 30`, `["3", 0], "filename_prefix": "mill"`, `["1", 0]`,
		`"5": {"class_type": "Text"`,
		`"6": {"class_type": "Show"`, `"sampler_name": "euler"`, `"sampler_name": "euler", "image": ["1", 0]`).Replace(plain)
	changed = strings.Replace(changed, `"text": "nobody reads this", "clip": ["1", 0]`, `"source": ["3", 0]`, 1)
	newer := derive(t, changed, callable.Named{Inputs: []string{"2.text", "3.steps", "1.image"}, Outputs: []string{"result=4", "shown=6"}})
	revision := func(d *callable.Derived) callable.Revision {
		return callable.Revision{Graph: d.Graph, Schema: d.Schema}
	}
	changes, err := callable.Diff(revision(older), revision(newer))
	require.NoError(t, err)
	require.Equal(t, []string{
		"Input steps has the default 30; it was 20.",
		"Input image is new and required.",
		"Input seed is gone.",
		"Output shown is new.",
		"Sample (3): steps is 30; it was 20.",
		"Sample (3): image is output 0 of Load (1); it had no value.",
		"Save (4): images is output 0 of Load (1); it was output 0 of Sample (3).",
		`Save (4): filename_prefix has no value; it was "mill".`,
		"Node Show (6) is new.",
		"Node Text (5) is gone.",
	}, changes)
	same, err := callable.Diff(revision(older), revision(older))
	require.NoError(t, err)
	require.Empty(t, same)
}

func TestTheOpenAPIDocumentHasTheSchemaOfTheInputs(t *testing.T) {
	t.Parallel()
	d := derive(t, plain, every)
	raw := d.Schema.OpenAPI(callable.Service{Deployment: "portrait", Version: 2, BaseURL: "https://host/deployment/portrait/api/v2"})
	var document struct {
		OpenAPI    string `json:"openapi"`
		Info       struct{ Title, Version string }
		Servers    []struct{ URL string }
		Paths      map[string]json.RawMessage
		Components struct {
			Schemas map[string]json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(raw, &document))
	require.Equal(t, "3.1.0", document.OpenAPI)
	require.Equal(t, "portrait 2", document.Info.Title+" "+document.Info.Version)
	require.Equal(t, "https://host/deployment/portrait/api/v2", document.Servers[0].URL)
	var own, published map[string]any
	require.NoError(t, json.Unmarshal(d.Schema.JSONSchema(), &own))
	require.NoError(t, json.Unmarshal(document.Components.Schemas["Inputs"], &published))
	delete(own, "$schema")
	require.Equal(t, own, published)
	require.NotContains(t, string(raw), "filename_prefix")
	require.NotContains(t, string(raw), "2.text")
}

func BenchmarkCheckAndFill(b *testing.B) {
	template := prepare(b, derive(b, plain, every))
	given := values(b, `{"picture":"x.png","prompt":"a cat","steps":12,"cfg":7.5,"sampler":"heun"}`)
	for b.Loop() {
		if _, err := template.Check(given, nil); err != nil {
			b.Fatal(err)
		}
		template.Fill(given, nil)
	}
}
