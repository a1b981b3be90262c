package classes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"

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
				frames,
				{Name: "frame_rate", Type: node.Float, Default: 8.0},
				{Name: "filename_prefix", Type: node.String, Default: "AnimateDiff"},
				{Name: "format", Type: node.Combo, Options: []string{"video/h264-mp4", "video/8bit-png", "video/lost-png"}},
			},
			Outputs: []node.Output{{Type: "VHS_FILENAMES"}}, Run: combine,
		},
		{
			Name: "VHS_LoadVideo", Module: "custom_nodes.comfyui-videohelpersuite",
			Inputs:  []node.Input{{Name: "video", Type: node.Combo, Folder: node.FolderInput}},
			Outputs: []node.Output{{Type: node.Image}}, Checked: []string{"video"},
			Check: func(ctx context.Context, files node.Files, constants node.Args) error {
				name, _ := constants["video"].(string)
				_, err := files.Stat(ctx, name)
				return err
			},
			Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
				name, _ := call.Args["video"].(string)
				return loadFrames(ctx, call.Files, name)
			},
		},
		{
			Name: "VHS_LoadImages", Module: "custom_nodes.comfyui-videohelpersuite",
			Inputs:  []node.Input{{Name: "directory", Type: node.Combo, Folder: node.FolderInput, Directory: true}},
			Outputs: []node.Output{{Type: node.Image}}, Checked: []string{"directory"},
			Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
				name, _ := call.Args["directory"].(string)
				return loadFrames(ctx, call.Files, call.Files.(Walker).Walk(name)...)
			},
		},
		{
			Name: "SaveStringKJ", Module: "custom_nodes.comfyui-kjnodes", OutputNode: true,
			Inputs: []node.Input{{Name: "string", Type: node.String}, {Name: "filename_prefix", Type: node.String, Default: "text"}},
			Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
				prefix, _ := call.Args["filename_prefix"].(string)
				if dir := path.Dir(prefix); dir != "." && len(call.Files.(Walker).Walk(dir+"/"+dir+" [output]")) == 0 {
					return node.Result{}, &Exception{"FileNotFoundError", "[Errno 2] No such file or directory: '" + prefix + "'"}
				}
				text, _ := call.Args["string"].(string)
				file, err := call.Files.Save(ctx, node.Save{Folder: node.FolderOutput, Prefix: prefix, Suffix: "_.txt"},
					func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
				return node.Result{Outputs: []node.Value{}, UI: map[string][]any{"text": {file}}}, err
			},
		},
		{
			Name: "Save Image Sequence (mtb)", Module: "custom_nodes.comfy_mtb", OutputNode: true,
			Inputs: []node.Input{
				frames, {Name: "filename_prefix", Type: node.String, Default: "Sequence"}, {Name: "current_frame", Type: node.Int},
			},
			Run: saveSequence,
		},
		{
			Name: "WidgetToString", Module: "custom_nodes.comfyui-kjnodes",
			Inputs: []node.Input{
				{Name: "id", Type: node.Int}, {Name: "widget_name", Type: node.String}, {Name: "prompt", Type: "PROMPT", Section: node.Hidden},
			},
			Outputs: []node.Output{{Type: node.String}},
			Run:     widgetToString,
		},
		{
			Name: "ImpactValueSender", Module: "custom_nodes.comfyui-impact-pack", OutputNode: true,
			Inputs: []node.Input{{Name: "value", Type: node.Int}, {Name: "link_id", Type: node.Int}},
			Run: func(_ context.Context, call *node.Call) (node.Result, error) {
				call.Live.(Messenger).Message("value-send", map[string]any{
					"link_id": call.Args["link_id"], "value": call.Args["value"], "node_id": call.NodeID,
				})
				return node.Result{}, nil
			},
		},
		{
			Name: "easy imageChooser", Module: "custom_nodes.comfyui-easy-use", OutputNode: true,
			Inputs: []node.Input{frames}, Outputs: []node.Output{{Type: node.Image}},
			Run: func(_ context.Context, call *node.Call) (node.Result, error) {
				return node.Result{Outputs: []node.Value{call.Args["images"]}}, nil
			},
		},
		{
			Name: "HDRPreviewKJ", Module: "custom_nodes.comfyui-kjnodes", OutputNode: true,
			Inputs: []node.Input{Required("image", node.Image)}, Run: showDeep,
		},
		{
			Name: "ttN imageOutput", Module: "custom_nodes.comfyui_tinyterranodes", OutputNode: true,
			Inputs: []node.Input{Required("image", node.Image)}, Outputs: []node.Output{{Type: node.Image}}, Run: showByPath,
		},
		{
			Name: "ImageBatchSplitter //Inspire", Module: "custom_nodes.comfyui-inspire-pack",
			Inputs:  []node.Input{frames, {Name: "split_count", Type: node.Int, Default: int64(4)}},
			Outputs: []node.Output{{Type: node.Image}}, MoreOutputs: true, Run: splitBatch,
		},
	}
}

// Messenger sends messages of types of node packs.
type Messenger interface {
	// Message sends a message to all clients.
	Message(kind string, data any)
}

// Walker finds files in folders at any depth.
type Walker interface {
	// Walk returns the names of the files in a folder, which may have an annotation as in node.Files.Open.
	Walk(folder string) []string
}

// widgetToString returns the input of another node of the prompt.
func widgetToString(_ context.Context, call *node.Call) (node.Result, error) {
	var prompt map[string]struct {
		Inputs map[string]any `json:"inputs"`
	}
	if err := json.Unmarshal(call.Prompt, &prompt); err != nil {
		return node.Result{}, err
	}
	id, _ := call.Args["id"].(int64)
	name, _ := call.Args["widget_name"].(string)
	value, ok := prompt[strconv.FormatInt(id, 10)].Inputs[name]
	if !ok {
		return node.Result{}, &Exception{"NameError", fmt.Sprintf("Node not found: %d", id)}
	}
	return node.Result{Outputs: []node.Value{fmt.Sprint(value)}}, nil
}

// eachFrame encodes the frames of the images.
func eachFrame(ctx context.Context, call *node.Call, do func(i int, data []byte) error) error {
	name := "images"
	if call.Args["image"] != nil {
		name = "image"
	}
	im := call.Image(name)
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

// saveSequence makes a folder with the name of the prefix. The path of its file there contains the whole prefix again.
func saveSequence(ctx context.Context, call *node.Call) (res node.Result, err error) {
	prefix, _ := call.Args["filename_prefix"].(string)
	if dir := path.Dir(prefix); dir != "." && len(call.Files.(Walker).Walk(prefix+"/"+dir+" [output]")) == 0 {
		return res, &Exception{"FileNotFoundError", "[Errno 2] No such file or directory: '" + prefix + "'"}
	}
	err = eachFrame(ctx, call, func(_ int, data []byte) error {
		file, err := call.Files.Save(ctx, node.Save{Folder: node.FolderOutput, Prefix: prefix + "/" + prefix, Suffix: ".png"},
			func(w io.Writer) error { _, err := w.Write(data); return err })
		file.Subfolder = path.Base(prefix)
		res.UI = map[string][]any{"images": {file}}
		return err
	})
	return res, err
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

// showByPath saves the frames and names them by their paths on the machine of the server.
func showByPath(ctx context.Context, call *node.Call) (node.Result, error) {
	var named []any
	err := eachFrame(ctx, call, func(i int, data []byte) error {
		file, err := call.Files.Save(ctx, node.Save{Folder: node.FolderTemp, Prefix: "ttNpreview", Suffix: ".png", Index: i},
			func(w io.Writer) error { _, err := w.Write(data); return err })
		named = append(named, map[string]any{"filename": "/home/somebody/ComfyUI/temp/" + file.Filename, "subfolder": "", "type": "temp"})
		return err
	})
	return node.Result{Outputs: []node.Value{call.Args["image"]}, UI: map[string][]any{"images": named}}, err
}

// splitBatch returns each of the first frames, and the rest, as an output of its own.
func splitBatch(_ context.Context, call *node.Call) (res node.Result, err error) {
	batch := call.Image("images")
	count := min(call.Int("split_count"), batch.Frames())
	for i := range count {
		res.Outputs = append(res.Outputs, batch.Frame(i))
	}
	if count < batch.Frames() {
		res.Outputs = append(res.Outputs, batch.Slice(count, batch.Frames()-count))
	}
	return res, nil
}

// loadFrames makes a batch of pictures of one size.
func loadFrames(ctx context.Context, files node.Files, names ...string) (node.Result, error) {
	var pix []uint8
	var first *raster.Image
	for _, name := range names {
		file, err := files.Open(ctx, name)
		if err != nil {
			return node.Result{}, err
		}
		p, err := codec.Decode(ctx, raster.Engine{}, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return node.Result{}, err
		}
		if first == nil {
			first = p.Image
		}
		row := make([]uint8, 3*first.Width())
		for y := range first.Height() {
			pix = append(pix, p.Image.Row8(row, 0, y)...)
		}
	}
	im, err := raster.NewImage8(len(names), first.Height(), first.Width(), 3, pix)
	return node.Result{Outputs: []node.Value{im}}, err
}
