// Package app is the composition root: it builds each role of the service from its parts, and runs a process of one
// or more roles until it is stopped or fails permanently. It is the only package that imports every implementation;
// commands and operators' services get their dependencies from here.
package app

import (
	"fmt"
	"slices"
	"strings"
)

// Role is a part of the service that can run in a process of its own.
type Role string

const (
	API       Role = "api"       // HTTP, WebSocket
	Worker    Role = "worker"    // workflows and activities
	Projector Role = "projector" // views
)

// AllRoles are the roles of local mode.
var AllRoles = []Role{API, Worker, Projector}

// ParseRoles reads a comma-separated list.
func ParseRoles(list string) ([]Role, error) {
	var roles []Role
	for name := range strings.SplitSeq(list, ",") {
		r := Role(strings.TrimSpace(name))
		if !slices.Contains(AllRoles, r) {
			return nil, fmt.Errorf("role %q is not one of api, worker, projector", name)
		}
		if !slices.Contains(roles, r) {
			roles = append(roles, r)
		}
	}
	return roles, nil
}
