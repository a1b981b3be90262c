package driving_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// A saved file contains the submitted graph, as ComfyUI writes it, whatever prompt was sent; the file itself is
// intact.
func TestSavedFilesCarryTheSubmittedGraph(t *testing.T) {
	t.Parallel()
	savedGraphs(t, simulated(t, sim.Options{Media: tool(t)}))
}

func TestRealServersSavedFilesCarryTheSubmittedGraph(t *testing.T) {
	for _, address := range realServers() {
		t.Run(strings.TrimPrefix(address, "http://"), func(t *testing.T) { savedGraphs(t, newRig(t, address, tool(t))) })
	}
}

func savedGraphs(t *testing.T, r *rig) {
	t.Helper()
	r.given["text"] = "a \"cat\" – größer"
	g := prompt{
		"text": call("HereGiveSTRING", map[string]any{"key": "text"}),
		"name": call("StringConcatenate", map[string]any{"string_a": from("text", 0), "string_b": "<b> & \"ü\"", "delimiter": ""}),
		"show": call("PreviewAny", map[string]any{"source": from("name", 0)}),
		"im":   call("EmptyImage", map[string]any{"width": 64, "height": 48, "batch_size": 4, "color": 255}),
		"au":   call("EmptyAudio", map[string]any{"duration": 0.5, "sample_rate": 44100, "channels": 2}),
		"vi":   call("CreateVideo", map[string]any{"images": from("im", 0), "fps": 8.0}),
		"s1":   call("SaveImage", map[string]any{"images": from("im", 0), "filename_prefix": "m/png"}),
		"s2":   call("PreviewImage", map[string]any{"images": from("im", 0)}),
		"s3":   call("SaveAnimatedPNG", map[string]any{"images": from("im", 0), "filename_prefix": "m/apng", "fps": 6.0, "compress_level": 4}),
		"s4": call("SaveAnimatedWEBP", map[string]any{
			"images": from("im", 0), "filename_prefix": "m/webp", "fps": 6.0, "lossless": true, "quality": 80, "method": "default",
		}),
		"s5": call("SaveAudio", map[string]any{"audio": from("au", 0), "filename_prefix": "m/flac"}),
		"s6": call("SaveAudioMP3", map[string]any{"audio": from("au", 0), "filename_prefix": "m/mp3", "quality": "V0"}),
		"s7": call("SaveAudioOpus", map[string]any{"audio": from("au", 0), "filename_prefix": "m/opus", "quality": "128k"}),
		"s8": call("PreviewAudio", map[string]any{"audio": from("au", 0)}),
		"s9": call("SaveVideo", map[string]any{
			"video": from("vi", 0), "filename_prefix": "m/mp4", "format": "auto", "codec": "auto",
			"format.codec": "auto",
		}),
		"sa": call("SaveWEBM", map[string]any{"images": from("im", 0), "filename_prefix": "m/webm", "codec": "vp9", "fps": 24.0, "crf": 32.0}),
	}
	outputs := []string{"show", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "sa"}
	before := len(r.files.Files.Saved)
	require.NoError(t, r.run(g, outputs...))
	kinds := map[string]int{}
	for name, content := range r.files.Files.Saved {
		if !strings.Contains(name, "-") { // the file existed before
			continue
		}
		kinds[path.Ext(name)]++
		requireGraph(t, name, content, g)
		requireWhole(t, r, name, content)
	}
	require.Len(t, r.files.Files.Saved, before+16)
	require.Equal(t, map[string]int{".png": 9, ".webp": 1, ".flac": 2, ".mp3": 1, ".opus": 1, ".mp4": 1, ".webm": 1}, kinds)
}

// requireGraph requires that a file contains the graph and nothing else of the prompt.
func requireGraph(t *testing.T, name string, content []byte, want prompt) {
	t.Helper()
	require.NotContains(t, string(content), "millrace", name)
	at := bytes.Index(content, []byte(`{"text": {"`))
	if at < 0 {
		at = bytes.Index(content, []byte(`{"au": {"`)) // the sender determines the order
	}
	require.Positive(t, at, name)
	var got prompt
	require.NoError(t, json.NewDecoder(bytes.NewReader(content[at:])).Decode(&got), name)
	raw, err := json.Marshal(want)
	require.NoError(t, err)
	said, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(raw), string(said), name)
}

// requireWhole requires that a file can be decoded.
func requireWhole(t *testing.T, r *rig, name string, content []byte) {
	t.Helper()
	var err error
	switch path.Ext(name) {
	case ".png":
		_, err = png.Decode(bytes.NewReader(content))
	case ".flac", ".mp3", ".opus":
		_, err = tool(t).Sound(r.ctx, bytes.NewReader(content), ffmpeg.Part{}, 1<<30)
	case ".mp4", ".webm":
		_, err = tool(t).Video(r.ctx, bytes.NewReader(content), ffmpeg.Part{}, raster.DefaultMaxPixels)
	}
	require.NoError(t, err, name)
}
