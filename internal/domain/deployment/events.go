package deployment

import "github.com/millrace-dev/millrace/internal/eventlog"

// Event type names. They are stored; renaming one breaks history. Actor and reason are in the meta of each event.
const (
	TypeCreated      = "deployment.created.v1"
	TypeVersionAdded = "deployment.version_added.v1"
	TypePromoted     = "deployment.promoted.v1"
	TypeShared       = "deployment.shared.v1"
	TypeRolledBack   = "deployment.rolled_back.v1"
	TypeStopped      = "deployment.stopped.v1"
	TypeStarted      = "deployment.started.v1"
	TypeDrifted      = "deployment.drifted.v1"
	TypeDeleted      = "deployment.deleted.v1"
)

// CreatedV1 records a new deployment.
type CreatedV1 struct {
	Name string `json:"name"`
	Salt string `json:"salt"` // of the choice between two versions
}

// VersionAddedV1 records a new version. It answers nothing until it is promoted or gets a share.
type VersionAddedV1 struct {
	Version int    `json:"version"`
	Digest  string `json:"digest"` // "blake3:<hex>", the blob with its content
	Inputs  int    `json:"inputs"`
	Outputs int    `json:"outputs"`
}

// PromotedV1 records that a version answers all calls. A share ends with it.
type PromotedV1 struct {
	Version int      `json:"version"`
	Missing []string `json:"missing,omitempty"` // what the version lacked when it was promoted by force
}

// SharedV1 records that a second version answers a part of the calls; 0 percent ends the share.
type SharedV1 struct {
	Version int      `json:"version"`
	Percent int      `json:"percent"`
	Missing []string `json:"missing,omitempty"` // what the version lacked when it got the share by force
}

// RolledBackV1 records that a share ended, or that the version that answered before answers again.
type RolledBackV1 struct {
	Version int `json:"version"` // answers now
	From    int `json:"from"`    // had the share, or answered
}

// StoppedV1 records that calls are refused.
type StoppedV1 struct{}

// StartedV1 records that a stopped deployment answers calls again.
type StartedV1 struct{}

// DriftedV1 records which classes of a version have changed on the servers since it was added. An empty list records that none differ any
// more.
type DriftedV1 struct {
	Version int      `json:"version"`
	Classes []string `json:"classes,omitempty"`
}

// DeletedV1 records that the deployment is gone. Its name is free; its jobs go on.
type DeletedV1 struct{}

// Register adds the deployment's event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[CreatedV1](TypeCreated).Says("a deployment was created"),
		eventlog.TypeOf[VersionAddedV1](TypeVersionAdded).Says("a version was added; it answers nothing yet"),
		eventlog.TypeOf[PromotedV1](TypePromoted).Says("a version answers all calls"),
		eventlog.TypeOf[SharedV1](TypeShared).Says("a second version answers a part of the calls"),
		eventlog.TypeOf[RolledBackV1](TypeRolledBack).Says("the version that answered before answers again"),
		eventlog.TypeOf[StoppedV1](TypeStopped).Says("calls are refused"),
		eventlog.TypeOf[StartedV1](TypeStarted).Says("calls are answered again"),
		eventlog.TypeOf[DriftedV1](TypeDrifted).Says("classes of a version have other definitions on the servers"),
		eventlog.TypeOf[DeletedV1](TypeDeleted).Says("the deployment is gone; its jobs go on"),
	)
}
