package nodeclass

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// body writes the model's request. Equal arguments give equal bytes, which identify a repeated run.
func (p *model) body(ctx context.Context, args node.Args) ([]byte, error) {
	if len(p.fields) == 0 {
		return bodyArgument(args)
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for _, f := range p.fields {
		value, given := args[f.input.Name]
		if !given || value == nil {
			continue
		}
		raw, err := f.encode(ctx, value)
		if err != nil {
			return nil, err
		}
		if raw == nil {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(f.input.Name)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(raw)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func bodyArgument(args node.Args) ([]byte, error) {
	text, ok := args[bodyInput].(string)
	raw := []byte(strings.TrimSpace(text))
	if !ok || len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "input %s is not a JSON object", bodyInput)
	}
	return raw, nil
}

// encode returns the JSON of one member, or nil to leave the member out.
func (f *field) encode(ctx context.Context, value node.Value) (json.RawMessage, error) {
	if f.wire == asPicture {
		return f.picture(ctx, value)
	}
	if text, ok := value.(string); ok && text == "" && f.input.Section == node.Optional && f.omitsEmpty() {
		return nil, nil
	}
	if f.values != nil {
		return f.option(value)
	}
	if f.wire == asJSON {
		return f.json(value)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInputType, "input %s has the wrong type", f.input.Name)
	}
	return raw, nil
}

// omitsEmpty reports whether an empty text means that the input is not given. That is the case if the widget is empty
// at first.
func (f *field) omitsEmpty() bool {
	_, offered := f.values[""]
	return !offered && (f.input.Default == nil || f.input.Default == "" || f.wire == asJSON)
}

func (f *field) option(value node.Value) (json.RawMessage, error) {
	text, ok := value.(string)
	if !ok {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, fault.CodeInputType, "input %s is not one of its choices", f.input.Name)
		}
		text = string(raw)
	}
	raw, ok := f.values[text]
	if !ok {
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "input %s is not one of its choices: %.100q", f.input.Name, text)
	}
	return raw, nil
}

func (f *field) json(value node.Value) (json.RawMessage, error) {
	text, ok := value.(string)
	if !ok {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, fault.CodeInputType, "input %s is not JSON", f.input.Name)
		}
		return raw, nil
	}
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInputType,
			"input %s is not JSON: write texts as \"…\", objects as {…} and lists as […]", f.input.Name)
	}
	return out.Bytes(), nil
}

const (
	// pictureLevel is the deflate level of a picture that is sent. The smaller transfer is worth the time.
	pictureLevel = 6
	// maxPicture bounds an encoded picture. Providers accept far less.
	maxPicture = 48 << 20
)

// picture writes an image of one frame as PNG, in a data: URL or as plain base64.
func (f *field) picture(ctx context.Context, value node.Value) (json.RawMessage, error) {
	im, ok := value.(*raster.Image)
	if !ok {
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "input %s is not an image", f.input.Name)
	}
	if im.Frames() > 1 {
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "input %s takes one image, not a batch of %d", f.input.Name, im.Frames())
	}
	var file bytes.Buffer
	if err := codec.EncodePNG(ctx, &file, im, 0, codec.PNGOptions{Level: pictureLevel}); err != nil {
		return nil, fmt.Errorf("encode input %s: %w", f.input.Name, err)
	}
	if file.Len() > maxPicture {
		return nil, fault.New(fault.Exhausted, fault.CodePictureLimit, "input %s is %d bytes long as PNG; at most %d are sent", f.input.Name,
			file.Len(), maxPicture)
	}
	text := base64.StdEncoding.EncodeToString(file.Bytes())
	if f.media == catalog.MediaData {
		text = "data:image/png;base64," + text
	}
	return json.RawMessage(`"` + text + `"`), nil
}
