package placement

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
)

// Want is what a server lacks to run a waiting segment: weights alone.
type Want struct {
	Wait    server.Wait
	Server  *server.Server
	Missing []remote.Weight
}

// bringAfter is how long a segment waits for the servers that have its weights before another one gets them. Loading a model that was not
// measured is assumed to take as long.
const bringAfter = 10 * time.Second

// Wanted returns the weights that waiting segments need on servers that are reachable: for each segment those of one server, unless one is
// being brought.
func (p *Pool) Wanted(waits []server.Waiting, reachable func(*server.Server) bool) []Want {
	all := p.Servers()
	strict, loose := p.pools(all, slices.DeleteFunc(slices.Clone(all), func(s *server.Server) bool { return !reachable(s) }))
	var wants []Want
	for i := range waits {
		w := &waits[i].Wait
		others := strict.CanRun(w)
		if others && (time.Since(w.Since) < bringAfter || slices.ContainsFunc(strict.Able(w), idle)) {
			continue
		}
		var found []Want
		for _, s := range loose.Able(w) {
			if missing, _ := p.lacking(s, w.Needs); len(missing) > 0 && (!others || idle(s)) {
				found = append(found, Want{*w, s, missing})
			}
		}
		if len(found) == 0 || slices.ContainsFunc(found, func(w Want) bool { return len(copiesOf(w, server.Copying)) > 0 }) {
			continue
		}
		wants = append(wants, slices.MinFunc(found, func(a, b Want) int {
			freeA, _ := a.Server.Memory()
			freeB, _ := b.Server.Memory()
			return cmp.Or(cmp.Compare(len(copiesOf(a, server.Failed)), len(copiesOf(b, server.Failed))),
				cmp.Compare(len(a.Server.Leases), len(b.Server.Leases)), cmp.Compare(freeB, freeA), cmp.Compare(a.Server.ID, b.Server.ID))
		}))
	}
	return wants
}

func idle(s *server.Server) bool { return len(s.Leases) < s.Slots && s.Foreign == 0 }

// pools returns the rules of placement over all servers, and over those that may get weights, as if these had all weights.
func (p *Pool) pools(all, reached []*server.Server) (strict, loose server.Pool) {
	strict = server.Pool{Servers: all, Missing: p.missing, Now: time.Now()}
	loose = server.Pool{Servers: reached, Now: strict.Now, Missing: func(s *server.Server, needs []server.Need) string {
		if _, ok := p.lacking(s, needs); ok {
			return ""
		}
		return p.missing(s, needs)
	}}
	return strict, loose
}

// lacking returns the weights that a server lacks for a segment. ok is false if it lacks anything else.
func (p *Pool) lacking(s *server.Server, needs []server.Need) (missing []remote.Weight, ok bool) {
	doc := p.document(s.Digest)
	if doc == nil {
		return nil, false
	}
	for _, n := range needs {
		constants := make(node.Args, len(n.Choices))
		for name, choice := range n.Choices {
			constants[name] = choice
		}
		lacks, ok := doc.MissingWeights(n.Class, constants)
		if !ok || !doc.Classes[n.Class].Fits(n.Inputs, n.Outputs) {
			return nil, false
		}
		missing = append(missing, lacks...)
	}
	return missing, true
}

// copiesOf returns the copies in a state of the weights that a server lacks.
func copiesOf(w Want, state server.CopyState) []server.Copy {
	return slices.DeleteFunc(slices.Clone(w.Server.Copies), func(c server.Copy) bool {
		return c.State != state || !slices.ContainsFunc(w.Missing, func(m remote.Weight) bool { return m.Name == c.Name })
	})
}

// bringing returns how far the weights of a segment are that no server can run, or "".
func (p *Pool) bringing(w *server.Wait) string {
	all := p.Servers()
	reached := slices.DeleteFunc(slices.Clone(all), func(s *server.Server) bool { return len(s.Copies) == 0 })
	strict, loose := p.pools(all, reached)
	if len(reached) == 0 && w.Fetching == "" || strict.CanRun(w) {
		return ""
	}
	failed := ""
	for _, s := range loose.Able(w) {
		missing, _ := p.lacking(s, w.Needs)
		want := Want{*w, s, missing}
		if under := copiesOf(want, server.Copying); len(under) > 0 {
			return under[0].Status("server " + s.URL)
		}
		if broken := copiesOf(want, server.Failed); len(broken) > 0 {
			failed = broken[0].Status("server " + s.URL)
		}
	}
	return cmp.Or(failed, w.Fetching)
}

// Reread has the classes of a server read again, because its files have changed.
func (p *Pool) Reread(id server.ID) {
	select {
	case p.reread <- id:
	default: // the next probe finds the change
	}
}

// Lists reports whether a server lacks none of these weights for a segment, by its classes.
func (p *Pool) Lists(id server.ID, w *server.Wait) bool {
	_, s, err := p.Server(id)
	return err == nil && p.missing(s, w.Needs) == ""
}

// checkWeights refuses a graph with a weight that can be brought to no server.
func (p *Pool) checkWeights(accepted *graph.Accepted, plan *graph.Plan, classes *node.Registry, labels []string) error {
	for _, n := range plan.Nodes {
		c, ok := classes.Lookup(n.Class)
		if !ok || !c.Remote {
			continue
		}
		for _, in := range c.Inputs {
			choice, _ := n.Constants[in.Name].(string)
			if !in.MayBeWeight(choice) || slices.Contains(in.Options, choice) || p.reaches(n.Class, labels) {
				continue
			}
			return graph.Refuse(accepted, n.ID, n.Class, graph.InputError{
				Type: "value_not_in_list", Message: "Value not in list",
				Details: in.Name + ": '" + choice + "' is a weight, but Millrace reaches the models folder of no server that has the class, and none " +
					"has the node pack that fetches weights",
				ExtraInfo: map[string]any{"input_name": in.Name, "received_value": choice},
			})
		}
	}
	return nil
}

// reaches reports whether weights can be brought to a server with a class and labels.
func (p *Pool) reaches(class string, labels []string) bool {
	return slices.ContainsFunc(p.Servers(), func(s *server.Server) bool {
		doc := p.document(s.Digest)
		return (s.ModelsFolder != "" || p.Home(s) != "") && s.Has(labels) && doc != nil && doc.Classes[class] != nil
	})
}

// packClass is a class of this repository's node pack, by which a server is known to have it.
const packClass = "LosslessSaveImage"

// Home returns the address from which the node pack of a server fetches weights, or "" if it fetches none.
func (p *Pool) Home(s *server.Server) string {
	doc := p.document(s.Digest)
	if s.ModelsFolder != "" || p.opts.Home == nil || doc == nil || doc.Classes[packClass] == nil {
		return ""
	}
	return p.opts.Home(s.URL)
}
