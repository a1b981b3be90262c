package driving

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// addInput gives an input of the segment its value: a constant, or nodes that load it.
func (c *compiled) addInput(ctx context.Context, in graph.SegmentIn) error {
	n := c.r.Segment.Nodes[in.Node]
	value, known := c.r.Inputs[in.From]
	if !known {
		return fault.New(fault.Internal, "", "the value %s of input %s of node %s was not read", in.From, in.Input, n.ID)
	}
	key := in.From + "/" + string(in.Type)
	given, moved := c.moved[key]
	if !moved {
		var err error
		if given, err = c.move(ctx, value); err != nil {
			return fmt.Errorf("input %s of node %s: %w", in.Input, n.ID, err)
		}
		c.moved[key] = given
	}
	if text, ok := given.(string); ok && in.Input == prefixInput {
		given = c.inRoot(text)
	}
	c.prompt[n.ID].Inputs[in.Input] = given
	return nil
}

// move returns what stands for a value in the prompt.
func (c *compiled) move(ctx context.Context, value node.Value) (any, error) {
	switch v := value.(type) {
	case node.List:
		if len(v) == 1 {
			return c.move(ctx, v[0])
		}
		return nil, fault.New(fault.Invalid, "value_cannot_cross", "a list of %d values cannot be given to a server", len(v))
	case node.Blocker:
		return nil, fault.New(fault.Invalid, "value_cannot_cross", "the value is blocked: %s", v.Message)
	case *raster.Image:
		return c.moveImage(ctx, v)
	case *raster.Mask:
		return c.moveMask(ctx, v)
	case node.Opaque:
		name, err := c.putBytes(ctx, "."+strings.ToLower(string(v.Type)), v.Data)
		if err != nil {
			return nil, err
		}
		return linkTo(c.add("LoadLatent", map[string]any{"latent": name}), 0), nil
	case string, int64, float64, bool:
		return v, nil
	}
	return nil, fault.New(fault.Invalid, "value_cannot_cross", "%s cannot be given to a server", node.Describe(value))
}

// maxMoved bounds the frames of a batch that is moved to a server one by one.
const maxMoved = 4096

// moveImage uploads the frames of an image and joins them again. Alpha is moved beside the colours.
func (c *compiled) moveImage(ctx context.Context, im *raster.Image) (any, error) {
	if im.Frames() > maxMoved {
		return nil, fault.New(fault.Exhausted, "value_too_large", "a batch of %d pictures is more than the %d that are moved to a server", im.Frames(), maxMoved)
	}
	var joined any
	for frame := range im.Frames() {
		var b bytes.Buffer
		if err := codec.EncodePNG(ctx, &b, im, frame, codec.PNGOptions{Level: 1}); err != nil {
			return nil, err
		}
		name, err := c.putBytes(ctx, ".png", b.Bytes())
		if err != nil {
			return nil, err
		}
		loaded := c.add("LoadImage", map[string]any{"image": name})
		one := linkTo(loaded, 0)
		if im.Channels() == 4 {
			one = linkTo(c.add("JoinImageWithAlpha", map[string]any{"image": one, "alpha": linkTo(loaded, 1)}), 0)
		}
		if joined == nil {
			joined = one
			continue
		}
		joined = linkTo(c.add("ImageBatch", map[string]any{"image1": joined, "image2": one}), 0)
	}
	return joined, nil
}

// moveMask moves a mask as the red of a picture: grey pictures of some sizes are not read by servers.
func (c *compiled) moveMask(ctx context.Context, m *raster.Mask) (any, error) {
	pix := make([]float32, 0, m.Pixels()*3)
	row := make([]float32, m.Width())
	for frame := range m.Frames() {
		for y := range m.Height() {
			for _, v := range m.Row(row, frame, y) {
				pix = append(pix, v, v, v)
			}
		}
	}
	im, err := raster.NewImage(m.Frames(), m.Height(), m.Width(), 3, pix)
	if err != nil {
		return nil, err
	}
	picture, err := c.moveImage(ctx, im)
	if err != nil {
		return nil, err
	}
	return linkTo(c.add("ImageToMask", map[string]any{"image": picture, "channel": "red"}), 0), nil
}

func (c *compiled) putBytes(ctx context.Context, suffix string, data []byte) (string, error) {
	sum := blake3.Sum256(data)
	return c.d.uploaded.put(ctx, c.r, upload{
		digest: hex.EncodeToString(sum[:]), suffix: suffix, size: int64(len(data)), body: bytes.NewReader(data),
	})
}

// upload is a file to be moved in, named by its content.
type upload struct {
	digest string
	suffix string // of the name
	size   int64
	body   io.Reader
}

// uploads remembers which files servers have, so that each is sent to a server once.
type uploads struct {
	mu    sync.Mutex
	names map[string]string // by server and name
}

// maxRemembered bounds what is remembered; then all is forgotten and sent again when needed.
const maxRemembered = 100_000

func newUploads() *uploads { return &uploads{names: map[string]string{}} }

// put returns the name that prompts use for a file, which it sends where the server does not have it.
func (u *uploads) put(ctx context.Context, r *Run, up upload) (string, error) {
	name := strings.ReplaceAll(up.digest, ":", "-") + up.suffix
	key := r.Name + " " + name
	u.mu.Lock()
	known, ok := u.names[key]
	u.mu.Unlock()
	if ok && r.Fresh {
		return known, nil
	}
	stored, err := r.Server.Put(ctx, comfyui.Upload{Name: name, Subfolder: rootFolder, Size: up.size, Body: up.body})
	if err != nil {
		return "", err
	}
	given := path.Join(stored.Subfolder, stored.Name)
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.names) >= maxRemembered {
		clear(u.names)
	}
	u.names[key] = given
	return given, nil
}

// Forget forgets what a server has, because it refused a file that it was given.
func (d *Driver) Forget(server string) {
	d.uploaded.mu.Lock()
	defer d.uploaded.mu.Unlock()
	for key := range d.uploaded.names {
		if strings.HasPrefix(key, server+" ") {
			delete(d.uploaded.names, key)
		}
	}
}

// maxSuffix bounds what is kept of the name of a file.
const maxSuffix = 16

func suffixOf(name string) string {
	if ext := strings.ToLower(path.Ext(name)); len(ext) <= maxSuffix && !strings.ContainsAny(ext, " /\\") {
		return ext
	}
	return ""
}
