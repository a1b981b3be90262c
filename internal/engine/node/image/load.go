package image

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	// maxFileBytes bounds an image file that is read into memory to be decoded.
	maxFileBytes = 512 << 20
	// filePixels is the assumed size of a file whose size the planner does not know: the size of the largest picture
	// that can be uploaded.
	filePixels = 64 << 20
	// noAlphaSide is the size of the empty mask of a file without alpha.
	noAlphaSide = 64
)

// LoadImage decodes a file of the account into its colours and its transparency.
func LoadImage() *node.Class {
	return &node.Class{
		Name: "LoadImage", DisplayName: "Load Image", Category: "image", Module: moduleNodes, Version: 1,
		Essentials:    "Basics",
		Description:   "Reads an image file. The mask is 1 where the file is transparent, and empty when it has no alpha.",
		SearchAliases: []string{"open image", "import image", "image input", "read image"},
		Inputs: []node.Input{{
			Name: "image", Type: node.Combo, Folder: node.FolderInput,
			Tooltip: "The uploaded file to read.", Extra: map[string]any{"image_upload": true},
		}},
		Outputs:     []node.Output{{Type: node.Image}, {Type: node.Mask}},
		Cost:        decodeCost,
		Pixels:      loadedPixels,
		Check:       checkImageFile,
		Checked:     []string{"image"},
		Fingerprint: fingerprintFile,
		Run:         runLoadImage,
	}
}

// decodeCost is dominated by inflating; measured for RGBA PNG.
func decodeCost(_ node.Args, pixels int64) time.Duration {
	return time.Duration(pixels*120) + 2*time.Millisecond
}

func loadedPixels(_ node.Args, upstream int64) int64 {
	if upstream > 0 {
		return upstream
	}
	return filePixels
}

// checkImageFile refuses a constant that does not name a file of the account, such as a number, a list, or an object
// that is not an asset reference.
func checkImageFile(ctx context.Context, files node.Files, constants node.Args) error {
	value, given := constants["image"]
	if !given {
		return nil // linked
	}
	name, ok := value.(string)
	if !ok {
		return fault.New(fault.Invalid, "", "Invalid image file: %s", formatValue(value)).
			Raising("AttributeError", "'%s' object has no attribute 'endswith'", python.TypeName(value))
	}
	_, err := files.Stat(ctx, name)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
		return fault.Wrap(err, fault.Invalid, "", "Invalid image file: %s", name)
	}
	return err
}

// maxShown bounds the part of a bad name that an error repeats.
const maxShown = 256

// formatValue formats a value for an error.
func formatValue(value any) string {
	return fault.Shorten(python.Str(value), maxShown)
}

// fingerprintFile makes the file's content part of the cache signature.
func fingerprintFile(ctx context.Context, files node.Files, constants node.Args) (string, error) {
	name, ok := constants["image"].(string)
	if !ok {
		return "", nil
	}
	info, err := files.Stat(ctx, name)
	return info.Hash, err
}

func runLoadImage(ctx context.Context, call *node.Call) (node.Result, error) {
	pic, err := loadPicture(ctx, call)
	if err != nil {
		return node.Result{}, err
	}
	mask, err := maskOf(ctx, pic)
	if err != nil {
		return node.Result{}, err
	}
	return node.Result{Outputs: []node.Value{pic.Image, mask}}, nil
}

// loadPicture decodes the file that the input "image" names.
func loadPicture(ctx context.Context, call *node.Call) (*codec.Picture, error) {
	name := call.String("image")
	file, err := call.Files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size := file.Info().Size; size > maxFileBytes {
		return nil, fault.New(fault.Exhausted, fault.CodeFileLimit, "%s is %d bytes long; image files of at most %d bytes are read", name, size,
			maxFileBytes)
	}
	pic, err := codec.Load(ctx, engine(call), file)
	return pic, Unreadable(err, name)
}

// Unreadable is the error of a file in no known format as the library raises it that ComfyUI reads files with. Other errors are
// unchanged.
func Unreadable(err error, name string) error {
	var refusal *fault.Error
	if errors.As(err, &refusal) && (refusal.Code == fault.CodeImageFormat || refusal.Code == fault.CodeMediaUnusable) {
		name, _, _ = strings.Cut(name, " [")
		return refusal.Raising("av.error.InvalidDataError", "[Errno 1094995529] Invalid data found when processing input: '%s'", name)
	}
	return err
}

// maskOf returns the transparency of a picture. For a picture without alpha it returns a small empty mask for each
// frame.
func maskOf(ctx context.Context, pic *codec.Picture) (*raster.Mask, error) {
	im := pic.Image
	switch {
	case pic.Mask != nil:
		return pic.Mask, nil
	case pic.Clear:
		return raster.Engine{}.SolidMask(ctx, im.Frames(), im.Height(), im.Width(), 0)
	}
	return raster.Engine{}.SolidMask(ctx, im.Frames(), noAlphaSide, noAlphaSide, 0)
}

// LoadImageMask decodes one channel of a file as a mask.
func LoadImageMask() *node.Class {
	return &node.Class{
		Name: "LoadImageMask", DisplayName: "Load Image (as Mask)", Category: "image", Module: moduleNodes, Version: 1,
		Essentials:  "Image Tools",
		Description: "Reads one channel of an image file as a mask. Alpha is inverted, so that transparent areas are selected.",
		Inputs: []node.Input{
			{
				Name: "image", Type: node.Combo, Folder: node.FolderInput,
				Tooltip: "The uploaded file to read.", Extra: map[string]any{"image_upload": true},
			},
			declare.Choice("channel", []string{"alpha", "red", "green", "blue"}, "The channel to use."),
		},
		Outputs:     []node.Output{{Type: node.Mask}},
		Cost:        decodeCost,
		Pixels:      loadedPixels,
		Check:       checkImageFile,
		Checked:     []string{"image"},
		Fingerprint: fingerprintFile,
		Run:         runLoadImageMask,
	}
}

// LoadImageOutput is LoadImage for files that earlier jobs saved.
func LoadImageOutput() *node.Class {
	c := LoadImage()
	c.Name, c.DisplayName = "LoadImageOutput", "Load Image (from Outputs)"
	c.Description = "Reads an image file from the output folder."
	c.SearchAliases = []string{"output image", "previous generation"}
	c.Experimental = true
	c.Inputs = []node.Input{{
		Name: "image", Type: node.Combo, Folder: node.FolderOutput, Tooltip: "The saved file to read.",
		Extra: map[string]any{
			"image_upload": true, "image_folder": "output",
			"remote": map[string]any{"route": "/internal/files/output", "refresh_button": true, "control_after_refresh": "first"},
		},
	}}
	return c
}

func runLoadImageMask(ctx context.Context, call *node.Call) (node.Result, error) {
	channel := call.String("channel")
	pic, err := loadPicture(ctx, call)
	if err != nil {
		return node.Result{}, err
	}
	switch channel {
	case "red":
		return declare.One(engine(call).Channel(ctx, pic.Image, 0))
	case "green":
		return declare.One(engine(call).Channel(ctx, pic.Image, 1))
	case "blue":
		return declare.One(engine(call).Channel(ctx, pic.Image, 2))
	}
	return declare.One(maskOf(ctx, pic))
}
