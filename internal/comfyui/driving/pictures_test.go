package driving_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/sim/comfyui/classes"
)

// batch returns a graph that hands three pictures to an output node.
func batch(class string, inputs map[string]any) prompt {
	inputs["images"] = from("1", 0)
	return prompt{
		"1": call("EmptyImage", map[string]any{"width": 64, "height": 48, "batch_size": 3, "color": 255}),
		"2": call(class, inputs),
	}
}

// elements returns the elements of the UI output of node 2, as clients read them.
func (r *rig) elements(key string) []map[string]any {
	r.t.Helper()
	raw, err := json.Marshal(r.got.shown["2"][key])
	require.NoError(r.t, err)
	var elements []map[string]any
	require.NoError(r.t, json.Unmarshal(raw, &elements))
	return elements
}

// require that a file of an element is a file of the account, and return its name.
func (r *rig) stored(element map[string]any) string {
	r.t.Helper()
	name := element["filename"].(string)
	if sub, _ := element["subfolder"].(string); sub != "" {
		name = sub + "/" + name
	}
	file, err := r.files.Open(r.ctx, name+" ["+element["type"].(string)+"]")
	require.NoError(r.t, err)
	require.NoError(r.t, file.Close())
	return name
}

// The pictures that a node sends over the socket are results: all reach the watchers, in order, and the account keeps their files.
func TestPicturesSentOverTheSocketAreResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class, kind string
		inputs      map[string]any
		keys        []string
	}{
		"by ComfyUI's class":   {"SaveImageWebsocket", "image/png", map[string]any{}, []string{"filename", "subfolder", "type"}},
		"by a class of a pack": {classes.SendPictures, "image/png", map[string]any{"format": "PNG"}, []string{"source", "content-type", "filename"}},
		"as JPEG":              {classes.SendPictures, "image/jpeg", map[string]any{"format": "JPEG"}, []string{"source", "content-type", "filename"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := simulated(t, sim.Options{Classes: classes.Popular()})
			require.NoError(t, r.run(batch(c.class, c.inputs), "2"))
			require.Len(t, r.got.pictures, 3)
			require.Equal(t, []string{"picture 2 " + c.kind, "picture 2 " + c.kind, "picture 2 " + c.kind}, r.got.noted[3:6], r.got.noted)
			shown := r.elements("images")
			require.Len(t, shown, 3)
			for i, element := range shown {
				file, err := r.files.Open(t.Context(), r.stored(element)+" [output]")
				require.NoError(t, err)
				require.EqualValues(t, len(r.got.pictures[i]), file.Info().Size)
				for _, key := range c.keys {
					require.Contains(t, element, key)
				}
			}
		})
	}
}

// A driver that did not see a node run cannot have all of its pictures.
func TestPicturesThatWereMissedAreReported(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"SaveImageWebsocket", classes.SendPictures} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			r := simulated(t, sim.Options{Classes: classes.Popular()})
			r.machine.Inject(sim.Mute, 1)
			err := r.run(batch(class, map[string]any{"format": "PNG"}), "2")
			require.Equal(t, fault.CodePicturesMissed, fault.CodeOf(err), "%v", err)
		})
	}
}

// Elements of outputs keep every member, and files that they name at any depth are copied.
func TestFilesOfPacksAreCopiedAndRenamed(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{Classes: classes.Popular()})
	inputs := map[string]any{"frame_rate": 12.5, "filename_prefix": "clips/tmp", "format": "video/h264-mp4"}
	require.NoError(t, r.run(batch("VHS_VideoCombine", inputs), "2"))
	shown := r.elements("gifs")
	require.Len(t, shown, 1)
	require.Equal(t, "video/h264-mp4", shown[0]["format"])
	require.InDelta(t, 12.5, shown[0]["frame_rate"], 0)
	require.NotContains(t, shown[0], "fullpath", "a path on the machine of the server")
	require.True(t, strings.HasSuffix(r.stored(shown[0]), "-audio.mp4"))
	require.NotEqual(t, shown[0]["filename"], shown[0]["workflow"])
	r.stored(map[string]any{"filename": shown[0]["workflow"], "subfolder": shown[0]["subfolder"], "type": "output"})

	require.NoError(t, r.run(batch("HDRPreviewKJ", map[string]any{}), "2"))
	deep := r.elements("hdr_preview_data")[0]
	require.EqualValues(t, 3, deep["frame_count"])
	require.Len(t, deep["frames"], 3)
	for _, frame := range deep["frames"].([]any) {
		r.stored(frame.(map[string]any))
	}
}

// A name that stands for a sequence of files becomes one element for each file. If the server has none of them, that is final.
func TestSequenceOfFilesIsCopiedOrRefused(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{Classes: classes.Popular()})
	inputs := map[string]any{"frame_rate": 8.0, "filename_prefix": "frames", "format": "video/8bit-png"}
	require.NoError(t, r.run(batch("VHS_VideoCombine", inputs), "2"))
	shown := r.elements("gifs")
	require.Len(t, shown, 3)
	for _, element := range shown {
		r.stored(element)
		require.Equal(t, "video/8bit-png", element["format"])
	}

	inputs["format"] = "video/lost-png"
	err := r.run(batch("VHS_VideoCombine", inputs), "2")
	require.ErrorContains(t, err, "%03d")
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
}

