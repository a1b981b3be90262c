package deployment_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// offered are the classes of an installation by their names.
type offered map[string]*node.Class

func (o offered) Lookup(name string) (*node.Class, bool) {
	c, ok := o[name]
	return c, ok
}

// A version keeps the drawing that it was made of, so that it can be edited; a graph is none, whatever its nodes are called.
func TestAVersionKeepsItsDrawing(t *testing.T) {
	t.Parallel()
	f := newFilling(t, graph.Limits{})
	const drawing = `{"nodes":[
		{"id":1,"type":"EmptyImage","outputs":[{"name":"IMAGE","type":"IMAGE","links":[1]}],"widgets_values":[16,8,1,0]},
		{"id":9,"type":"SaveImage","inputs":[{"name":"images","type":"IMAGE","link":1}],"widgets_values":["p"]}],
		"links":[[1,1,0,9,0,"IMAGE"]]}`
	for document, kept := range map[string]bool{
		drawing: true, plainPicture: false, strings.ReplaceAll(plainPicture, `"1"`, `"nodes"`): false,
	} {
		made, err := f.Derive(t.Context(), "acme", deployment.Source{
			Document: []byte(document), Named: callable.Named{Inputs: []string{"name=9.filename_prefix"}, Outputs: []string{"picture=9"}},
		})
		require.NoError(t, err)
		if !kept {
			require.Empty(t, made.Content.Drawing)
			continue
		}
		require.Equal(t, document, string(made.Content.Drawing))
	}
}

func TestChangedDefinitionsAreNamed(t *testing.T) {
	t.Parallel()
	class := func(name string, inputs ...string) *node.Class {
		c := &node.Class{Name: name}
		for _, in := range inputs {
			c.Inputs = append(c.Inputs, node.Input{Name: in, Type: node.Int})
		}
		return c
	}
	prompt := json.RawMessage(`{"1":{"class_type":"A","inputs":{}},"2":{"class_type":"B","inputs":{}},"3":{"class_type":"C","inputs":{}}}`)
	before := offered{"A": class("A", "x"), "B": class("B", "x")}
	digests, err := callable.Digests(prompt, before)
	require.NoError(t, err)
	content := deployment.Content{Graph: prompt, Classes: digests}
	for name, test := range map[string]struct {
		now  offered
		want []string
	}{
		"nothing changed":              {before, nil},
		"an input more":                {offered{"A": class("A", "x", "y"), "B": class("B", "x")}, []string{"A"}},
		"two of them":                  {offered{"A": class("A"), "B": class("B")}, []string{"A", "B"}},
		"a class is gone":              {offered{"A": class("A", "x")}, nil},
		"a class that was not known":   {offered{"A": class("A", "x"), "B": class("B", "x"), "C": class("C")}, nil},
		"the installation has nothing": {offered{}, nil},
	} {
		got, err := content.Changed(test.now)
		require.NoError(t, err, name)
		require.Equal(t, test.want, got, name)
	}
}
