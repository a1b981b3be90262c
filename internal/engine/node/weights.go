package node

import (
	"slices"
	"strings"
)

// AnyFolder is the folder of an input that names model files of a folder that is not known.
const AnyFolder = "*"

// modelSuffixes are the suffixes of the files of models.
var modelSuffixes = []string{".safetensors", ".ckpt", ".pt", ".pt2", ".bin", ".pth", ".pkl", ".sft", ".gguf", ".onnx"}

// IsModelFile reports whether a name is that of a file of a model.
func IsModelFile(name string) bool {
	return slices.ContainsFunc(modelSuffixes, func(suffix string) bool { return len(name) > len(suffix) && strings.HasSuffix(name, suffix) })
}

// MayBeWeight reports whether a choice of the input may be a weight that no server has yet.
func (in Input) MayBeWeight(choice string) bool { return in.Weights != "" && IsModelFile(choice) }
