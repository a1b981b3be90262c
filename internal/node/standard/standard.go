// Package standard is the one list of the node classes that Millrace runs.
package standard

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/node"
	"github.com/millrace-dev/millrace/internal/node/image"
	"github.com/millrace-dev/millrace/internal/node/logic"
	"github.com/millrace-dev/millrace/internal/node/mask"
	"github.com/millrace-dev/millrace/internal/node/media"
	"github.com/millrace-dev/millrace/internal/node/text"
)

// Registry returns the registry of every native class, family by family. Those of sound and video are there
// with ffmpeg only; tool is nil without it.
func Registry(tool *ffmpeg.Tool) (*node.Registry, error) {
	classes := slices.Concat(image.Classes(), mask.Classes(), text.Classes(), logic.Classes())
	if tool != nil {
		classes = append(classes, media.Classes(tool)...)
	}
	return node.NewRegistry(classes...)
}
