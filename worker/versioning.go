package worker

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Deployment names the version of the program that a worker runs. The zero value is a worker without a version.
type Deployment struct {
	Name    string // name of all workers of the service
	BuildID string // "" = without a version
}

// options returns the options of a worker of this version. A pinned workflow stays with the version that started it;
// any other continues with the current version.
func (d Deployment) options(o worker.Options, behavior workflow.VersioningBehavior) worker.Options {
	if d.BuildID == "" {
		return o
	}
	o.DeploymentOptions = worker.DeploymentOptions{
		UseVersioning: true, DefaultVersioningBehavior: behavior,
		Version: worker.WorkerDeploymentVersion{DeploymentName: d.Name, BuildID: d.BuildID},
	}
	return o
}
