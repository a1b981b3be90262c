package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/comfyui/catalogue"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type diffParams struct {
	named
	With string `name:"with" arg:"REF" required:"true" help:"id or address of the other server"`
}

// difference is one difference between two servers.
type difference struct {
	What string `json:"what"` // "ComfyUI", "classes of custom_nodes.pack", "class KSampler, input steps: max", …
	A    string `json:"a"`    // "" = not there
	B    string `json:"b"`
}

var compare = action.Of[*Service, diffParams, []difference]{
	Spec: action.Spec{
		ID: "adminDiffServers", Route: "GET /servers/{id}/diff", Schema: "AdminServerDifference", Member: "differences", List: true,
		Summary:  "Compare a server with another: versions, and what their node classes take and give.",
		Detail:   `Both are compared as they were when they last answered. Texts and the files that a server has are not compared.`,
		Refusal:  map[int]string{409: "The classes of a server are not known, because it has never answered."},
		Commands: []action.Command{{Use: "diff REF REF", Short: "Show in what two servers differ"}},
	},
	Do: func(ctx context.Context, o *Service, p diffParams, _ operate.Attribution) ([]difference, error) {
		a, docA, err := o.offers(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		b, docB, err := o.offers(ctx, p.With)
		if err != nil {
			return nil, err
		}
		found := []difference{}
		for _, d := range []difference{
			{"ComfyUI", a.Version, b.Version}, {"Python", a.Python, b.Python}, {"torch", a.PyTorch, b.PyTorch}, {"system", a.OS, b.OS},
		} {
			if d.A != d.B {
				found = append(found, d)
			}
		}
		classes, err := diffClasses(docA.Classes, docB.Classes)
		return append(found, classes...), err
	},
	Show: func(out *terminal.Printer, _ diffParams, all []difference) {
		if len(all) == 0 {
			out.Printf("no difference\n")
			return
		}
		out.Columns([]string{"WHAT", "FIRST", "SECOND"}, func(row func(...any)) {
			for _, d := range all {
				row(d.What, terminal.OrDash(d.A), terminal.OrDash(d.B))
			}
		})
	},
}.Untyped()

// offers returns a server with its last known class definitions.
func (o *Service) offers(ctx context.Context, ref string) (View, *remote.Document, error) {
	s, err := o.find(ctx, ref)
	if err != nil {
		return s, nil, err
	}
	if s.Digest == "" {
		return s, nil, fault.New(fault.Conflict, fault.CodeServerUnseen, "the classes of %s are not known, because it has never answered", s.URL)
	}
	body, err := o.Store.Classes(ctx, s.Digest)
	if err != nil {
		return s, nil, err
	}
	doc, err := placement.DecodeClasses(s.Digest, body)
	return s, doc, err
}

// diffClasses compares definitions. Classes that one side lacks are named by their module, which is a node pack or a part of ComfyUI.
func diffClasses(a, b map[string]*remote.Definition) ([]difference, error) {
	both := maps.Clone(a)
	maps.Copy(both, b)
	onlyA, onlyB := map[string][]string{}, map[string][]string{}
	var changed []difference
	for _, name := range slices.Sorted(maps.Keys(both)) {
		switch inA, inB := a[name], b[name]; {
		case inB == nil:
			onlyA[inA.Module()] = append(onlyA[inA.Module()], name)
		case inA == nil:
			onlyB[inB.Module()] = append(onlyB[inB.Module()], name)
		default:
			all, err := diffDefinitions(name, inA.Raw(), inB.Raw())
			if err != nil {
				return nil, err
			}
			changed = append(changed, all...)
		}
	}
	var found []difference
	modules := maps.Clone(onlyA)
	maps.Copy(modules, onlyB)
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		found = append(found, difference{"classes of " + module + " that the other lacks", names(onlyA[module]), names(onlyB[module])})
	}
	return append(found, changed...), nil
}

func diffDefinitions(name string, a, b json.RawMessage) (found []difference, err error) {
	all, err := catalogue.Diff(a, b)
	if err != nil {
		return nil, fmt.Errorf("class %s: %w", name, err)
	}
	for _, d := range all {
		found = append(found, difference{"class " + name + ", " + d.What, d.Native, d.Server})
	}
	return found, nil
}

// maxNames bounds the classes that a difference names.
const maxNames = 5

func names(all []string) string {
	if len(all) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNames], ", "), len(all)-maxNames)
	}
	return strings.Join(all, ", ")
}
