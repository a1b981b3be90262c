package nodetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// PictureName is the name of a PNG with transparency in the input and output folders of every Files.
const PictureName = "picture.png"

// Files of sound and video in the input folder of every Files.
const (
	SoundName = "sound.wav" // 0.5 s of stereo at 8,000 Hz
	VideoName = "video.gif" // five frames of 16 × 12 pixels, ten a second
)

// Files is an account's files in memory, in one flat namespace, as far as classes use them.
type Files struct {
	mu    sync.Mutex // guards Saved and Asked
	Saved map[string][]byte
	Asked []node.Save
}

var _ node.Files = (*Files)(nil)

// NewFiles returns files with one picture.
func NewFiles() *Files {
	im := image.NewNRGBA(image.Rect(0, 0, 5, 4))
	for i := range 20 {
		im.SetNRGBA(i%5, i/5, color.NRGBA{R: uint8(10 * i), G: 100, B: 50, A: uint8(200 + i)})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, im); err != nil {
		panic(err) // writes to memory cannot fail
	}
	return &Files{Saved: map[string][]byte{PictureName: b.Bytes(), SoundName: wave(), VideoName: clip()}}
}

// wave returns a WAV file of 16-bit samples.
func wave() []byte {
	const rate, channels, samples = 8000, 2, 4000
	var b bytes.Buffer
	b.WriteString("RIFF")
	put := func(values ...any) {
		for _, v := range values {
			if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
				panic(err) // writes to memory cannot fail
			}
		}
	}
	put(uint32(36+samples*channels*2), []byte("WAVEfmt "), uint32(16), uint16(1), uint16(channels), uint32(rate),
		uint32(rate*channels*2), uint16(channels*2), uint16(16), []byte("data"), uint32(samples*channels*2))
	for i := range samples {
		put(int16(i%200*100-10000), int16(i%100*200-10000))
	}
	return b.Bytes()
}

// clip returns an animation.
func clip() []byte {
	var movie gif.GIF
	for i := range 5 {
		frame := image.NewPaletted(image.Rect(0, 0, 16, 12), color.Palette{color.Black, color.Gray{Y: uint8(50 * i)}})
		for p := range frame.Pix {
			frame.Pix[p] = 1
		}
		movie.Image, movie.Delay = append(movie.Image, frame), append(movie.Delay, 10)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &movie); err != nil {
		panic(err) // writes to memory cannot fail
	}
	return b.Bytes()
}

// Open implements node.Files.
func (f *Files) Open(ctx context.Context, name string) (node.Content, error) {
	info, err := f.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return opened{bytes.NewReader(f.Saved[info.Name]), info}, nil
}

// Stat implements node.Files.
func (f *Files) Stat(_ context.Context, name string) (node.Info, error) {
	for _, folder := range []node.Folder{node.FolderInput, node.FolderOutput, node.FolderTemp} {
		name = strings.TrimSuffix(name, " ["+string(folder)+"]")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, ok := f.Saved[name]
	if !ok {
		return node.Info{}, fault.New(fault.NotFound, "", "no file %q", name)
	}
	return node.Info{Name: name, Hash: fmt.Sprintf("blake3:%064x", len(raw)), Size: int64(len(raw))}, nil
}

// List implements node.Files.
func (f *Files) List(_ context.Context, _ node.Folder, limit int) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for name := range f.Saved {
		names = append(names, name)
	}
	slices.Sort(names)
	return names[:min(limit, len(names))], nil
}

// Save implements node.Files. The counter of a file is 1 + its index.
func (f *Files) Save(_ context.Context, s node.Save, write func(io.Writer) error) (node.File, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return node.File{}, err
	}
	name := fmt.Sprintf("%s_%05d%s", s.Prefix, s.Index+1, s.Suffix)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Saved[name] = b.Bytes()
	f.Asked = append(f.Asked, s)
	dir, base := path.Split(name)
	return node.File{Filename: base, Subfolder: strings.TrimSuffix(dir, "/"), Folder: s.Folder}, nil
}

type opened struct {
	*bytes.Reader
	info node.Info
}

// Close implements io.Closer.
func (opened) Close() error { return nil }

// Info implements node.Content.
func (c opened) Info() node.Info { return c.info }
