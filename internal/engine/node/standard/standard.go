// Package standard is the one list of the node classes that Millrace runs.
package standard

import (
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/node/logic"
	"github.com/millrace-dev/millrace/internal/engine/node/mask"
	"github.com/millrace-dev/millrace/internal/engine/node/media"
	"github.com/millrace-dev/millrace/internal/engine/node/text"
)

// Family is a group of classes that stand in one package and on one page of the documentation.
type Family struct {
	Name, Title string
	Classes     []*node.Class
}

// Families returns every native class, family by family. Those of sound and video are there with ffmpeg only;
// tool is nil without it.
func Families(tool *ffmpeg.Tool) []Family {
	families := []Family{
		{"image", "Images", image.Classes()},
		{"mask", "Masks", mask.Classes()},
		{"text", "Text", text.Classes()},
		{"logic", "Numbers and logic", logic.Classes()},
	}
	if tool != nil {
		families = append(families, Family{"media", "Sound and video", media.Classes(tool)})
	}
	return families
}

// Registry returns the registry of every native class, family by family.
func Registry(tool *ffmpeg.Tool) (*node.Registry, error) {
	var classes []*node.Class
	for _, f := range Families(tool) {
		classes = append(classes, f.Classes...)
	}
	return node.NewRegistry(classes...)
}
