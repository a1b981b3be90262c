package nodeclass

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound/dataurl"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

const (
	maxAnswer = 256 << 20 // bytes of a JSON answer, which may contain pictures as base64
	maxImage  = 512 << 20 // bytes of a picture's file
	maxFile   = 2 << 30   // bytes of a saved file
)

// reading is the state while the outputs of one answer are made.
type reading struct {
	model    *model
	call     *node.Call
	answer   node.ModelAnswer
	document any         // the decoded JSON answer
	raw      []byte      // the bytes of the answer
	saved    int         // number of files saved so far
	folder   node.Folder // folder of saved files
	ui       map[string][]any
}

// result makes the declared outputs from an answer. If the answer lacks a text, the output is empty; if it lacks a
// picture or file that another node reads, that is an error.
func (p *model) result(ctx context.Context, call *node.Call, answer node.ModelAnswer) (node.Result, error) {
	r := &reading{model: p, call: call, answer: answer, folder: node.FolderOutput, ui: map[string][]any{}}
	if p.entry.Protocol != catalog.Bytes {
		if err := r.read(); err != nil {
			return node.Result{}, err
		}
	}
	res := node.Result{}
	for i, o := range p.entry.NodeOutputs() {
		value, err := r.output(ctx, o, i == 0)
		if err != nil {
			return node.Result{}, err
		}
		res.Outputs = append(res.Outputs, value)
	}
	if len(r.ui) > 0 {
		res.UI = r.ui
	}
	return res, nil
}

func (r *reading) read() error {
	raw, err := io.ReadAll(io.LimitReader(r.answer.Content, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", r.model.entry.ID, err)
	}
	if len(raw) > maxAnswer {
		return fault.New(fault.Exhausted, fault.CodeAnswerLimit, "the answer of %s has more than %d bytes", r.model.entry.ID, maxAnswer)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&r.document); err != nil {
		return r.unusable("the answer is not JSON")
	}
	r.raw = raw
	return nil
}

func (r *reading) unusable(format string, args ...any) error {
	return fault.New(fault.Conflict, fault.CodePartnerAnswer, "the answer of %s cannot be used: %s", r.model.entry.ID,
		fmt.Sprintf(format, args...))
}

func (r *reading) output(ctx context.Context, o catalog.NodeOutput, needed bool) (node.Value, error) {
	found := r.outputValues(o)
	switch o.Type {
	case catalog.NodeImage:
		return r.images(ctx, o, found)
	case catalog.NodeFile:
		return r.files(ctx, o, found, needed)
	case catalog.NodeText:
	}
	return r.texts(o, found), nil
}

// outputValues returns the values at the output's pointers. A nil value stands for the whole of a bytes answer.
func (r *reading) outputValues(o catalog.NodeOutput) []any {
	if len(o.From) == 0 {
		return []any{r.document}
	}
	var all []any
	for _, pointer := range o.From {
		all = append(all, follow(r.document, strings.Split(strings.TrimPrefix(pointer, "/"), "/"))...)
	}
	return slices.DeleteFunc(all, func(v any) bool { return v == nil || v == "" })
}

// follow returns the values at the end of a JSON pointer's steps; * matches every element.
func follow(value any, steps []string) []any {
	if len(steps) == 0 {
		return []any{value}
	}
	step := strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[0])
	switch v := value.(type) {
	case map[string]any:
		if next, ok := v[step]; ok {
			return follow(next, steps[1:])
		}
	case []any:
		if step == "*" {
			var all []any
			for _, element := range v {
				all = append(all, follow(element, steps[1:])...)
			}
			return all
		}
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return follow(v[i], steps[1:])
		}
	}
	return nil
}

// texts writes the found values as texts: strings unchanged, everything else as JSON.
func (r *reading) texts(o catalog.NodeOutput, found []any) node.Value {
	list := node.List{}
	for _, v := range found {
		text, ok := v.(string)
		if !ok {
			text = r.rendered(o, v)
		}
		list = append(list, text)
		r.ui["text"] = append(r.ui["text"], text)
	}
	switch {
	case o.Several():
		return list
	case len(list) == 0:
		return ""
	}
	return list[0]
}

func (r *reading) rendered(o catalog.NodeOutput, v any) string {
	if len(o.From) == 0 {
		return string(r.raw)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "" // encoding decoded JSON cannot fail
	}
	return string(raw)
}

// images decodes the found values into one batch. Frames of other sizes are scaled to the size of the first.
func (r *reading) images(ctx context.Context, o catalog.NodeOutput, found []any) (node.Value, error) {
	engine := raster.Engine{MaxPixels: r.call.MaxPixels}
	var frames []*raster.Image
	for _, v := range found {
		file, err := r.open(ctx, v)
		if err != nil {
			return nil, err
		}
		pic, err := codec.Decode(ctx, engine, io.LimitReader(file.Content, maxImage))
		file.Content.Close() // read only
		if err != nil {
			return nil, fmt.Errorf("picture %q of %s: %w", o.Name, r.model.entry.ID, err)
		}
		frames = append(frames, pic.Image)
	}
	switch len(frames) {
	case 0:
		return nil, r.unusable("it has no %s", o.Name)
	case 1:
		return frames[0], nil
	}
	batch := frames[0]
	for _, next := range frames[1:] {
		var err error
		if batch, err = engine.Batch(ctx, batch, next); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

// files saves the found values and returns the names under which a graph reads them.
func (r *reading) files(ctx context.Context, o catalog.NodeOutput, found []any, needed bool) (node.Value, error) {
	names := node.List{}
	for _, v := range found {
		name, err := r.save(ctx, v)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	switch {
	case len(names) == 0 && needed:
		return nil, r.unusable("it has no %s", o.Name)
	case o.Several():
		return names, nil
	case len(names) == 0:
		return "", nil
	}
	return names[0], nil
}

func (r *reading) save(ctx context.Context, v any) (string, error) {
	content, err := r.open(ctx, v)
	if err != nil {
		return "", err
	}
	defer content.Content.Close()
	media, extension := kindOf(content.ContentType)
	prefix := strings.ReplaceAll(r.model.entry.ID, "/", "_")
	file, err := r.call.Files.Save(ctx, node.Save{
		Folder: r.folder, Prefix: prefix, Suffix: "_" + extension, ContentType: media, Index: r.saved,
	}, func(w io.Writer) error {
		n, err := io.Copy(w, io.LimitReader(content.Content, maxFile+1))
		if err == nil && n > maxFile {
			err = fault.New(fault.Exhausted, fault.CodeFileLimit, "a file of %s has more than %d bytes", r.model.entry.ID, maxFile)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	r.saved++
	r.ui[outputKey(media)] = append(r.ui[outputKey(media)], file)
	name := file.Filename
	if file.Subfolder != "" {
		name = file.Subfolder + "/" + name
	}
	return name + " [" + string(file.Folder) + "]", nil
}

// outputKey returns the key of the UI output under which clients look for files of a kind.
func outputKey(media string) string {
	switch kind, _, _ := strings.Cut(media, "/"); kind {
	case "image", "video":
		return kind + "s"
	case "audio":
		return kind
	}
	return "files"
}

// kindOf returns the media type and the extension of a file's name.
func kindOf(contentType string) (media, extension string) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return "application/octet-stream", ".bin"
	}
	if known, ok := map[string]string{
		"video/mp4": ".mp4", "video/webm": ".webm", "audio/mpeg": ".mp3", "audio/wav": ".wav", "audio/x-wav": ".wav", "audio/ogg": ".ogg",
		"audio/flac": ".flac", "image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif", "application/json": ".json",
		"application/zip": ".zip",
	}[media]; ok {
		return media, known
	}
	return media, ".bin"
}

// open opens the file for which a value of the answer stands: an https address, a data: URL, or base64. A nil value
// is the answer itself.
func (r *reading) open(ctx context.Context, v any) (node.ModelAnswer, error) {
	if r.model.entry.Protocol == catalog.Bytes {
		return node.ModelAnswer{ContentType: r.answer.ContentType, Content: io.NopCloser(r.answer.Content)}, nil
	}
	text, ok := v.(string)
	switch {
	case !ok:
		return node.ModelAnswer{}, r.unusable("the value of a file is not a string")
	case strings.HasPrefix(text, "https://"), strings.HasPrefix(text, "http://"):
		return r.call.Models.Fetch(ctx, r.model.entry.ID, text)
	}
	media, raw, err := r.encoded(text)
	if err != nil {
		return node.ModelAnswer{}, err
	}
	if media == "" {
		media = sniffed(raw)
	}
	return node.ModelAnswer{ContentType: media, Content: io.NopCloser(bytes.NewReader(raw))}, nil
}

// encoded returns the content of a data: URL in base64, or of base64 alone, which has no media type.
func (r *reading) encoded(text string) (media string, content []byte, err error) {
	if !dataurl.Is(text) {
		if content, err = base64.StdEncoding.DecodeString(text); err != nil {
			return "", nil, r.unusable("a file is neither an address nor base64")
		}
		return "", content, nil
	}
	file, err := dataurl.Parse(text)
	if err != nil || !file.Base64 {
		return "", nil, r.unusable("a data: address is not base64")
	}
	return file.MediaType, file.Content, nil
}

// sniffed detects the media type of bytes that have none.
func sniffed(raw []byte) string {
	if len(raw) > 12 && string(raw[4:8]) == "ftyp" {
		return "video/mp4"
	}
	return http.DetectContentType(raw)
}
