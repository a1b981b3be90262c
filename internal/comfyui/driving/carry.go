package driving

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// addInput sets an input of the segment: to a constant, or to the output of nodes that load the value.
func (c *compiled) addInput(ctx context.Context, in graph.SegmentIn) error {
	n := c.r.Segment.Nodes[in.Node]
	value, known := c.r.Inputs[in.From]
	if !known {
		return fault.New(fault.Internal, "", "the value %s of input %s of node %s was not read", in.From, in.Input, n.ID)
	}
	c.owner = n.ID
	key := in.From + "/" + string(in.Type)
	given, moved := c.uploaded[key]
	if !moved {
		var err error
		if given, err = c.move(ctx, value); err != nil {
			return fmt.Errorf("input %s of node %s: %w", in.Input, n.ID, err)
		}
		c.uploaded[key] = given
	}
	if in.Input == prefixInput {
		given = c.belowRoot(given)
	}
	c.prompt[n.ID].Inputs[in.Input] = given
	return nil
}

// move uploads a value if necessary, and returns the constant or the link that stands for the value in the prompt.
func (c *compiled) move(ctx context.Context, value node.Value) (any, error) {
	switch v := value.(type) {
	case node.List:
		return c.moveList(ctx, v)
	case node.Blocker:
		return nil, cannotCross("the value is blocked: %s", v.Message)
	case *raster.Image:
		return c.moveImage(ctx, v)
	case *raster.Mask:
		return c.moveMask(ctx, v)
	case *media.Sound:
		return c.moveSound(ctx, v)
	case *media.Video:
		return c.moveVideo(ctx, v)
	case node.Opaque:
		return c.moveOpaque(ctx, v)
	case string, int64, float64, bool:
		return v, nil
	}
	return nil, cannotCross("%s cannot be moved to a server", node.Describe(value))
}

// cannotCross returns the error for a value that cannot be moved.
func cannotCross(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.CodeValueCannotCross, "%s", fmt.Sprintf(format, args...))
}

// maxFrameUploads bounds the frames of a batch that is moved to a server frame by frame.
const maxFrameUploads = 4096

// moveImage moves an image. If the server has the node pack and the samples are floats, they are moved unchanged;
// otherwise as PNG.
func (c *compiled) moveImage(ctx context.Context, im *raster.Image) (any, error) {
	if c.lossless(loadImage) && (!im.Is8Bit() || im.Channels() != 3) {
		return c.moveTensors(ctx, loadImage, losslessImage(im))
	}
	return c.movePictures(ctx, im)
}

// movePictures uploads the frames of an image and joins them again. Alpha is uploaded separately from the colours.
func (c *compiled) movePictures(ctx context.Context, im *raster.Image) (any, error) {
	if im.Frames() > maxFrameUploads {
		return nil, fault.New(fault.Exhausted, fault.CodeValueTooLarge,
			"a batch of %d pictures cannot be moved to a server; at most %d are allowed", im.Frames(), maxFrameUploads)
	}
	frames := make([]any, im.Frames())
	for frame := range frames {
		var b bytes.Buffer
		if err := codec.EncodePNG(ctx, &b, im, frame, codec.PNGOptions{Level: 1}); err != nil {
			return nil, err
		}
		name, err := c.uploadBytes(ctx, ".png", b.Bytes())
		if err != nil {
			return nil, err
		}
		loaded := c.add("LoadImage", map[string]any{"image": name})
		frames[frame] = linkTo(loaded, 0)
		if im.Channels() == 4 {
			frames[frame] = c.withAlpha(loaded, im.Width(), im.Height())
		}
	}
	return c.batch(frames), nil
}

// alphaScale scales the mask from which alpha is loaded. Servers compute alpha from the mask and truncate alpha when
// they save it, so that a rounding error would make the alpha smaller by one.
const alphaScale = 1 - 1e-6

// withAlpha joins the colours of a loaded picture with its alpha.
func (c *compiled) withAlpha(loaded string, width, height int) any {
	scale := c.add("SolidMask", map[string]any{"value": alphaScale, "width": width, "height": height})
	mask := c.add("MaskComposite", map[string]any{
		"destination": linkTo(loaded, 1), "source": linkTo(scale, 0), "x": 0, "y": 0, "operation": "multiply",
	})
	return linkTo(c.add("JoinImageWithAlpha", map[string]any{"image": linkTo(loaded, 0), "alpha": linkTo(mask, 0)}), 0)
}

// batch joins pictures in pairs, so that the server copies each picture only a few times.
func (c *compiled) batch(frames []any) any {
	for len(frames) > 1 {
		var joined []any
		for pair := range slices.Chunk(frames, 2) {
			if len(pair) == 2 {
				joined = append(joined, linkTo(c.add("ImageBatch", map[string]any{"image1": pair[0], "image2": pair[1]}), 0))
			} else {
				joined = append(joined, pair[0])
			}
		}
		frames = joined
	}
	return frames[0]
}

// moveMask moves a mask. If the server has the node pack, the samples are moved unchanged; otherwise they become the
// red channel of a picture, since servers cannot read grey pictures of some sizes.
func (c *compiled) moveMask(ctx context.Context, m *raster.Mask) (any, error) {
	if m.Empty() {
		return nil, cannotCross("a mask without pixels cannot be moved to a server")
	}
	if c.lossless(loadMask) {
		return c.moveTensors(ctx, loadMask, losslessMask(m))
	}
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
	picture, err := c.movePictures(ctx, im)
	if err != nil {
		return nil, err
	}
	return linkTo(c.add("ImageToMask", map[string]any{"image": picture, "channel": "red"}), 0), nil
}

func (c *compiled) uploadBytes(ctx context.Context, suffix string, data []byte) (string, error) {
	return c.uploadStream(ctx, suffix, func() (io.Reader, int64, error) { return bytes.NewReader(data), int64(len(data)), nil })
}

// uploadStream uploads the content that open returns. It reads the content twice: for the digest that names it, and for
// the upload.
func (c *compiled) uploadStream(ctx context.Context, suffix string, open func() (io.Reader, int64, error)) (string, error) {
	body, size, err := open()
	if err != nil {
		return "", err
	}
	sum := blake3.New()
	if _, err := io.Copy(sum, body); err != nil {
		return "", fmt.Errorf("digest a value: %w", err)
	}
	if body, _, err = open(); err != nil {
		return "", err
	}
	return c.d.uploaded.ensure(ctx, c.r, upload{digest: hex.EncodeToString(sum.Sum(nil)), suffix: suffix, size: size, body: body})
}

// upload is a file to be sent to a server, named by its content.
type upload struct {
	digest string
	suffix string // end of the name
	listed bool   // it goes directly into the input folder, so that choices that list it contain it
	size   int64
	body   io.Reader
}

// uploads remembers which files each server has, so that a file is sent to a server once.
type uploads struct {
	mu    sync.Mutex
	names map[string]string // by server and name
}

// maxRemembered bounds the remembered names. When it is reached, all names are forgotten, and files are sent again
// when needed.
const maxRemembered = 100_000

func newUploads() *uploads { return &uploads{names: map[string]string{}} }

// ensure returns the name of a file in prompts. It sends the file if the server does not have it.
func (u *uploads) ensure(ctx context.Context, r *Run, up upload) (string, error) {
	name, folder := strings.ReplaceAll(up.digest, ":", "-")+up.suffix, comfyui.FilesFolder
	if up.listed {
		name, folder = comfyui.FilesFolder+"-"+name, ""
	}
	if known := u.known(r, name); known != "" {
		return known, nil
	}
	stored, err := r.Server.Put(ctx, comfyui.Upload{Name: name, Subfolder: folder, Size: up.size, Body: up.body})
	if err != nil {
		return "", err
	}
	given := path.Join(stored.Subfolder, stored.Name)
	u.remember(r, name, given)
	return given, nil
}

// known returns the name that a server gave to a file or folder, or "". If an earlier driver may have sent the prompt, its files may
// since have been lost, so known returns "".
func (u *uploads) known(r *Run, name string) string {
	if !r.NewPrompt {
		return ""
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.names[r.Name+" "+name]
}

func (u *uploads) remember(r *Run, name, given string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.names) >= maxRemembered {
		clear(u.names)
	}
	u.names[r.Name+" "+name] = given
}

// Forget removes the names of all files on a server, because the server refused a file.
func (d *Driver) Forget(server string) {
	d.uploaded.mu.Lock()
	defer d.uploaded.mu.Unlock()
	for key := range d.uploaded.names {
		if strings.HasPrefix(key, server+" ") {
			delete(d.uploaded.names, key)
		}
	}
}

// maxSuffix bounds the part of a file's name that is kept.
const maxSuffix = 16

func suffixOf(name string) string {
	if ext := strings.ToLower(path.Ext(name)); len(ext) <= maxSuffix && !strings.ContainsAny(ext, " /\\") {
		return ext
	}
	return ""
}

// createList is the class that makes a list of up to maxListed values.
const (
	createList = "CreateList"
	maxListed  = 10
)

// primitive returns the class that turns a constant into a value which a list can read.
func primitive(value any) (class string, ok bool) {
	switch value.(type) {
	case string:
		return "PrimitiveStringMultiline", true
	case int64:
		return "PrimitiveInt", true
	case float64:
		return "PrimitiveFloat", true
	case bool:
		return "PrimitiveBoolean", true
	}
	return "", false
}

// moveList moves the values of a list and joins them to a list again. A list of one value is equivalent to the value.
func (c *compiled) moveList(ctx context.Context, list node.List) (any, error) {
	if len(list) == 1 {
		return c.move(ctx, list[0])
	}
	if len(list) == 0 {
		return nil, cannotCross("an empty list cannot be moved to a server")
	}
	if !c.offers(createList) {
		return nil, cannotCross("the server has no class %s to make a list of %d values", createList, len(list))
	}
	links := make([]any, len(list))
	for i, value := range list {
		moved, err := c.move(ctx, value)
		if err != nil {
			return nil, err
		}
		if class, ok := primitive(moved); ok {
			moved = linkTo(c.add(class, map[string]any{"value": moved}), 0)
		}
		links[i] = moved
	}
	for len(links) > 1 {
		links = c.listed(links)
	}
	return links[0], nil
}

// listed joins values, or lists of values, to lists of up to maxListed.
func (c *compiled) listed(links []any) []any {
	var lists []any
	for group := range slices.Chunk(links, maxListed) {
		inputs := make(map[string]any, len(group))
		for i, link := range group {
			inputs[fmt.Sprintf("inputs.input%d", i)] = link
		}
		lists = append(lists, linkTo(c.add(createList, inputs), 0))
	}
	return lists
}

// findLists reports, for every output of the nodes, whether its value may be a list: because the class declares it,
// or because the node runs once for each element of a list that it reads.
func (c *compiled) findLists() [][]bool {
	nodes := c.r.Segment.Nodes
	mapped := make([]bool, len(nodes))
	for _, in := range c.r.Segment.Inputs {
		if list, ok := c.r.Inputs[in.From].(node.List); ok && len(list) != 1 {
			mapped[in.Node] = true
		}
	}
	lists := make([][]bool, len(nodes))
	for i := range nodes {
		class, known := c.r.Classes.Lookup(nodes[i].Class)
		if !known {
			continue
		}
		for _, link := range nodes[i].Links { // all link to earlier nodes
			mapped[i] = mapped[i] || link.Slot < len(lists[link.Unit]) && lists[link.Unit][link.Slot]
		}
		lists[i] = make([]bool, len(class.Outputs))
		for slot, out := range class.Outputs {
			lists[i][slot] = out.IsList || mapped[i] && !class.InputIsList
		}
	}
	return lists
}
