// Package workercomponent stands for the part of Temporal's worker service that starts workers on demand in clouds. It adds
// nothing to that service: local mode has no cloud to start workers in.
package workercomponent

import "go.uber.org/fx"

// Module provides no component.
var Module = fx.Options()
