// Package deployments implements the operators' commands on deployments of all accounts: publishing a graph under a name, and
// deciding which of its versions answers. Package deployment decides and records; a change has its actor and reason.
package deployments

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Service implements the operators' commands on deployments.
type Service struct {
	Deployments *deployment.Service
	Accounts    *accountstore.Store
	Base        string // address of the service, with which those of deployments begin
	Jobs        *jobs.Reader
	Sources     job.Sources
	Blobs       blob.Store
}

// Actions are what operators do to deployments.
var Actions = action.Group[*Service]{
	Use:   "deployments",
	Short: "Deployments of graphs: versions, which of them answers, stop and start",
	Long: `A deployment is a graph that an account publishes under a name: callers give its inputs by name and get its
outputs by name. "millrace deploy" adds versions. One version answers calls, and a second one may get a share
of them. A change touches no job that was accepted before it.

The versions of workers are the matter of "millrace workers".`,
	Example: `  millrace deployments list
  millrace deployments show portrait
  millrace deployments promote portrait@2 --percent 10
  millrace deployments promote portrait@2
  millrace deployments rollback portrait --reason "faces are blurred"`,
	Actions: []action.For[*Service]{
		list, show, versions, promote, rollback, stop, start, remove, export, diff, shadow,
	},
}

// Deploying is the command that publishes a graph.
var Deploying = action.Group[*Service]{Actions: []action.For[*Service]{Deploy}}

// Resolve implements action.Resolver: it returns the id of the account with a name or id. The local account exists in the modes without
// accounts.
func (o *Service) Resolve(ctx context.Context, _, text string) (string, error) {
	if text == account.LocalID {
		return text, nil
	}
	a, err := o.Accounts.Account(ctx, text)
	if fault.Is(err, fault.NotFound) {
		a, err = o.Accounts.AccountByName(ctx, text)
	}
	return a.ID, err
}

// owned are the parameters of actions on one deployment.
type owned struct {
	Account    string    `name:"account" resolve:"account" default:"local" help:"name or id of the account"`
	Deployment reference `name:"deployment" arg:"NAME" help:"name or id of the deployment"`
}

// reference names a deployment, or one of its versions.
type reference string

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *reference) UnmarshalText(text []byte) error {
	_, _, err := deployment.Reference(string(text))
	*r = reference(text)
	return err
}

// Takes describes the values.
func (*reference) Takes() string {
	return "the name of a deployment, or of a version such as portrait@2"
}

// split returns the deployment and the version that the reference names; 0 = no version.
func (r reference) split() (name string, version int, err error) {
	return deployment.Reference(string(r))
}

// version returns the deployment and the version, which the reference must name.
func (r reference) version() (name string, version int, err error) {
	if name, version, err = r.split(); err == nil && version == 0 {
		err = fault.New(fault.Invalid, fault.CodeInvalidRequest, "name the version, such as %.80s@2", r)
	}
	return name, version, err
}

// Deployment is a deployment as operators see it.
type Deployment struct {
	ID        string               `json:"id"`
	Account   string               `json:"account"`
	Name      string               `json:"name"`
	State     string               `json:"state"` // ready, not_ready or stopped
	Missing   []string             `json:"missing,omitempty"`
	Live      int                  `json:"live"`
	Share     *deployment.Share    `json:"share,omitempty"`
	Address   string               `json:"address"`
	Inputs    []callable.Input     `json:"inputs,omitempty"`
	Outputs   []callable.Output    `json:"outputs,omitempty"`
	Versions  []deployment.Version `json:"versions,omitempty"` // absent in a list
	Count     int                  `json:"count,omitempty"`    // of the versions, in a list
	CreatedAt time.Time            `json:"created_at"`
	UpdatedAt time.Time            `json:"updated_at"`
}

// summary returns a deployment without what has to be read from its versions.
func (o *Service) summary(d deployment.Deployment) Deployment {
	shown := Deployment{
		ID: string(d.ID), Account: d.Account, Name: d.Name, State: string(d.State), Live: d.Live, Versions: d.Versions,
		Address: o.Base + "/deployment/" + d.Name + "/api/v2", CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
	}
	if d.Share.Version != 0 {
		shown.Share = &d.Share
	}
	return shown
}

// described returns a deployment with the inputs and outputs of a version, and with what that version lacks.
func (o *Service) described(ctx context.Context, d deployment.Deployment, version int) (Deployment, error) {
	shown := o.summary(d)
	if d.State == deployment.Deleted {
		return shown, nil
	}
	schema, err := o.Deployments.Schema(ctx, d, version)
	if err != nil {
		return shown, err
	}
	shown.Inputs, shown.Outputs = schema.Inputs, schema.Outputs
	if shown.Missing, err = o.Deployments.Missing(ctx, d, version); err != nil {
		return shown, err
	}
	if len(shown.Missing) > 0 && d.State == deployment.Ready {
		shown.State = notReady
	}
	return shown, nil
}

// notReady is the state of a deployment whose version lacks something.
const notReady = "not_ready"

// Answers says which versions answer, in words.
func (d Deployment) Answers() string {
	if d.Share == nil {
		return fmt.Sprintf("%s@%d", d.Name, d.Live)
	}
	return fmt.Sprintf("%s@%d, and %s@%d %d %% of calls", d.Name, d.Live, d.Name, d.Share.Version, d.Share.Percent)
}
