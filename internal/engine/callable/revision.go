package callable

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// Digests returns a digest of the definition of every class of a graph, "blake3:<hex>", or "" for a class that is not known.
// It depends on what a class takes, makes and is, not on its texts for people, nor on the files and weights that a
// server offers: a changed digest means that the node may do something else.
func Digests(prompt json.RawMessage, classes Classes) (map[string]string, error) {
	g, err := graph.Parse(prompt, graph.AnySize)
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	for _, n := range g.Nodes {
		if _, done := digests[n.Class]; done {
			continue
		}
		digests[n.Class] = ""
		if class, ok := classes.Lookup(n.Class); ok {
			digests[n.Class] = digestOf(class)
		}
	}
	return digests, nil
}

func digestOf(c *node.Class) string {
	type input struct {
		Name, Type    string
		Section       node.Section
		Default       any
		Min, Max      any
		Options       []string
		Folder        node.Folder
		Lazy, Forced  bool
		MatchTemplate string
		Choices       any
	}
	type output struct {
		Name, Type, MatchTemplate string
		IsList                    bool
	}
	def := struct {
		Name                string
		Inputs              []input
		Outputs             []output
		OutputNode, InLists bool
		Remote              bool
		Version             int
	}{Name: c.Name, OutputNode: c.OutputNode, InLists: c.InputIsList, Remote: c.Remote, Version: c.Version}
	for _, in := range c.Inputs {
		if in.Section == node.Undeclared {
			continue
		}
		one := input{
			Name: in.Name, Type: string(in.Type), Section: in.Section, Default: in.Default, Min: in.Min, Max: in.Max, Folder: in.Folder,
			Lazy: in.Lazy, Forced: in.ForceInput, MatchTemplate: in.MatchTemplate,
		}
		if slices.ContainsFunc(in.Options, isFile) {
			one.Default = nil // the first file
		} else {
			one.Options = in.Options
		}
		if in.Type == node.DynamicComboType || in.Type == node.AutogrowType {
			if one.Choices = in.Extra; len(in.Declared) > 1 {
				one.Choices = in.Declared[1]
			}
		}
		def.Inputs = append(def.Inputs, one)
	}
	for _, out := range c.Outputs {
		def.Outputs = append(def.Outputs, output{out.Name, string(out.Type), out.MatchTemplate, out.IsList})
	}
	sum := blake3.Sum256(marshal(def))
	return "blake3:" + hex.EncodeToString(sum[:])
}

// isFile reports whether a choice names a file, such as weights that a server has.
func isFile(choice string) bool {
	end := path.Ext(choice)
	return len(end) > 2 && !strings.ContainsAny(end, " 0123456789()")
}

// Revision is the graph of a version with its schema.
type Revision struct {
	Graph  json.RawMessage
	Schema *Schema
}

// maxChanges bounds the sentences of a Diff.
const maxChanges = 200

// Diff describes in sentences, for the owner of both, how a revision differs from an older one.
func Diff(older, newer Revision) ([]string, error) {
	a, err := graph.Parse(older.Graph, graph.AnySize)
	if err != nil {
		return nil, err
	}
	b, err := graph.Parse(newer.Graph, graph.AnySize)
	if err != nil {
		return nil, err
	}
	changes := append(diffInputs(older.Schema, newer.Schema), diffOutputs(older.Schema, newer.Schema)...)
	for _, n := range b.Nodes {
		if was, ok := a.Node(n.ID); ok {
			changes = append(changes, diffNode(a, b, was, n)...)
		} else {
			changes = append(changes, fmt.Sprintf("Node %s is new.", called(n)))
		}
	}
	for _, n := range a.Nodes {
		if _, ok := b.Node(n.ID); !ok {
			changes = append(changes, fmt.Sprintf("Node %s is gone.", called(n)))
		}
	}
	if more := len(changes) - maxChanges; more > 0 {
		changes = append(changes[:maxChanges], fmt.Sprintf("There are %d more changes.", more))
	}
	return changes, nil
}

// called returns how a sentence calls a node: its title or class, and its id.
func called(n *graph.Node) string {
	if n.Title == "" || n.Title == n.Class {
		return fmt.Sprintf("%s (%s)", n.Class, n.ID)
	}
	return fmt.Sprintf("%s (%s, %s)", clipped(n.Title), n.Class, n.ID)
}

func diffNode(a, b *graph.Graph, was, is *graph.Node) (changes []string) {
	if was.Class != is.Class {
		return []string{fmt.Sprintf("Node %s was %s.", called(is), was.Class)}
	}
	if was.Title != is.Title {
		changes = append(changes, fmt.Sprintf("Node %s was called %q.", called(is), clipped(was.Title)))
	}
	for _, in := range is.Inputs {
		old, given := was.Input(in.Name)
		switch before, now := shownValue(a, old), shownValue(b, in.Value); {
		case !given:
			changes = append(changes, fmt.Sprintf("%s: %s is %s; it had no value.", called(is), in.Name, now))
		case before != now || string(marshal(old)) != string(marshal(in.Value)):
			changes = append(changes, fmt.Sprintf("%s: %s is %s; it was %s.", called(is), in.Name, now, before))
		}
	}
	for _, in := range was.Inputs {
		if _, given := is.Input(in.Name); !given {
			changes = append(changes, fmt.Sprintf("%s: %s has no value; it was %s.", called(is), in.Name, shownValue(a, in.Value)))
		}
	}
	return changes
}

// shownValue returns a value of a graph as a sentence shows it.
func shownValue(g *graph.Graph, value any) string {
	if id, ok := linkOf(value); ok {
		if n, ok := g.Node(id); ok {
			return fmt.Sprintf("output %v of %s", value.([]any)[1], called(n))
		}
	}
	return clipped(string(marshal(value)))
}

func diffInputs(older, newer *Schema) (changes []string) {
	for _, in := range newer.Inputs {
		was, ok := older.Input(in.Name)
		switch {
		case !ok && in.Required():
			changes = append(changes, fmt.Sprintf("Input %s is new and required.", in.Name))
		case !ok:
			changes = append(changes, fmt.Sprintf("Input %s is new.", in.Name))
		case was.Kind != in.Kind || was.allowed() != in.allowed() || !slices.Equal(was.Choices, in.Choices):
			changes = append(changes, fmt.Sprintf("Input %s accepts %s; it accepted %s.", in.Name, in.allowed(), was.allowed()))
		case !was.Required() && in.Required():
			changes = append(changes, fmt.Sprintf("Input %s is now required.", in.Name))
		case string(was.Default) != string(in.Default):
			changes = append(changes, fmt.Sprintf("Input %s has the default %s; it was %s.", in.Name, shownDefault(in), shownDefault(was)))
		}
	}
	for _, in := range older.Inputs {
		if _, ok := newer.Input(in.Name); !ok {
			changes = append(changes, fmt.Sprintf("Input %s is gone.", in.Name))
		}
	}
	return changes
}

func shownDefault(in Input) string {
	if in.Required() {
		return "none"
	}
	return clipped(string(in.Default))
}

func diffOutputs(older, newer *Schema) (changes []string) {
	for _, out := range newer.Outputs {
		if _, ok := older.NodeOf(out.Name); !ok {
			changes = append(changes, fmt.Sprintf("Output %s is new.", out.Name))
		}
	}
	for _, out := range older.Outputs {
		if _, ok := newer.NodeOf(out.Name); !ok {
			changes = append(changes, fmt.Sprintf("Output %s is gone.", out.Name))
		}
	}
	return changes
}
