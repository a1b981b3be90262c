// Package client answers Temporal's requests about workers that are started on demand: no such worker exists, and none
// can be configured. It does not affect the versions of other workers.
package client

import (
	"context"

	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/auto-scaled-workers/wci/workflow/iface"
	"go.temporal.io/server/common/namespace"
	"go.uber.org/fx"
)

// Module provides the [Client].
var Module = fx.Options(fx.Provide(func() Client { return Client{} }))

// Client knows of no worker that is started on demand.
type Client struct{}

// errOmitted refuses to configure what this build does not contain.
var errOmitted = serviceerror.NewInvalidArgument("the Temporal server of local mode starts no workers on demand")

// DescribeWorkerControllerInstance reports that the version has no such workers.
func (Client) DescribeWorkerControllerInstance(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion,
) (*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error) {
	return nil, nil, serviceerror.NewNotFound("no workers are started on demand")
}

// UpdateWorkerControllerInstance refuses every configuration.
func (Client) UpdateWorkerControllerInstance(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion,
	[]byte, string, map[string]iface.ScalingGroupSpecUpdate, []string,
) (*iface.UpdateWorkerControllerInstanceResponse, error) {
	return nil, errOmitted
}

// ValidateWorkerControllerInstanceSpec refuses every configuration.
func (Client) ValidateWorkerControllerInstanceSpec(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion,
	string, map[string]iface.ScalingGroupSpecUpdate, []string,
) error {
	return errOmitted
}

// DeleteWorkerControllerInstance has nothing to delete.
func (Client) DeleteWorkerControllerInstance(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string) error {
	return nil
}
