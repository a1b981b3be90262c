package image

import (
	"context"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
)

// The deflate levels of kept files and of temporary files.
const (
	savedLevel   = 4
	previewLevel = 1
)

// SaveImage writes every frame to the account's output folder.
func SaveImage() *node.Class {
	return &node.Class{
		Name: "SaveImage", DisplayName: "Save Image", Category: "image", Module: moduleNodes,
		Essentials:    "Basics",
		Description:   "Writes the images as PNG files into the output folder, together with the graph that made them.",
		SearchAliases: []string{"export image", "write image", "image output", "download"},
		Inputs: append([]node.Input{
			declare.Image("images", "The images to write."),
			{
				Name: "filename_prefix", Type: node.String, Default: "ComfyUI",
				Tooltip: "How the file names begin. May hold a folder and tokens such as %year% or %width%.",
			},
		}, HiddenMetadata()...),
		Outputs:    savedOut(),
		OutputNode: true,
		Cost:       encodeCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im, prefix := call.Image("images"), call.String("filename_prefix")
			return saveFrames(ctx, call, im, target{folder: node.FolderOutput, prefix: prefix, level: savedLevel})
		},
	}
}

// PreviewImage writes every frame to the account's temporary folder.
func PreviewImage() *node.Class {
	return &node.Class{
		Name: "PreviewImage", DisplayName: "Preview Image", Category: "image", Module: moduleNodes,
		Essentials:    "Basics",
		Description:   "Shows the images without keeping them in the output folder.",
		SearchAliases: []string{"preview", "show image", "view image", "display image"},
		Inputs:        append([]node.Input{declare.Image("images", "The images to show.")}, HiddenMetadata()...),
		Outputs:       savedOut(),
		OutputNode:    true,
		Cost:          encodeCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return showFrames(ctx, call, call.Image("images"))
		},
	}
}

// savedOut is the output list of classes that return their saved images.
func savedOut() []node.Output { return []node.Output{{Type: node.Image, Name: "images"}} }

// ShowFrames returns the image together with temporary files of its frames, as every class of the newer schema does
// that only shows its result.
func ShowFrames(ctx context.Context, call *node.Call, im *raster.Image) (node.Result, error) {
	res, err := showFrames(ctx, call, im)
	if err != nil {
		return node.Result{}, err
	}
	res.UI["animated"] = []any{false}
	return res, nil
}

// ShowAs writes the frames as temporary files and returns them. prefix precedes the usual prefix of their names;
// first is the number of files that the call has written before.
func ShowAs(ctx context.Context, call *node.Call, im *raster.Image, prefix string, first int) ([]any, error) {
	to := target{
		folder: node.FolderTemp, prefix: prefix + strings.TrimPrefix(TemporaryPrefix(call), "ComfyUI"), level: previewLevel,
		first: first,
	}
	res, err := saveFrames(ctx, call, im, to)
	return res.UI["images"], err
}

func showFrames(ctx context.Context, call *node.Call, im *raster.Image) (node.Result, error) {
	return saveFrames(ctx, call, im, target{folder: node.FolderTemp, prefix: TemporaryPrefix(call), level: previewLevel})
}

// HiddenMetadata declares the hidden inputs that hold the graph, which saved files contain.
func HiddenMetadata() []node.Input {
	return []node.Input{
		{Name: "prompt", Type: "PROMPT", Section: node.Hidden},
		{Name: "extra_pnginfo", Type: "EXTRA_PNGINFO", Section: node.Hidden},
	}
}

// encodeCost is the cost of compressing RGBA at level 4 and of flushing the store to disk.
func encodeCost(_ node.Args, pixels int64) time.Duration {
	return time.Duration(pixels*100) + 20*time.Millisecond
}

// TemporaryPrefix returns "ComfyUI_temp_" and five letters, the same on every attempt of a call.
func TemporaryPrefix(call *node.Call) string {
	h := fnv.New64a()
	io.WriteString(h, call.NodeID)                               //nolint:errcheck // a hash cannot fail
	io.WriteString(h, call.SubmittedAt.Format(time.RFC3339Nano)) //nolint:errcheck // as above
	letters := []byte("ComfyUI_temp_.....")
	for i, v := len(letters)-5, h.Sum64(); i < len(letters); i, v = i+1, v/26 {
		letters[i] = byte('a' + v%26)
	}
	return string(letters)
}

// target is where and how frames are written.
type target struct {
	folder node.Folder
	prefix string
	level  int
	first  int // number of the first file within the call
}

func saveFrames(ctx context.Context, call *node.Call, im *raster.Image, t target) (node.Result, error) {
	text, err := Metadata(call)
	if err != nil {
		return node.Result{}, err
	}
	prefix := node.ExpandName(t.prefix, im.Width(), im.Height(), call.SubmittedAt)
	files := make([]any, im.Frames())
	for i := range im.Frames() {
		save := node.Save{
			Folder: t.folder, Suffix: "_.png", ContentType: "image/png", Index: t.first + i, Width: im.Width(), Height: im.Height(),
			Prefix: strings.ReplaceAll(prefix, "%batch_num%", strconv.Itoa(i)),
		}
		file, err := call.Files.Save(ctx, save, func(w io.Writer) error {
			return codec.EncodePNG(ctx, w, im, i, codec.PNGOptions{Level: t.level, Text: text})
		})
		if err != nil {
			return node.Result{}, err
		}
		files[i] = file
		if im.Frames() > 1 && call.Live != nil {
			call.Live.Progress(i+1, im.Frames())
		}
	}
	return node.Result{Outputs: []node.Value{im}, UI: map[string][]any{"images": files}}, nil
}

// Metadata returns the text chunks of a saved file: the graph, then the caller's
// extra keys in alphabetical order.
func Metadata(call *node.Call) ([]codec.Text, error) {
	var out []codec.Text
	if len(call.Prompt) > 0 {
		v, err := asciiJSON(call.Prompt)
		if err != nil {
			return nil, err
		}
		out = append(out, codec.Text{Key: "prompt", Value: v})
	}
	for _, key := range slices.Sorted(maps.Keys(call.ExtraPNGInfo)) {
		v, err := asciiJSON(call.ExtraPNGInfo[key])
		if err != nil {
			return nil, err
		}
		out = append(out, codec.Text{Key: key, Value: v})
	}
	return out, nil
}
