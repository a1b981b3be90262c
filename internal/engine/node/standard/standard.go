// Package standard is the list of the native node classes. It promises that each class in the list runs and has a
// definition. The classes themselves are in the packages of their families.
package standard

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/colortransfer"
	"github.com/millrace-dev/millrace/internal/engine/node/dataset"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/node/layered"
	"github.com/millrace-dev/millrace/internal/engine/node/logic"
	"github.com/millrace-dev/millrace/internal/engine/node/mask"
	"github.com/millrace-dev/millrace/internal/engine/node/media"
	"github.com/millrace-dev/millrace/internal/engine/node/text"
	"github.com/millrace-dev/millrace/internal/engine/node/utility"
)

// Family is a group of classes with one package and one page of documentation.
type Family struct {
	Name, Title string
	Classes     []*node.Class
}

// Families returns every native class, family by family. If tool is nil, there is no ffmpeg and therefore no class of
// sound or video.
func Families(tool *ffmpeg.Tool) []Family {
	families := []Family{
		{"image", "Images", slices.Concat(image.Classes(lossyWebP(tool)), colortransfer.Classes(), layered.Classes(), dataset.ImageClasses())},
		{"mask", "Masks", mask.Classes()},
		{"text", "Text", slices.Concat(text.Classes(), dataset.TextClasses())},
		{"logic", "Numbers and logic", slices.Concat(logic.Classes(), utility.Classes())},
	}
	if tool != nil {
		families = append(families, Family{"media", "Sound and video", slices.Concat(media.Classes(tool), dataset.VideoClasses())})
	}
	return families
}

// lossyWebP returns nil without ffmpeg.
func lossyWebP(tool *ffmpeg.Tool) image.LossyWriter {
	if tool == nil {
		return nil
	}
	return media.LossyWebP(tool)
}

// Registry returns the registry of every native class, family by family.
func Registry(tool *ffmpeg.Tool) (*node.Registry, error) {
	var classes []*node.Class
	for _, f := range Families(tool) {
		classes = append(classes, f.Classes...)
	}
	return node.NewRegistry(classes...)
}
