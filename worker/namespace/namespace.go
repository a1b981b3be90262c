// Package namespace prepares a Temporal namespace for the service: it registers the search attributes of workflows,
// and raises the retention of histories to that of jobs. It promises to remove nothing, and that the service also
// works without the right to change the namespace. Operators create the namespace.
package namespace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/workflows"
)

// Namespace is a namespace and the settings that the service needs.
type Namespace struct {
	Client    client.Client
	Name      string
	Retention time.Duration // retention of jobs, and minimum retention of histories
}

// Prepare makes the missing settings and returns its changes, one line each. Its error has a line with the remedy for
// each change that it may not make; it makes all others.
func (n Namespace) Prepare(ctx context.Context) (changed []string, err error) {
	registered, attributes := n.register(ctx)
	raised, retention := n.raise(ctx)
	return append(registered, raised...), errors.Join(attributes, retention)
}

// prepareTimeout bounds PrepareLogged. The next start of a worker tries again.
const prepareTimeout = 15 * time.Second

// PrepareLogged is Prepare for a deployment without a separate step for it. It logs the changes and the changes that
// it may not make.
func (n Namespace) PrepareLogged(ctx context.Context, log *slog.Logger) {
	limited, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	changed, err := n.Prepare(limited)
	for _, line := range changed {
		log.Info("namespace changed", "namespace", n.Name, "change", line)
	}
	if err != nil && ctx.Err() == nil {
		log.Warn("namespace not prepared", "namespace", n.Name, "error", err)
	}
}

// register registers the missing search attributes.
func (n Namespace) register(ctx context.Context) ([]string, error) {
	missing, err := n.missing(ctx)
	if err != nil {
		missing = workflows.Attributes() // the credential may allow adding attributes but not listing them
	}
	if len(missing) == 0 {
		return nil, nil
	}
	add := map[string]enums.IndexedValueType{}
	for _, name := range missing {
		add[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = n.Client.OperatorService().AddSearchAttributes(ctx,
		&operatorservice.AddSearchAttributesRequest{Namespace: n.Name, SearchAttributes: add})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return nil, fmt.Errorf("search attributes of namespace %s are not registered, so workflows have none: %w; somebody with the right "+
			"must run: %s",
			n.Name, err, n.command(missing))
	}
	return []string{"search attributes registered: " + strings.Join(missing, ", ")}, nil
}

// command returns the command that registers the attributes, for somebody with the right to run it.
func (n Namespace) command(names []string) string {
	line := "temporal operator search-attribute create -n " + n.Name
	for _, name := range names {
		line += " --name " + name + " --type Keyword"
	}
	return line
}

// missing returns the search attributes that the namespace lacks.
func (n Namespace) missing(ctx context.Context) ([]string, error) {
	list, err := n.Client.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: n.Name})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(workflows.Attributes(), func(name string) bool {
		return list.GetCustomAttributes()[name] == enums.INDEXED_VALUE_TYPE_KEYWORD
	}), nil
}

// raise raises the retention of histories to that of jobs. It keeps a longer retention, because others may use the
// namespace too.
func (n Namespace) raise(ctx context.Context) ([]string, error) {
	found, err := n.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: n.Name})
	if err != nil {
		return nil, fmt.Errorf("retention of namespace %s: %w", n.Name, err)
	}
	if found.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() >= n.Retention {
		return nil, nil
	}
	_, err = n.Client.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: n.Name, Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(n.Retention)},
	})
	if err != nil {
		return nil, fmt.Errorf("histories in namespace %s are kept for %s, jobs for %s: %w; somebody with the right must run: temporal "+
			"operator namespace update -n %s --retention %s",
			n.Name, found.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), n.Retention, err, n.Name, n.Retention)
	}
	return []string{"histories are kept for " + n.Retention.String() + ", as jobs are"}, nil
}

// Attributes records whether workflows may be started with search attributes. The zero value means no.
type Attributes struct{ usable atomic.Bool }

// Usable reports whether the namespace has the attributes.
func (a *Attributes) Usable() bool { return a.usable.Load() }

// Refused records that the namespace no longer has the attributes, so that workflows are started without them.
func (a *Attributes) Refused() { a.usable.Store(false) }

// attributesInterval is the interval between two checks, longer than Temporal's services need to learn of new attributes.
const attributesInterval = 15 * time.Second

// Await returns when the namespace has the attributes, or ctx ends. It checks at an interval. Attributes that appear
// in a later check may have just been registered, and Temporal's services learn of them within seconds, for which
// Await waits.
func (a *Attributes) Await(ctx context.Context, n Namespace) {
	for first := true; ; first = false {
		missing, err := n.missing(ctx)
		known := err == nil && len(missing) == 0
		if known && first {
			a.usable.Store(true)
			return
		}
		if pause.For(ctx, attributesInterval) != nil {
			return
		}
		if known {
			a.usable.Store(true)
			return
		}
	}
}
