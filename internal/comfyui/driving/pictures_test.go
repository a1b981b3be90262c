package driving_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
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

// leavesNothing requires that the server has no saved file after those of the last prompt are removed.
func (r *rig) leavesNothing() {
	r.t.Helper()
	require.NotEmpty(r.t, r.machine.Files(node.FolderOutput))
	require.NoError(r.t, r.server.Remove(r.ctx, r.prompt, r.made))
	require.Empty(r.t, r.machine.Files(node.FolderOutput))
}

// stored requires that a file of an element is a file of the account, and returns its name.
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
		"by ComfyUI's class": {"SaveImageWebsocket", "image/png", map[string]any{}, []string{"filename", "subfolder", "type"}},
		"by a class of a pack": {
			classes.SendPictures, "image/png", map[string]any{"format": "PNG"}, []string{"source", "content-type", "filename"},
		},
		"as JPEG": {
			classes.SendPictures, "image/jpeg", map[string]any{"format": "JPEG"}, []string{"source", "content-type", "filename"},
		},
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

// overtaken is a server of which a poll reports the end of a prompt before its second picture arrives.
type overtaken struct {
	comfyui.Server
	ended chan struct{} // closed by the first poll after the end of the prompt
	once  sync.Once
}

// Find implements comfyui.Prompts.
func (o *overtaken) Find(ctx context.Context, id comfyui.PromptID) (comfyui.State, error) {
	state, err := o.Server.Find(ctx, id)
	if state.Status == comfyui.Completed || state.Status == comfyui.Failed {
		o.once.Do(func() { close(o.ended) })
	}
	return state, err
}

// Follow implements comfyui.Prompts.
func (o *overtaken) Follow(ctx context.Context, client string, deliver func(comfyui.Event) error) error {
	pictures := 0
	return o.Server.Follow(ctx, client, func(e comfyui.Event) error {
		if _, ok := e.(comfyui.Preview); ok {
			pictures++
		}
		if pictures == 2 {
			select {
			case <-o.ended:
			case <-ctx.Done():
			}
		}
		return deliver(e)
	})
}

// A poll may find the end of a prompt before the messages about it have arrived. No picture is lost then, even if a later node failed.
func TestPicturesThatArriveAfterAPollAreResults(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		r := simulated(t, sim.Options{Classes: classes.Popular()})
		r.driver = driving.New(driving.Options{LostAfter: time.Minute, Poll: 20 * time.Millisecond})
		r.server = &overtaken{Server: r.server, ended: make(chan struct{})}
		if !fails {
			require.NoError(t, r.run(batch("SaveImageWebsocket", map[string]any{}), "2"))
			require.Len(t, r.elements("images"), 3)
			continue
		}
		g := batch(classes.SendPictures, map[string]any{"format": "PNG"})
		g["3"] = call("CheckpointLoaderSimple", map[string]any{"ckpt_name": "random-sd15.safetensors"})
		g["4"] = call("CLIPTextEncode", map[string]any{"text": "", "clip": from("3", 1)})
		g["5"] = call("VAEEncode", map[string]any{"pixels": from("1", 0), "vae": from("3", 2)})
		g["6"] = call("KSampler", map[string]any{
			"model": from("3", 0), "positive": from("4", 0), "negative": from("4", 0), "latent_image": from("5", 0),
			"seed": 1, "steps": 1, "cfg": 1.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0,
		})
		g["7"] = call("VAEDecode", map[string]any{"samples": from("6", 0), "vae": from("3", 2)})
		g["8"] = call("SaveImage", map[string]any{"images": from("7", 0), "filename_prefix": "x"})
		r.machine.Inject(sim.Raise, 1)
		var failed *driving.NodeError
		require.ErrorAs(t, r.run(g, "2", "8"), &failed)
		require.Equal(t, "6", failed.Node)
		require.Len(t, r.elements("images"), 3)
	}
}

// endless is a server that never sends the messages of the end of a prompt.
type endless struct{ comfyui.Server }

// Follow implements comfyui.Prompts.
func (e *endless) Follow(ctx context.Context, client string, deliver func(comfyui.Event) error) error {
	return e.Server.Follow(ctx, client, func(event comfyui.Event) error {
		switch event.(type) {
		case comfyui.Succeeded, comfyui.Finished:
			return nil
		}
		return deliver(event)
	})
}

// A prompt whose end only polls report ends all the same.
func TestTheMessagesOfTheEndAreAwaitedForABoundedTime(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{Classes: classes.Popular()})
	r.driver = driving.New(driving.Options{LostAfter: 100 * time.Millisecond, Poll: 20 * time.Millisecond})
	r.server = &endless{r.server}
	require.NoError(t, r.run(batch("SaveImageWebsocket", map[string]any{}), "2"))
	require.Len(t, r.elements("images"), 3)
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

	g := batch("HDRPreviewKJ", map[string]any{})
	g["2"] = call("HDRPreviewKJ", map[string]any{"image": from("1", 0)})
	require.NoError(t, r.run(g, "2"))
	deep := r.elements("hdr_preview_data")[0]
	require.EqualValues(t, 3, deep["frame_count"])
	require.Len(t, deep["frames"], 3)
	for _, frame := range deep["frames"].([]any) {
		r.stored(frame.(map[string]any))
	}

	g = batch("ttN imageOutput", map[string]any{})
	g["2"] = call("ttN imageOutput", map[string]any{"image": from("1", 0)})
	require.NoError(t, r.run(g, "2"))
	shown = r.elements("images")
	require.Len(t, shown, 3)
	for _, element := range shown {
		require.NotContains(t, element["filename"], "somebody", "a path on the machine of the server")
		r.stored(element)
	}
}

// A name that stands for a sequence of files becomes one element for each file. If the server has none of them, that is final.
func TestSequenceOfFilesIsCopiedOrRefused(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{Classes: classes.Popular(), Pack: true})
	inputs := map[string]any{"frame_rate": 8.0, "filename_prefix": "frames", "format": "video/8bit-png"}
	require.NoError(t, r.run(batch("VHS_VideoCombine", inputs), "2"))
	r.leavesNothing()
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

// pictureFile returns a PNG file.
func pictureFile(t testing.TB, width int, level uint8) []byte {
	t.Helper()
	pix := bytes.Repeat([]byte{level, 0, 255 - level}, width*8)
	im, err := raster.NewImage8(1, 8, width, 3, pix)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, codec.EncodePNG(t.Context(), &b, im, 0, codec.PNGOptions{}))
	return b.Bytes()
}

// The choices of a pack that list the server's input folder are the account's files and folders, which are sent to the server.
func TestLoadersOfPacksReadFilesOfTheAccount(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{Classes: classes.Popular()})
	r.files.Files.Saved["clip.mp4"] = pictureFile(t, 16, 10)
	r.files.Files.Saved["frames/a.png"], r.files.Files.Saved["frames/more/b.png"] = pictureFile(t, 24, 20), pictureFile(t, 24, 200)
	r.files.Files.Saved["other/c.png"] = pictureFile(t, 32, 30)
	g := prompt{
		"1": call("VHS_LoadVideo", map[string]any{"video": "clip.mp4"}),
		"2": call("HereTakeIMAGE", map[string]any{"value": from("1", 0), "key": "video"}),
		"3": call("VHS_LoadImages", map[string]any{"directory": "frames"}),
		"4": call("HereTakeIMAGE", map[string]any{"value": from("3", 0), "key": "frames"}),
	}
	require.NoError(t, r.run(g, "2", "4"))
	require.Equal(t, 16, r.taken["video"].(*raster.Image).Width())
	frames := r.taken["frames"].(*raster.Image)
	require.Equal(t, 24, frames.Width())
	require.Equal(t, 2, frames.Frames())

	defs, err := r.classes.Definitions(t.Context(), r.files, "VHS_LoadVideo", "VHS_LoadImages")
	require.NoError(t, err)
	raw, err := json.Marshal(defs)
	require.NoError(t, err)
	require.JSONEq(t, `["frames","frames/more","other"]`, choices(t, raw, "VHS_LoadImages", "directory"))
	require.JSONEq(t, `["clip.mp4"]`, choices(t, raw, "VHS_LoadVideo", "video"))

	for class, input := range map[string]string{"VHS_LoadVideo": "video", "VHS_LoadImages": "directory"} {
		known, ok := r.classes.Lookup(class)
		require.True(t, ok)
		for _, name := range []string{"missing", "millrace", "3d", "../frames"} {
			err := known.Check(t.Context(), r.files, node.Args{input: name})
			require.ErrorContains(t, err, "Invalid ", name)
		}
	}
}

// choices returns the choices of an input in definitions.
func choices(t testing.TB, raw []byte, class, input string) string {
	t.Helper()
	var all map[string]struct {
		Input struct{ Required map[string][]json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(raw, &all))
	return string(all[class].Input.Required[input][0])
}

// picky is a server that refuses files of nodes which do not lie directly in its input folder, and keeps the prompts that it gets.
type picky struct {
	comfyui.Server
	refuses string // a node and the beginning of the refused value; "" = nothing
	prompts []string
	put     []string
}

// Put implements comfyui.Server.
func (p *picky) Put(ctx context.Context, u comfyui.Upload) (comfyui.File, error) {
	p.put = append(p.put, u.Subfolder+"/"+u.Name)
	return p.Server.Put(ctx, u)
}

// Submit implements comfyui.Server.
func (p *picky) Submit(ctx context.Context, prompt comfyui.Prompt) (comfyui.Submitted, error) {
	p.prompts = append(p.prompts, string(prompt.Graph))
	if p.refuses != "" && strings.Contains(string(prompt.Graph), `"video":"millrace/`) {
		e := comfyui.ValidationError{Type: "value_not_in_list", Details: "video: 'millrace/x.mp4' not in []"}
		return comfyui.Submitted{}, &comfyui.Refusal{Nodes: map[string]comfyui.NodeErrors{p.refuses: {Errors: []comfyui.ValidationError{e}}}}
	}
	return p.Server.Submit(ctx, prompt)
}

// A class that reads only files which lie directly in the input folder gets them there.
func TestFilesGoWhereTheClassListsThem(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{Classes: classes.Popular()})
	server := &picky{Server: r.server, refuses: "1"}
	r.server = server
	r.files.Files.Saved["clip.mp4"] = pictureFile(t, 16, 10)
	g := prompt{
		"1": call("VHS_LoadVideo", map[string]any{"video": "clip.mp4"}),
		"2": call("HereTakeIMAGE", map[string]any{"value": from("1", 0), "key": "video"}),
	}
	require.NoError(t, r.run(g, "2"))
	require.Len(t, server.prompts, 2)
	require.Contains(t, server.prompts[1], `"video":"millrace-`)
	require.True(t, strings.HasPrefix(server.put[len(server.put)-1], "/millrace-"), "%v", server.put)
}

// A class of a pack that asks for the prompt finds the nodes of the whole graph, as submitted, and does not run them.
func TestClassThatAsksForThePromptSeesTheWholeGraph(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{Classes: classes.Popular()})
	server := &picky{Server: r.server}
	r.server = server
	r.given["elsewhere"] = "a value"
	g := prompt{
		"5":  call("HereGiveSTRING", map[string]any{"key": "elsewhere"}),
		"6":  call("HereTakeSTRING", map[string]any{"value": from("5", 0), "key": "other"}),
		"7":  call("WidgetToString", map[string]any{"widget_name": "key", "id": 5}),
		"8":  call("HereTakeSTRING", map[string]any{"value": from("7", 0), "key": "widget"}),
		"9":  call("SaveImage", map[string]any{"images": from("10", 0), "filename_prefix": "x"}),
		"10": call("EmptyImage", map[string]any{"width": 16, "height": 16, "batch_size": 1, "color": 0}),
	}
	require.NoError(t, r.run(g, "6", "8"))
	require.Equal(t, "elsewhere", r.taken["widget"])
	require.Len(t, server.prompts, 1)
	require.NotContains(t, r.got.ended, "9", "an output node of another part of the graph ran")
}

// The nodes of a prompt and their inputs keep the order of the submission, in which some classes read them.
func TestPromptKeepsTheOrderOfTheSubmission(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{})
	server := &picky{Server: r.server}
	r.server = server
	const submitted = `{"20":{"inputs":{"width":16,"height":8,"batch_size":1,"color":7},"class_type":"EmptyImage"},` +
		`"3":{"class_type":"SaveImage","inputs":{"images":["20",0],"filename_prefix":"x"},"_meta":{"title":"Save"}}}`
	require.NoError(t, r.runRaw(json.RawMessage(submitted), "3"))
	require.Regexp(t, `"20":\{"class_type":"EmptyImage","inputs":\{"width":16,"height":8,"batch_size":1,"color":7\}\},`+
		`"3":\{"class_type":"SaveImage","inputs":\{"images":\["20",0\],"filename_prefix":"[^"]+".*\},`+
		`"_meta":\{"title":"Save"\}\}`, server.prompts[0])
}

// The folder of a prefix exists before a class of a pack saves into it, also one that makes a folder with the name of the prefix.
func TestFolderOfAPrefixExists(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{Classes: classes.Popular(), Pack: true})
	g := prompt{"2": call("SaveStringKJ", map[string]any{"string": "words", "filename_prefix": "notes/today"})}
	require.NoError(t, r.run(g, "2"))
	r.leavesNothing()
	require.Len(t, r.elements("text"), 1)
	require.Equal(t, "notes", r.elements("text")[0]["subfolder"])
	r.stored(r.elements("text")[0])

	g = batch("Save Image Sequence (mtb)", map[string]any{"filename_prefix": "Sequence", "current_frame": 0})
	g["1"] = call("EmptyImage", map[string]any{"width": 64, "height": 48, "batch_size": 1, "color": 255})
	require.NoError(t, r.run(g, "2"))
	r.leavesNothing()
	require.Len(t, r.elements("images"), 1)
	require.Equal(t, "Sequence", r.elements("images")[0]["subfolder"])
	r.stored(r.elements("images")[0])
}
