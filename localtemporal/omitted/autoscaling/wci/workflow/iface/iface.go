// Package iface declares the types of a configuration of workers that are started on demand. Temporal's server converts requests to these
// types before it asks the client, which refuses them.
package iface

import (
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
)

// ComputeProviderType names a cloud.
type ComputeProviderType string

// ComputeProviderSpec is a cloud with its settings.
type ComputeProviderSpec struct {
	ProviderType  ComputeProviderType `json:"provider_type,omitempty"`
	Config        *commonpb.Payload   `json:"config,omitempty"`
	NexusEndpoint string              `json:"nexus_endpoint,omitempty"`
}

// ScalingAlgorithmType names an algorithm.
type ScalingAlgorithmType string

// ScalingAlgorithmSpec is an algorithm with its settings.
type ScalingAlgorithmSpec struct {
	ScalingAlgorithm ScalingAlgorithmType `json:"scaling_algorithm,omitempty"`
	Config           *commonpb.Payload    `json:"config,omitempty"`
}

// ScalingGroupSpec says where and how the workers of some kinds of tasks are started.
type ScalingGroupSpec struct {
	TaskTypes []enumspb.TaskQueueType `json:"task_types"`
	Compute   ComputeProviderSpec     `json:"compute"`
	Scaling   *ScalingAlgorithmSpec   `json:"scaling,omitempty"`
}

// ScalingGroupSpecUpdate changes the named fields of a group.
type ScalingGroupSpecUpdate struct {
	Spec       ScalingGroupSpec `json:"spec"`
	UpdateMask []string         `json:"update_mask"`
}

// WorkerControllerInstanceSpec holds the groups of one version.
type WorkerControllerInstanceSpec struct {
	ScalingGroupSpecs map[string]ScalingGroupSpec `json:"scaling_group_specs"`
}

// ValidationResult is the outcome of a check.
type ValidationResult string

// ValidationResultFailed is the outcome of a check that found faults.
const ValidationResultFailed ValidationResult = "failed"

// ValidationStatus is the last check of a configuration.
type ValidationStatus struct {
	LastValidationTime time.Time        `json:"last_validation_time"`
	Status             ValidationResult `json:"status"`
	ErrMessage         string           `json:"err_message,omitempty"`
}

// QueryDescribeWorkerControllerInstanceResponse describes the workers of a version.
type QueryDescribeWorkerControllerInstanceResponse struct {
	Spec             *WorkerControllerInstanceSpec `json:"spec,omitempty"`
	ValidationStatus *ValidationStatus             `json:"validation_state,omitempty"`
}

// UpdateWorkerControllerInstanceResponse is the configuration after a change.
type UpdateWorkerControllerInstanceResponse struct {
	Spec *WorkerControllerInstanceSpec `json:"spec,omitempty"`
}
