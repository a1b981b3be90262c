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
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maxInlined bounds the nodes of a graph, and of the graphs that they call, that call deployments.
const maxInlined = 100

// Inline returns the graph of a submission in which each node of a class such as Deployment.portrait is replaced by the graph of the
// version that answers it now. The job has the graph that Inline returns, so that later promotions do not change it. A node of a
// deployment that the account does not have stays as it is.
func (s *Service) Inline(ctx context.Context, sub job.Submission) ([]byte, error) {
	if !bytes.Contains(sub.Prompt, []byte(callable.ClassPrefix)) {
		return sub.Prompt, nil
	}
	in := inliner{Service: s, account: account.Reads(sub.Account), key: keyOf(sub), left: maxInlined}
	var path []string
	if sub.Deployment != nil {
		path = []string{sub.Deployment.Name}
	}
	nodes, err := in.inline(ctx, sub.Prompt, path)
	if err != nil {
		return nil, err
	}
	if in.left == maxInlined { // the prefix is part of a text
		return sub.Prompt, nil
	}
	return callable.Encode(nodes)
}

// keyOf returns the key that chooses between the versions of a deployment.
func keyOf(sub job.Submission) string {
	return cmp.Or(sub.Metadata[Sticky], sub.IdempotencyKey, uuid.NewString())
}

// inliner is the state of Inline.
type inliner struct {
	*Service
	account, key string
	left         int
}

// inline returns the nodes of a graph that the deployments of the path call.
func (in *inliner) inline(ctx context.Context, prompt []byte, path []string) ([]*graph.Node, error) {
	g, err := graph.Parse(prompt, in.Limits)
	if err != nil {
		return nil, err
	}
	nodes := g.Nodes
	for _, n := range g.Nodes {
		name, calls := strings.CutPrefix(n.Class, callable.ClassPrefix)
		if !calls {
			continue
		}
		if in.left--; in.left < 0 {
			return nil, fault.New(fault.Invalid, fault.CodeInvalidWorkflow, "more than %d nodes call deployments", maxInlined)
		}
		if slices.Contains(path, name) {
			return nil, errCircle(append(slices.Clip(path), name))
		}
		v, err := in.version(ctx, name)
		if fault.CodeOf(err) == fault.CodeDeploymentNotFound {
			continue
		}
		if err == nil {
			v.Nodes, err = in.inline(ctx, v.graph, append(slices.Clip(path), name))
		}
		if err == nil {
			nodes, err = v.Inline(nodes, n, in.Validator.Classes)
		}
		if err == nil && len(nodes) > in.Limits.Most() {
			err = fault.New(fault.Invalid, fault.CodeInvalidWorkflow, "the graph with those of its deployments has more than %d nodes",
				in.Limits.Most())
		}
		if err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// called is a version that a node calls, with its graph.
type called struct {
	callable.Version
	graph []byte
}

// version returns the version of a deployment that answers.
func (in *inliner) version(ctx context.Context, name string) (called, error) {
	d, err := in.Find(ctx, in.account, name)
	if err != nil {
		return called{}, err
	}
	number := d.Of(in.key)
	version, err := in.pinned(ctx, d, number)
	if err := errors.Join(d.Refusal(name), err); err != nil {
		return called{}, err
	}
	return called{callable.Version{Deployment: d.Name, Number: number, Schema: &version.Schema}, version.Graph}, nil
}

// Classes returns the classes by which graphs of an account call its deployments: those that answer calls. A deployment that cannot be
// read has no class.
func (s *Service) Classes(ctx context.Context, account string) (all []*node.Class, err error) {
	found, err := s.List(ctx, account)
	for _, d := range found {
		if d.State != Ready {
			continue
		}
		class, err := s.class(ctx, d)
		if err != nil {
			continue
		}
		if _, taken := s.Validator.Classes.Lookup(class.Name); !taken {
			all = append(all, class)
		}
	}
	return all, err
}

func (s *Service) class(ctx context.Context, d Deployment) (*node.Class, error) {
	version, err := s.callee(ctx, d, d.Live)
	if err != nil {
		return nil, err
	}
	g, err := graph.Parse(version.Graph, s.Limits)
	if err != nil {
		return nil, err
	}
	v := callable.Version{Deployment: d.Name, Number: d.Live, Nodes: g.Nodes, Schema: &version.Schema}
	return v.Class(s.Validator.Classes)
}

// Known returns all classes of graphs of an account: those of the service, and of its deployments.
func (s *Service) Known(ctx context.Context, account string) (*node.Registry, error) {
	own, err := s.Classes(ctx, account)
	if err != nil {
		return nil, err
	}
	return s.Validator.Classes.With(own...)
}

// checkCircles refuses a graph of a deployment that calls it, directly or by the versions of others that answer.
func (s *Service) checkCircles(ctx context.Context, account string, graphOf []byte, path []string, seen map[string]bool) error {
	classes, err := callable.Digests(graphOf, s.Validator.Classes)
	for class := range classes {
		name, calls := strings.CutPrefix(class, callable.ClassPrefix)
		next := append(slices.Clip(path), name)
		if calls && name == path[0] {
			return errCircle(next)
		}
		if !calls || seen[name] {
			continue
		}
		seen[name] = true
		d, err := s.Find(ctx, account, name)
		if fault.CodeOf(err) == fault.CodeDeploymentNotFound {
			continue
		}
		for _, number := range []int{d.Live, d.Share.Version} {
			if err == nil && number > 0 {
				var version *callee
				if version, err = s.callee(ctx, d, number); err == nil {
					err = s.checkCircles(ctx, account, version.Graph, next, seen)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return err
}

func errCircle(path []string) error {
	return fault.New(fault.Invalid, fault.CodeInvalidDeployment, "a deployment cannot call itself: %s", strings.Join(path, " calls "))
}
