// Package standard is the one list of the node classes that Millrace runs.
package standard

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/node"
	"github.com/millrace-dev/millrace/internal/node/image"
	"github.com/millrace-dev/millrace/internal/node/logic"
	"github.com/millrace-dev/millrace/internal/node/mask"
	"github.com/millrace-dev/millrace/internal/node/text"
)

// Registry returns the registry of every native class, family by family.
func Registry() (*node.Registry, error) {
	return node.NewRegistry(slices.Concat(image.Classes(), mask.Classes(), text.Classes(), logic.Classes())...)
}
