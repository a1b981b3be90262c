// Package editor serves the data that a graph editor needs besides jobs and files: the definitions of all classes,
// the models and files of the account, its settings, and the files that the editor stores for its user. It promises
// the formats that editors of the self-hosted runtime expect. The pages around an editor are in package console.
package editor

import (
	"context"
	"slices"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// NodeFiles returns the account's files that definitions offer as choices; files.Service implements it.
type NodeFiles interface {
	ForAccount(account string) node.Files
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge      *edge.Edge
	Classes   *node.Registry // nil = no object_info
	NodeFiles NodeFiles      // nil = accounts have no models; required with Classes
	Userdata  Userdata       // nil = no routes for the files of editors
	Servers   Servers        // nil = there are no ComfyUI servers
}

// Servers describes the classes and models of the ComfyUI servers; catalogue.Catalogue implements it.
type Servers interface {
	Models() comfyui.Models
	Extensions() []string
	HasWebFile(path string) bool
	WebFile(ctx context.Context, path string) (*comfyui.Download, error)
}

// Surface serves the routes of this package.
type Surface struct {
	Deps
	definitions *definitions
}

// New returns the surface.
func New(deps Deps) *Surface {
	return &Surface{Deps: deps, definitions: newDefinitions(deps.Classes)}
}

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route {
	return slices.Concat(s.definitionRoutes(), s.userdataRoutes(), s.settingRoutes(), s.modelRoutes())
}
