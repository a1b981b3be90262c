package classes

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
)

// SendPictures is the class that sends its pictures over the socket itself, without metadata.
const SendPictures = "ETN_SendImageWebSocket"

// Popular are stand-ins for classes of popular node packs, one for each form in which packs put out files. Their files and keys are
// those of the originals; videos are pictures under another name.
func Popular() []*node.Class {
	frames := Required("images", node.Image)
	return []*node.Class{
		{
			Name: SendPictures, Module: "custom_nodes.comfyui-tooling-nodes", OutputNode: true,
			Inputs: []node.Input{frames, {Name: "format", Type: node.Combo, Options: []string{"PNG", "JPEG"}}},
			Run:    sendPictures,
		},
		{
			Name: "VHS_VideoCombine", Module: "custom_nodes.comfyui-videohelpersuite", OutputNode: true,
			Inputs: []node.Input{
				frames, {Name: "frame_rate", Type: node.Float, Default: 8.0}, {Name: "filename_prefix", Type: node.String, Default: "AnimateDiff"},
				{Name: "format", Type: node.Combo, Options: []string{"video/h264-mp4", "video/8bit-png", "video/lost-png"}},
			},
			Outputs: []node.Output{{Type: "VHS_FILENAMES"}}, Run: combine,
		},
		{
			Name: "HDRPreviewKJ", Module: "custom_nodes.comfyui-kjnodes", OutputNode: true, Inputs: []node.Input{frames}, Run: showDeep,
		},
	}
}

// eachFrame encodes the frames of the images.
func eachFrame(ctx context.Context, call *node.Call, do func(i int, data []byte) error) error {
	im := call.Image("images")
	for i := range im.Frames() {
		var b bytes.Buffer
		err := codec.EncodePNG(ctx, &b, im, i, codec.PNGOptions{})
		if call.Args["format"] == "JPEG" {
			b.Reset()
			err = codec.EncodePreview(ctx, raster.Engine{}, &b, im, i)
		}
		if err == nil {
			err = do(i, b.Bytes())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func sendPictures(ctx context.Context, call *node.Call) (node.Result, error) {
	kind := map[any]string{"PNG": "image/png", "JPEG": "image/jpeg"}[call.Args["format"]]
	var shown []any
	err := eachFrame(ctx, call, func(_ int, data []byte) error {
		call.Live.Picture(kind, data)
		shown = append(shown, map[string]any{"source": "websocket", "content-type": kind, "type": "output"})
		return nil
	})
	return node.Result{Outputs: []node.Value{}, UI: map[string][]any{"images": shown}}, err
}

// combine saves a picture with the workflow, and a video or the frames of one.
func combine(ctx context.Context, call *node.Call) (node.Result, error) {
	prefix, _ := call.Args["filename_prefix"].(string)
	format, _ := call.Args["format"].(string)
	save := func(prefix, suffix string, data []byte) (node.File, error) {
		return call.Files.Save(ctx, node.Save{Folder: node.FolderOutput, Prefix: prefix, Suffix: suffix},
			func(w io.Writer) error { _, err := w.Write(data); return err })
	}
	var first []byte
	err := eachFrame(ctx, call, func(i int, data []byte) (err error) {
		if i == 0 {
			first = data
		}
		if format == "video/8bit-png" {
			_, err = save(fmt.Sprintf("%s.%03d", prefix, i+1), ".png", data)
		}
		return err
	})
	if err != nil {
		return node.Result{}, err
	}
	workflow, err := save(prefix, ".png", first)
	if err != nil {
		return node.Result{}, err
	}
	name := path.Base(prefix) + ".%03d_00001.png"
	if format == "video/h264-mp4" {
		video, err := save(prefix, "-audio.mp4", append([]byte("\x00\x00\x00\x18ftypmp42"), first...))
		if err != nil {
			return node.Result{}, err
		}
		name = video.Filename
	}
	return node.Result{Outputs: []node.Value{nil}, UI: map[string][]any{"gifs": {map[string]any{
		"filename": name, "subfolder": workflow.Subfolder, "type": workflow.Folder, "format": format,
		"frame_rate": call.Args["frame_rate"], "workflow": workflow.Filename, "fullpath": "/home/somebody/ComfyUI/output/" + name,
	}}}}, nil
}

// showDeep saves the frames and names them within a member of an element.
func showDeep(ctx context.Context, call *node.Call) (node.Result, error) {
	var named []any
	err := eachFrame(ctx, call, func(i int, data []byte) error {
		file, err := call.Files.Save(ctx, node.Save{Folder: node.FolderTemp, Prefix: "hdr", Suffix: ".png", Index: i},
			func(w io.Writer) error { _, err := w.Write(data); return err })
		named = append(named, map[string]any{"filename": file.Filename, "type": "temp"})
		return err
	})
	return node.Result{Outputs: []node.Value{}, UI: map[string][]any{
		"hdr_preview_data": {map[string]any{"frames": named, "frame_count": len(named), "linear_scale": 1.5}},
	}}, err
}
