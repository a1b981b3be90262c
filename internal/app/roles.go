package app

import (
	"fmt"
	"slices"
	"strings"
)

// role is a part of the service that can run in a process of its own.
type role string

const (
	roleAPI       role = "api"       // HTTP, WebSocket
	roleWorker    role = "worker"    // workflows and activities
	roleProjector role = "projector" // views
)

var allRoles = []role{roleAPI, roleWorker, roleProjector}

// parseRoles reads a comma-separated list.
func parseRoles(list string) ([]role, error) {
	var roles []role
	for name := range strings.SplitSeq(list, ",") {
		r := role(strings.TrimSpace(name))
		if !slices.Contains(allRoles, r) {
			return nil, fmt.Errorf("role %q is not one of api, worker, projector", name)
		}
		if !slices.Contains(roles, r) {
			roles = append(roles, r)
		}
	}
	return roles, nil
}
