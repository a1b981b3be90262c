package comfyuitest

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maxFile bounds the files of the suite.
const maxFile = 1 << 20

// files tests Files.
var files = map[string]func(*testing.T, *bench){
	"SavedPictureIsFetched": func(t *testing.T, b *bench) {
		saved := b.run(t, b.picture(0x336699)).Outputs["2"].Files[0]
		picture := b.decode(t, saved)
		require.Equal(t, image.Rect(0, 0, 64, 48), picture.Bounds())
		require.Equal(t, color.NRGBA{0x33, 0x66, 0x99, 0xff}, color.NRGBAModel.Convert(picture.At(5, 5)))
	},
	"LargerFileThanTheLimitIsRefused": func(t *testing.T, b *bench) {
		saved := b.run(t, b.picture(11)).Outputs["2"].Files[0]
		_, err := b.Fetch(b.ctx, saved, 20)
		require.Equal(t, fault.CodeTooLarge, fault.CodeOf(err))
	},
	"AbsentFile": func(t *testing.T, b *bench) {
		_, err := b.Fetch(b.ctx, comfyui.File{Name: b.name, Type: comfyui.FolderOutput}, maxFile)
		require.Equal(t, fault.CodeServerFileNotFound, fault.CodeOf(err))
	},
	"NamesThatLeadOutsideAreRefused": func(t *testing.T, b *bench) {
		for _, f := range []comfyui.File{
			{Name: "../x.png", Type: comfyui.FolderInput},
			{Name: "x.png", Subfolder: "../..", Type: comfyui.FolderInput},
			{Name: "x.png", Subfolder: "/etc", Type: comfyui.FolderInput},
			{Name: "", Type: comfyui.FolderInput},
			{Name: "x.png", Type: "models"},
		} {
			_, err := b.Fetch(b.ctx, f, maxFile)
			require.Equal(t, fault.CodeUnsafeName, fault.CodeOf(err), "%+v", f)
			_, err = b.Put(b.ctx, comfyui.Upload{Name: f.Name, Subfolder: f.Subfolder, Folder: f.Type, Body: strings.NewReader("")})
			require.Equal(t, fault.CodeUnsafeName, fault.CodeOf(err), "%+v", f)
		}
	},
	"UploadedFileIsThere": func(t *testing.T, b *bench) {
		stored := b.put(t, b.name+".txt", "some bytes")
		require.Equal(t, comfyui.File{Name: b.name + ".txt", Subfolder: "suite/deep", Type: comfyui.FolderInput}, stored)
		require.Equal(t, "some bytes", string(b.read(t, stored)))
	},
	"SameContentIsStoredOnce": func(t *testing.T, b *bench) {
		name := b.name + ".bin"
		require.Equal(t, b.put(t, name, "one"), b.put(t, name, "one"))
	},
	"OtherContentGetsAnotherName": func(t *testing.T, b *bench) {
		name := b.name + ".bin"
		first, second := b.put(t, name, "one"), b.put(t, name, "two")
		require.NotEqual(t, first.Name, second.Name)
		require.Equal(t, "one", string(b.read(t, first)))
		require.Equal(t, "two", string(b.read(t, second)))
	},
	"UploadedPictureIsLoaded": func(t *testing.T, b *bench) {
		drawn := image.NewNRGBA(image.Rect(0, 0, 64, 48))
		for i := range drawn.Pix {
			drawn.Pix[i] = uint8(i*7) | uint8(255*(i%4/3)) // every fourth byte is alpha, fully opaque
		}
		var raw bytes.Buffer
		require.NoError(t, png.Encode(&raw, drawn))
		stored := b.put(t, b.name+".png", raw.String())
		outcome := b.run(t, graph{
			"1": {"LoadImage", map[string]any{"image": stored.Reference()}},
			"2": {"SaveImage", map[string]any{"images": link("1", 0), "filename_prefix": "suite/" + b.name}},
		})
		loaded := b.decode(t, outcome.Outputs["2"].Files[0])
		for _, at := range []image.Point{{0, 0}, {63, 0}, {31, 40}, {63, 47}} {
			require.Equal(t, drawn.At(at.X, at.Y), color.NRGBAModel.Convert(loaded.At(at.X, at.Y)))
		}
	},
	"LatentIsSavedAndLoaded": func(t *testing.T, b *bench) {
		g := b.sample(t, 64, 1)
		g["7"] = node{"SaveLatent", map[string]any{"samples": link("5", 0), "filename_prefix": "suite/" + b.name}}
		delete(g, "6")
		saved := b.run(t, g).Outputs["7"].Files[0]
		require.Equal(t, "latents", saved.Kind)
		again := b.run(t, graph{
			"1": {"LoadLatent", map[string]any{"latent": saved.Reference()}},
			"2": {"SaveLatent", map[string]any{"samples": link("1", 0), "filename_prefix": "suite/again-" + b.name}},
		}).Outputs["2"].Files[0]
		first, second := b.read(t, saved), b.read(t, again)
		size := 4 * 4 * 8 * 8 // float32, four channels of 8 × 8
		require.Equal(t, first[len(first)-size:], second[len(second)-size:])
	},
	"FilesOfAPromptAreRemoved": func(t *testing.T, b *bench) {
		p := prompt(t, b.picture(0x123456))
		p.Client = string(p.ID)
		p.Graph = bytes.ReplaceAll(p.Graph, []byte("suite/"), []byte(comfyui.FilesFolder+"/"+string(p.ID)+"/"))
		state := b.runAny(t, p)
		require.Equal(t, comfyui.Completed, state.Status)
		saved, shown := state.Outcome.Outputs["2"].Files[0], state.Outcome.Outputs["3"].Files[0]
		if !b.hasPack(t) {
			require.Equal(t, fault.CodeServerFileNotFound, fault.CodeOf(b.Remove(b.ctx, p.ID, []comfyui.File{saved, shown})))
			return
		}
		other := b.run(t, b.picture(0x654321)).Outputs["2"].Files[0]
		require.Error(t, b.Remove(b.ctx, p.ID, []comfyui.File{saved, other}), "a file of another prompt")
		require.Error(t, b.Remove(b.ctx, comfyui.NewPromptID(uuid.New()), []comfyui.File{saved}), "another prompt")
		require.NotEmpty(t, b.read(t, saved))
		for range 2 { // a repeated request finds nothing to do
			require.NoError(t, b.Remove(b.ctx, p.ID, []comfyui.File{saved, shown}))
		}
		for _, f := range []comfyui.File{saved, shown} {
			_, err := b.Fetch(b.ctx, f, maxFile)
			require.Equal(t, fault.CodeServerFileNotFound, fault.CodeOf(err))
		}
		require.NotEmpty(t, b.read(t, other))
	},
}

// put stores a file in a subfolder.
func (b *bench) put(t *testing.T, name, content string) comfyui.File {
	t.Helper()
	stored, err := b.Put(b.ctx, comfyui.Upload{
		Name: name, Subfolder: "suite/deep", Size: int64(len(content)),
		Body: strings.NewReader(content),
	})
	require.NoError(t, err)
	return stored
}

// read fetches a whole file.
func (b *bench) read(t *testing.T, f comfyui.File) []byte {
	t.Helper()
	d, err := b.Fetch(b.ctx, f, maxFile)
	require.NoError(t, err)
	raw, err := io.ReadAll(d)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.EqualValues(t, d.Size, len(raw))
	return raw
}

// decode fetches a picture.
func (b *bench) decode(t *testing.T, f comfyui.File) image.Image {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(b.read(t, f)))
	require.NoError(t, err)
	return picture
}

// hasPack reports whether the server has the node pack of this repository.
func (b *bench) hasPack(t *testing.T) bool {
	t.Helper()
	classes, err := b.Classes(b.ctx, "")
	require.NoError(t, err)
	return slices.Contains(classes.Names, "LosslessSaveImage")
}
