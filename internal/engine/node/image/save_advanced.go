package image

import (
	"context"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec/deep"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The choices of SaveImageAdvanced.
const (
	formatPNG   = "png"
	formatEXR   = "exr"
	eightBit    = "8-bit"
	sixteenBit  = "16-bit"
	floats      = "32-bit float"
	spaceSRGB   = "sRGB"
	spaceHDR    = "HDR"
	spaceLinear = "linear"
)

func fileFormats() node.Choices {
	depth := func(options ...string) node.Input {
		return declare.Advanced(declare.Preset(declare.Choice("bit_depth", options, "The bits of a value in the file."), options[0]))
	}
	space := func(options ...string) node.Input {
		return declare.Advanced(declare.Preset(declare.Choice("input_color_space", options,
			"What the values of the images mean. An EXR file gets linear light."), options[0]))
	}
	return node.Choices{
		{Key: formatPNG, Inputs: []node.Input{depth(eightBit, sixteenBit), space(spaceSRGB)}},
		{Key: formatEXR, Inputs: []node.Input{depth(floats), space(spaceSRGB, spaceHDR, spaceLinear)}},
	}
}

// SaveImageAdvanced writes every frame as a PNG file of 8 or 16 bits, or as an EXR file.
func SaveImageAdvanced() *node.Class {
	return &node.Class{
		Name: "SaveImageAdvanced", DisplayName: "Save Image (Advanced)", Category: "image", Essentials: "Basics", Module: moduleImages,
		Description:   "Writes the images as PNG files of 8 or 16 bits or as EXR files of floats into the output folder.",
		SearchAliases: []string{"save image", "export image"},
		Inputs: append([]node.Input{
			declare.Image("images", "The images to write."),
			{Name: "filename_prefix", Type: node.String, Default: "ComfyUI", Tooltip: "How the file names begin."},
			declare.Choices("format", "The kind of file.", fileFormats()),
		}, HiddenMetadata()...),
		Outputs:    declare.Images("images"),
		OutputNode: true,
		Cost:       declare.PerPixel(400),
		Run:        runSaveAdvanced,
	}
}

// writer writes one frame of an image.
type writer func(ctx context.Context, w io.Writer, im *raster.Image, frame int) error

func runSaveAdvanced(ctx context.Context, call *node.Call) (node.Result, error) {
	im, prefix, format := call.Image("images"), call.String("filename_prefix"), call.String("format")
	depth := call.String("format.bit_depth")
	space := node.Given(call, "format.input_color_space", call.String, spaceSRGB)
	texts, err := Metadata(call)
	if err != nil {
		return node.Result{}, err
	}
	write, err := writerOf(format, depth, space, texts)
	if err != nil {
		return node.Result{}, err
	}
	prefix = node.ExpandName(prefix, im.Width(), im.Height(), call.SubmittedAt)
	files := make([]any, im.Frames())
	for i := range im.Frames() {
		save := node.Save{
			Folder: node.FolderOutput, Suffix: "." + format, ContentType: "image/" + strings.Replace(format, formatEXR, "x-exr", 1), Index: i,
			Width: im.Width(), Height: im.Height(), Prefix: strings.ReplaceAll(prefix, "%batch_num%", strconv.Itoa(i)),
		}
		file, err := call.Files.Save(ctx, save, func(w io.Writer) error { return write(ctx, w, im, i) })
		if err != nil {
			return node.Result{}, err
		}
		files[i] = file
	}
	return node.Result{Outputs: []node.Value{im}, UI: map[string][]any{"images": files}}, nil
}

func writerOf(format, depth, space string, texts []codec.Text) (writer, error) {
	long := make([]deep.Text, len(texts))
	for i, t := range texts {
		long[i] = deep.Text{Key: t.Key, Value: t.Value}
	}
	curve, known := map[string]func(float32) float32{spaceSRGB: fromSRGB, spaceHDR: fromHLG, spaceLinear: nil}[space]
	switch {
	case format == formatPNG && depth == eightBit:
		return func(ctx context.Context, w io.Writer, im *raster.Image, frame int) error {
			return codec.EncodePNG(ctx, w, im, frame, codec.PNGOptions{Level: savedLevel, Text: texts})
		}, nil
	case format == formatPNG && depth == sixteenBit:
		return func(ctx context.Context, w io.Writer, im *raster.Image, frame int) error {
			return deep.EncodePNG(ctx, w, im, frame, long)
		}, nil
	case format == formatEXR && depth == floats && known:
		primaries := deep.Rec709
		if space == spaceHDR {
			primaries = deep.Rec2020
		}
		return func(ctx context.Context, w io.Writer, im *raster.Image, frame int) error {
			light, err := linear(ctx, im.Frame(frame), curve)
			if err != nil {
				return err
			}
			return deep.EncodeEXR(ctx, w, light, 0, primaries, long)
		}, nil
	}
	return nil, fault.New(fault.Invalid, fault.CodeFormat, "format %.64q with depth %.64q and color space %.64q is not supported", format,
		depth, space)
}

// linear returns an image in linear light. Alpha does not change.
func linear(ctx context.Context, im *raster.Image, curve func(float32) float32) (*raster.Image, error) {
	if curve == nil {
		return im, nil
	}
	return raster.Engine{}.MapPixels(ctx, im, im.Channels(), func(dst, src []float32) {
		copy(dst, src)
		for i := range min(len(dst), 3) {
			dst[i] = curve(src[i])
		}
	})
}

// fromSRGB converts a value of sRGB to linear light.
func fromSRGB(v float32) float32 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return float32(math.Pow((float64(v)+0.055)/1.055, 2.4))
}

// fromHLG converts a value of hybrid log-gamma to the linear light of the scene.
func fromHLG(v float32) float32 {
	if v <= 0.5 {
		return v * v / 3
	}
	return float32((math.Exp((float64(v)-0.55991072928)/0.17883277) + 0.28466892) / 12)
}
