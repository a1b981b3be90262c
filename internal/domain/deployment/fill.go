package deployment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Bounds of a graph whose nodes call deployments, with the graphs of all versions that it runs. graph.Limits bounds its nodes and bytes.
const (
	maxCalling = 100              // nodes that call
	maxNested  = graph.MaxNesting // calls within calls
)

var _ job.Filler = (*Service)(nil)

// FillGraph implements job.Filler. The version of each deployment that answers now stands in the place of the nodes that call it. Graphs
// are filled from the outside in: a node of a version that calls a deployment has its values before it is replaced itself.
func (s *Service) FillGraph(ctx context.Context, sub job.Submission) (job.Filled, error) {
	if !bytes.Contains(sub.Prompt, []byte(callable.ClassPrefix)) {
		return job.Filled{}, nil
	}
	g, err := graph.Parse(sub.Prompt, s.Limits)
	if err != nil {
		return job.Filled{}, err
	}
	f := &filler{
		Service: s, sub: sub, key: keyOf(sub), versions: map[string]*filling{}, nodes: g.Nodes, callers: map[string]*caller{},
		reads: budget{s.contents, maxRead}, bytes: s.Limits.Bytes(), calls: job.Calls{Mark: markOf(g), Nodes: map[string]string{}},
	}
	var path []ID
	if sub.Deployment != nil && sub.Deployment.Version > 0 { // a call, and not a graph below the path of a deployment
		path = []ID{ID(sub.Deployment.ID)}
	}
	if err := f.fill(ctx, f.calling(g.Nodes, f.calls.Mark, path)); err != nil || len(f.calls.Nodes) == 0 {
		return job.Filled{}, err
	}
	filled := job.Filled{Calls: &f.calls, Targets: sub.Targets, Explain: f.explain}
	if filled.Targets == nil { // a node of a version makes no output of the job
		filled.Targets = f.outputs(g.Nodes)
	}
	filled.Prompt, err = callable.Encode(f.needed())
	return filled, err
}

// keyOf returns the key that chooses between the versions of a deployment.
func keyOf(sub job.Submission) string {
	return cmp.Or(sub.Metadata[Sticky], sub.IdempotencyKey, uuid.NewString())
}

// markOf returns the text between the id of a node that calls and the id of a node of the version. No id of the graph contains it, and no
// end of it is a beginning of it, so that all ids stay different and the first mark in an id ends the id of the node that calls.
func markOf(g *graph.Graph) string {
	mark := ":"
	for slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return strings.Contains(n.ID, mark) }) {
		mark += "."
	}
	return mark
}

// filler is the state of FillGraph.
type filler struct {
	*Service
	sub      job.Submission
	key      string
	versions map[string]*filling // by the name of the deployment; nil = the account has none of the name
	nodes    []*graph.Node
	callers  map[string]*caller // by the id of a node: that whose version it belongs to
	calls    job.Calls          // of the submitted graph
	count    int                // of nodes that call
	reads    budget
	bytes    int // of graphs of versions, that may still be filled
}

// filling is a version that nodes of the graph call.
type filling struct {
	*callee
	deployment Deployment
	number     int
	nodes      int
	mark       string
}

// caller is a node that calls a version.
type caller struct {
	node    *graph.Node
	mark    string // follows its id in the ids of the nodes of the version
	path    []ID   // deployments that call it, the outermost first
	version *filling
}

// calling returns the nodes that have the class of a deployment.
func (f *filler) calling(nodes []*graph.Node, mark string, path []ID) (all []*caller) {
	for _, n := range nodes {
		if strings.HasPrefix(n.Class, callable.ClassPrefix) {
			all = append(all, &caller{node: n, mark: mark, path: path})
		}
	}
	return all
}

// fill replaces nodes that call deployments, and those of the versions that replace them.
func (f *filler) fill(ctx context.Context, open []*caller) error {
	for len(open) > 0 {
		c := open[0]
		open = open[1:]
		name := strings.TrimPrefix(c.node.Class, callable.ClassPrefix)
		v, err := f.version(ctx, name)
		if err != nil {
			return err
		}
		if v == nil { // the class is unknown, as the validation of the graph says
			continue
		}
		if err := f.bound(c, v); err != nil {
			return err
		}
		placed, err := f.place(c)
		if err != nil {
			return err
		}
		open = append(open, f.calling(placed, v.mark, append(slices.Clip(c.path), v.deployment.ID))...)
	}
	return nil
}

// version returns the version of a deployment that answers, nil if the account has no such deployment.
func (f *filler) version(ctx context.Context, name string) (*filling, error) {
	if v, known := f.versions[name]; known {
		return v, nil
	}
	d, err := f.Find(ctx, account.Reads(f.sub.Account), name)
	if fault.CodeOf(err) == fault.CodeDeploymentNotFound {
		f.versions[name] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := d.Refusal(name); err != nil {
		return nil, err
	}
	v := &filling{deployment: d, number: d.Of(f.key)}
	if err := f.reads.spend(ctx, d, v.number); err != nil {
		return nil, err
	}
	if v.callee, err = f.pinned(ctx, d, v.number); err != nil {
		return nil, err
	}
	g, err := graph.Parse(v.Graph, graph.AnySize)
	if err != nil {
		return nil, err
	}
	v.nodes, v.mark, f.versions[name] = len(g.Nodes), markOf(g), v
	return v, nil
}

// maxRead bounds the bytes of versions that are read for one graph. A process remembers most versions, which are not read again.
const maxRead = 2 * maxContent

// budget bounds how much is read.
type budget struct {
	contents
	left int64
}

// spend counts the bytes of a version before they are read.
func (b *budget) spend(ctx context.Context, d Deployment, number int) error {
	v, ok := d.Version(number)
	if !ok || b.kept.Contains(v.Digest) {
		return nil
	}
	size, err := b.blobs.Stat(ctx, v.Digest)
	if b.left -= size; err == nil && b.left < 0 {
		err = tooMuch("bytes of versions", maxRead)
	}
	return err
}

func tooMuch(what string, most int) error {
	return fault.New(fault.Invalid, fault.CodeInvalidWorkflow, "the graph with those of the deployments that it calls has more than %d %s",
		most, what)
}

// bound refuses a node whose version would exceed a bound, before the version is read for it.
func (f *filler) bound(c *caller, v *filling) error {
	f.count++
	f.bytes -= len(v.Graph)
	switch {
	case slices.Contains(c.path, v.deployment.ID):
		return errCircle(v.deployment.Name)
	case len(c.path) >= maxNested:
		return tooMuch("levels of deployments that call deployments", maxNested)
	case f.count > maxCalling:
		return tooMuch("nodes that call deployments", maxCalling)
	case len(f.nodes)+v.nodes > f.Limits.Most():
		return tooMuch("nodes", f.Limits.Most())
	case f.bytes < 0:
		return tooMuch("bytes", f.Limits.Bytes())
	}
	c.version = v
	return nil
}

func errCircle(name string) error {
	return fault.New(fault.Invalid, fault.CodeInvalidDeployment, "the deployment %s would call itself", name)
}

// place replaces a node by the graph of its version, and returns the nodes of that.
func (f *filler) place(c *caller) ([]*graph.Node, error) {
	v, prefix := c.version, c.node.ID+c.mark
	values, links := callable.Given(c.node)
	brought, err := v.template.Check(values, links)
	for _, file := range brought {
		switch file.Form {
		case callable.FormAsset:
			values[file.Input] = reference(asset.PublicID(file.Value))
		case callable.FormData, callable.FormURL:
			err = &callable.Invalid{Problems: []callable.Problem{{
				Input: file.Input, Reason: "a graph names a stored file, or links to a node; it brings no file",
			}}}
		case callable.FormHash, callable.FormName:
		}
	}
	if wrong := (*callable.Invalid)(nil); errors.As(err, &wrong) {
		return nil, f.refuse(c, wrong)
	}
	placed, err := callable.Place(v.Graph, &v.Schema, prefix, values, links, f.Validator.Classes)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidWorkflow, "the graph of %s@%d cannot take the place of a node",
			v.deployment.Name, v.number)
	}
	at := slices.Index(f.nodes, c.node)
	f.nodes = slices.Concat(f.nodes[:at], placed.Nodes, f.nodes[at+1:])
	callable.Redirect(f.nodes, c.node.ID, func(slot int) (any, bool) {
		if slot < 0 || slot >= len(placed.Reads) || placed.Reads[slot] == nil {
			return nil, false
		}
		return placed.Reads[slot], true
	})
	for _, n := range placed.Nodes {
		f.callers[n.ID] = c
	}
	if f.callers[c.node.ID] == nil {
		f.calls.Nodes[c.node.ID] = c.node.Class
	}
	return placed.Nodes, nil
}

// refuse returns values that inputs do not accept as the error of a graph.
func (f *filler) refuse(c *caller, wrong *callable.Invalid) error {
	broken := &graph.NodeError{Node: c.node.ID, Class: c.node.Class, DependentOutputs: []string{}}
	for _, p := range wrong.Problems {
		broken.Errors = append(broken.Errors, graph.InputError{
			Type: "custom_validation_failed", Message: callable.Problem{Reason: p.Reason, Allowed: p.Allowed}.String(), Details: p.Input,
			ExtraInfo: map[string]any{"input_name": p.Input},
		})
	}
	refused := (&graph.Accepted{NodeErrors: graph.NodeErrors{broken}}).Refuse()
	f.explain(refused)
	return refused
}

// outputs returns the output nodes among some.
func (f *filler) outputs(nodes []*graph.Node) []string {
	ids := []string{}
	for _, n := range nodes {
		if class, known := f.Validator.Classes.Lookup(n.Class); known && class.OutputNode {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// needed returns the nodes of the submitted graph, and the nodes of versions that they need.
func (f *filler) needed() []*graph.Node {
	byID := make(map[string]*graph.Node, len(f.nodes))
	var open []*graph.Node
	for _, n := range f.nodes {
		if byID[n.ID] = n; f.callers[n.ID] == nil {
			open = append(open, n)
		}
	}
	used := map[*graph.Node]bool{}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if used[n] {
			continue
		}
		used[n] = true
		for _, id := range callable.Sources(n) {
			if from := byID[id]; from != nil {
				open = append(open, from)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(f.nodes), func(n *graph.Node) bool { return !used[n] })
}

// explain restates an error of the filled graph: instead of a node of a version, it names the node that called, and the input of that.
func (f *filler) explain(e *graph.PromptError) {
	if id, ok := e.ExtraInfo["node_id"].(string); ok {
		if top, inside := f.calls.Of(id); inside {
			e.Message = "Node '" + top.Class + "' cannot run: its version needs a class that no server has."
			e.Details, e.ExtraInfo = "Node ID '#"+top.Node+"'", map[string]any{"node_id": top.Node, "class_type": top.Class, "node_title": top.Class}
		}
	}
	var all graph.NodeErrors
	for _, broken := range e.NodeErrors {
		top, inside := f.calls.Of(broken.Node)
		if !inside {
			top = job.NodeRef{Node: broken.Node, Class: broken.Class}
		}
		at := slices.IndexFunc(all, func(other *graph.NodeError) bool { return other.Node == top.Node })
		if at < 0 {
			at = len(all)
			all = append(all, &graph.NodeError{Node: top.Node, Class: top.Class, DependentOutputs: broken.DependentOutputs})
		}
		for _, one := range broken.Errors {
			all[at].Errors = append(all[at].Errors, f.explained(broken.Node, one, inside))
		}
	}
	e.NodeErrors = all
}

// explained returns an error of a node without nodes of versions.
func (f *filler) explained(id string, one graph.InputError, inside bool) graph.InputError {
	if cycle, ok := one.ExtraInfo["cycle_nodes"].([]string); ok {
		cycle = f.calls.Shown(cycle)
		one.Details, one.ExtraInfo = strings.Join(cycle, " -> "), map[string]any{"cycle_nodes": cycle}
		return one
	}
	input, _ := one.ExtraInfo["input_name"].(string)
	if !inside {
		if link, _ := one.ExtraInfo["linked_node"].([]any); len(link) > 0 {
			from, _ := link[0].(string)
			if top, within := f.calls.Of(from); within {
				one.ExtraInfo["linked_node"] = []any{top.Node}
			}
		}
		return one
	}
	received := one.ExtraInfo["received_value"]
	for c := f.callers[id]; c != nil; c = f.callers[id] {
		input, _ = c.version.Schema.InputOf(strings.TrimPrefix(id, c.node.ID+c.mark), input)
		id = c.node.ID
	}
	one.ExtraInfo = map[string]any{"input_name": input}
	if one.Details = input; input != "" && received != nil {
		one.ExtraInfo["received_value"] = received
	}
	return one
}

// Known returns all classes of graphs of an account: those of the service, and of its deployments.
func (s *Service) Known(ctx context.Context, account string) (*node.Registry, error) {
	own, err := s.Classes(ctx, account)
	if err != nil {
		return nil, err
	}
	return s.Validator.Classes.With(own...)
}

// Classes returns the classes by which graphs of an account call its deployments: those that answer calls. A deployment that cannot be
// read now has no class.
func (s *Service) Classes(ctx context.Context, account string) (all []*node.Class, err error) {
	found, err := s.List(ctx, account)
	for _, d := range found {
		v, ok := d.Version(d.Live)
		if d.State != Ready || !ok {
			continue
		}
		key := classKey{d.Name, v.Digest}
		class, known := s.contents.classes.Get(key)
		if !known {
			version, err := s.contents.callee(ctx, v.Digest)
			if err != nil {
				continue
			}
			if class, err = callable.Class(d.Name, &version.Schema); err != nil {
				continue
			}
			s.contents.classes.Add(key, class)
		}
		all = append(all, class)
	}
	return all, err
}

// classKey identifies the class of a deployment: it depends on the name and on the content of the version that answers.
type classKey struct {
	name   string
	digest blob.Ref
}

// checkCircles refuses a version with which a deployment would call itself, by the versions of others that answer now.
func (s *Service) checkCircles(ctx context.Context, of Deployment, classes map[string]string) error {
	open := called(classes)
	if len(open) == 0 {
		return nil
	}
	others, err := s.List(ctx, of.Account)
	if err != nil {
		return err
	}
	reads, seen := budget{s.contents, maxRead}, map[ID]bool{}
	for ; len(open) > 0; open = open[1:] {
		if open[0] == of.Name || open[0] == string(of.ID) {
			return errCircle(of.Name)
		}
		at := slices.IndexFunc(others, func(d Deployment) bool { return d.Name == open[0] || string(d.ID) == open[0] })
		if at < 0 || seen[others[at].ID] {
			continue
		}
		d := others[at]
		seen[d.ID] = true
		for _, number := range []int{d.Live, d.Share.Version} {
			if number == 0 {
				continue
			}
			if err := reads.spend(ctx, d, number); err != nil {
				return err
			}
			version, err := s.callee(ctx, d, number)
			if err != nil {
				return err
			}
			open = append(open, called(version.Classes)...)
		}
	}
	return nil
}

// called returns the deployments that have nodes of some classes.
func called(classes map[string]string) (names []string) {
	for class := range classes {
		if name, calls := strings.CutPrefix(class, callable.ClassPrefix); calls {
			names = append(names, name)
		}
	}
	return names
}
