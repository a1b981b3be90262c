package nodeclass_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/color"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/nodeclass"
)

// errAsked ends a run as soon as its request is known.
var errAsked = errors.New("asked")

// asked is a node.Models that records the request of a run.
type asked struct {
	model string
	body  []byte
}

func (a *asked) Run(_ context.Context, model, _ string, body []byte) (node.ModelAnswer, error) {
	a.model, a.body = model, body
	return node.ModelAnswer{}, errAsked
}

func (*asked) Fetch(context.Context, string, string) (node.ModelAnswer, error) {
	return node.ModelAnswer{}, errAsked
}

func originals(t *testing.T, served func(*catalog.Model) bool) (*catalog.Snapshot, map[string]*node.Class) {
	t.Helper()
	all, err := catalog.Load(catalog.Options{})
	require.NoError(t, err)
	tool, err := ffmpeg.Find("")
	require.NoError(t, err)
	classes, err := nodeclass.Originals(all.Snapshot(), served, tool)
	require.NoError(t, err)
	byName := map[string]*node.Class{}
	for _, c := range classes {
		byName[c.Name] = c
	}
	return all.Snapshot(), byName
}

// The requests of ComfyUI's partner nodes, with the initial values of their widgets and with every picture, match the
// schema of their model, for every available model that a node offers.
func TestRequestsOfOriginalNodesAreAccepted(t *testing.T) {
	t.Parallel()
	snapshot, classes := originals(t, func(*catalog.Model) bool { return true })
	require.GreaterOrEqual(t, len(classes), 152)
	files := nodetest.NewFiles()
	for name, c := range classes {
		ran := 0
		for _, choice := range choicesOf(c) {
			for pictures := range 4 {
				a := &asked{}
				_, err := c.Run(t.Context(), &node.Call{Args: arguments(t, c, choice, pictures), Models: a, Files: files})
				if !errors.Is(err, errAsked) {
					continue // a model that is not available, or pictures that the model does not take
				}
				ran++
				m, ok := snapshot.Find(a.model)
				require.True(t, ok, a.model)
				require.Empty(t, m.Validate(a.body), "%s: %s", name, a.body)
				require.Empty(t, m.UnknownFields(a.body), "%s: %s", name, a.body)
			}
		}
		require.Positive(t, ran, name)
	}
}

// choicesOf returns the choices of a node's model, and "" for a node without them.
func choicesOf(c *node.Class) []string {
	choices := []string{""}
	for _, in := range c.Inputs {
		if in.Name == "model" {
			choices = in.Options
			offered, _ := in.Extra["options"].(node.Choices)
			for _, o := range offered {
				choices = append(choices, o.Key)
			}
		}
	}
	return choices
}

// arguments returns the values that a client sends for a node with untouched widgets: with the required pictures, with the
// first of each growing list too, with all, or with those of growing lists alone.
func arguments(t *testing.T, c *node.Class, choice string, pictures int) node.Args {
	t.Helper()
	picture, err := raster.Engine{}.Solid(t.Context(), 1, 2, 2, []uint8{255, 0, 0})
	require.NoError(t, err)
	mask, err := raster.NewMask(1, 1, 1, []float32{1})
	require.NoError(t, err)
	sound, err := media.NewSound(8000, [][]float32{make([]float32, 8000)})
	require.NoError(t, err)
	args := node.Args{}
	first := map[string]bool{}
	given := func(name string) (any, bool) {
		if name == "model" && choice != "" {
			return choice, true
		}
		if chosen, is := firstChoice(c.Inputs, name); is {
			return chosen, true
		}
		list, element, grows := cutLast(name)
		if !grows || !strings.Contains(element, "image") && !strings.HasPrefix(element, "reference_") {
			return nil, false
		}
		if strings.HasSuffix(element, "0") || strings.HasSuffix(element, "1") && !first[list+"0"] {
			first[list+element[len(element)-1:]] = true
			return picture, pictures > 0 || list == "keyframes"
		}
		return picture, pictures > 1
	}
	for _, in := range c.Declared(given) {
		value, grown := given(in.Name)
		switch {
		case in.Type == node.DynamicComboType, in.Name == "model" && choice != "":
			args[in.Name] = value
		case in.Type == node.Image:
			if grown || pictures == 1 || pictures == 2 || in.Section == node.Required {
				args[in.Name] = picture
			}
		case in.Type == node.Video:
			if in.Section == node.Required {
				args[in.Name] = &media.Video{File: nodetest.VideoName}
			}
		case in.Type == node.Audio:
			if in.Section == node.Required {
				args[in.Name] = sound
			}
		case in.Type == node.Mask:
			if in.Section == node.Required {
				args[in.Name] = mask
			}
		case strings.HasSuffix(in.Name, "_asset_id"), in.Type == node.String && strings.HasPrefix(in.Name, "custom_"): // ids of a service
		case in.Name == "background_color":
			args[in.Name] = "#00ff00"
		case in.Type == node.String, strings.HasSuffix(string(in.Type), "_TASK_ID"):
			args[in.Name] = "16:9"
		case in.Name == "duration" && in.Type == node.Combo && !strings.ContainsAny(strings.Join(in.Options, ""), "abcdefghijklmnopqrstuvwxyz"):
			args[in.Name] = int64(10) // the choices are numbers
			if len(in.Options) > 0 {
				args[in.Name] = in.Options[len(in.Options)-1]
			}
		case in.Default != nil:
			args[in.Name] = in.Default
		case len(in.Options) > 0:
			args[in.Name] = in.Options[0]
		}
	}
	return args
}

// firstChoice returns the first choice of an input that is made of choices with inputs of their own.
func firstChoice(inputs []node.Input, name string) (any, bool) {
	for _, in := range inputs {
		offered, is := in.Extra["options"].(node.Choices)
		if !is || in.Type != node.DynamicComboType {
			continue
		}
		if in.Name == name && len(offered) > 0 {
			return offered[0].Key, true
		}
		for _, o := range offered {
			if rest, found := strings.CutPrefix(name, in.Name+"."); found {
				if chosen, is := firstChoice(o.Inputs, rest); is {
					return chosen, true
				}
			}
		}
	}
	return nil, false
}

func cutLast(name string) (before, last string, found bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

func TestRequestsOfOriginalNodes(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	for _, c := range append(askingsWithFiles(t), []asking{
		{
			"FluxProUltraImageNode",
			node.Args{
				"prompt": "a <b>", "prompt_upsampling": false, "seed": int64(7), "aspect_ratio": "1:1", "raw": true,
				"image_prompt_strength": 0.1,
			},
			"bfl/flux-pro-1.1-ultra", `{"prompt":"a <b>","prompt_upsampling":false,"seed":7,"aspect_ratio":"1:1","raw":true}`,
		},
		{
			"OpenAIGPTImage1",
			node.Args{
				"model": "gpt-image-2", "prompt": "a", "n": int64(2), "size": "Custom", "custom_width": int64(1024),
				"custom_height": int64(2048),
			},
			"openai/gpt-image-2", `{"model":"gpt-image-2","prompt":"a","n":2,"size":"1024x2048"}`,
		},
		{
			"KlingTextToVideoWithAudio",
			node.Args{
				"model_name": "kling-v2-6", "prompt": "a", "mode": "pro", "aspect_ratio": "1:1", "duration": int64(10),
				"generate_audio": true,
			},
			"kling/kling-v2-6-text2video", `{"model_name":"kling-v2-6","prompt":"a","mode":"pro","aspect_ratio":"1:1","duration":"10","sound":"on"}`,
		},
		{
			"KlingVideoNode",
			node.Args{
				"model": "kling-v3", "model.resolution": "720p", "model.aspect_ratio": "1:1", "generate_audio": false, "multi_shot": "2 storyboards",
				"multi_shot.storyboard_1_prompt": "a", "multi_shot.storyboard_1_duration": int64(4), "multi_shot.storyboard_2_prompt": "b",
				"multi_shot.storyboard_2_duration": int64(3),
			},
			"kling/kling-v3-text2video", `{"model_name":"kling-v3","mode":"std","aspect_ratio":"1:1","sound":"off","duration":"7",` +
				`"multi_shot":true,"shot_type":"customize",
				"multi_prompt":[{"index":1,"prompt":"a","duration":"4"},{"index":2,"prompt":"b","duration":"3"}]}`,
		},
		{
			"GeminiImage2Node",
			node.Args{
				"model": "gemini-3-pro-image-preview", "prompt": "a", "aspect_ratio": "auto", "resolution": "2K",
				"response_modalities": "IMAGE", "system_prompt": "",
			},
			"google/gemini-3-pro-image", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],` +
				`"generationConfig":{"responseModalities":["IMAGE"],"imageConfig":{"imageSize":"2K"}}}`,
		},
		{
			"OpenAIGPTImageNodeV2",
			node.Args{
				"model": "gpt-image-2", "prompt": "a", "n": int64(1), "model.size": "Custom", "model.custom_width": int64(1024),
				"model.custom_height": int64(2048), "model.quality": "low", "model.background": "auto",
			},
			"openai/gpt-image-2", `{"model":"gpt-image-2","prompt":"a","n":1,"size":"1024x2048","quality":"low","background":"auto"}`,
		},
		{
			"ByteDance2TextToVideoNode",
			node.Args{
				"model": "Seedance 2.0", "model.prompt": "a", "model.resolution": "720p", "model.ratio": "16:9", "model.duration": int64(7),
				"model.generate_audio": true, "seed": int64(3), "watermark": false,
			},
			"byteplus/dreamina-seedance-2-0-260128", `{"model":"dreamina-seedance-2-0-260128","content":[{"type":"text","text":"a"}],` +
				`"generate_audio":true,"resolution":"720p","ratio":"16:9","duration":7,"seed":3,"watermark":false}`,
		},
		{
			"ByteDanceSeedreamNodeV3",
			node.Args{
				"model": "seedream-4-5-251128", "prompt": "a", "model.size_preset": "(2K) 1728x2304 (3:4)", "model.max_images": int64(3),
				"model.watermark": true,
			},
			"byteplus/seedream-4-5-251128", `{"model":"seedream-4-5-251128","prompt":"a","size":"1728x2304","sequential_image_generation":"auto",` +
				`"sequential_image_generation_options":{"max_images":3},"watermark":true}`,
		},
		{
			"KlingTextToVideoNode",
			node.Args{
				"prompt": "a", "negative_prompt": "", "cfg_scale": 0.5, "aspect_ratio": "1:1",
				"mode": "pro mode / 10s duration / kling-v2-5-turbo",
			},
			"kling/kling-v2-5-turbo-text2video", `{"model_name":"kling-v2-5-turbo","prompt":"a","cfg_scale":0.5,"aspect_ratio":"1:1",` +
				`"mode":"pro","duration":"10"}`,
		},
		{
			"ByteDanceSeedreamNode",
			node.Args{"model": "seedream-4-5-251128", "prompt": "a", "size_preset": "2304x1728 (4:3)"},
			"byteplus/seedream-4-5-251128", `{"model":"seedream-4-5-251128","prompt":"a","size":"2304x1728",` +
				`"sequential_image_generation":"disabled","watermark":false}`,
		},
	}...) {
		a := &asked{}
		_, err := classes[c.class].Run(t.Context(), &node.Call{Args: c.args, Models: a, Files: nodetest.NewFiles()})
		require.ErrorIs(t, err, errAsked, c.class)
		require.Equal(t, c.model, a.model)
		require.JSONEq(t, c.want, shortened(a.body), c.class)
	}
	for class, args := range map[string]node.Args{
		"OpenAIGPTImage1": {"model": "gpt-image-1", "prompt": "a"}, "GrokImageNode": {"model": "grok-imagine-image-2.0", "prompt": "a"},
	} {
		_, err := classes[class].Run(t.Context(), &node.Call{Args: args, Models: &asked{}})
		require.ErrorContains(t, err, "is not available", class)
	}
}

// A video is a file that other nodes read. It is not an output of the node itself.
func TestAnOriginalNodeGivesAVideo(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	files := nodetest.NewFiles()
	res, err := classes["Veo3VideoGenerationNode"].Run(t.Context(), &node.Call{
		NodeID: "1", Args: node.Args{"model": "veo-3.1-generate", "prompt": "waves", "aspect_ratio": "16:9"}, Files: files,
		Models: &answers{
			contentType: "application/json",
			text:        `{"name":"x","done":true,"response":{"videos":[{"bytesBase64Encoded":"AAAAGGZ0eXBtcDQyAAAAAA=="}]}}`,
		},
	})
	require.NoError(t, err)
	require.Empty(t, res.UI)
	video, ok := res.Outputs[0].(*media.Video)
	require.True(t, ok)
	require.Contains(t, video.File, "[temp]")
}

// A provider learns the type of a video from its content if its file was stored without one.
func TestAVideoIsSentWithItsType(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	a := &asked{}
	_, err := classes["RunwayAleph2VideoToVideoNode"].Run(t.Context(), &node.Call{
		Args: node.Args{"prompt": "a", "video": &media.Video{File: nodetest.VideoName}, "seed": int64(1)}, Models: a, Files: nodetest.NewFiles(),
	})
	require.ErrorIs(t, err, errAsked)
	require.Contains(t, string(a.body), `"videoUri":"data:image/gif;base64,`)
}

// A text output that is not the model's text is found in the answer.
func TestAnOriginalNodeNamesItsClip(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	res, err := classes["KlingTextToVideoNode"].Run(t.Context(), &node.Call{
		NodeID: "1", Files: nodetest.NewFiles(),
		Args: node.Args{
			"prompt": "a", "negative_prompt": "", "cfg_scale": 0.5, "aspect_ratio": "1:1",
			"mode": "pro mode / 5s duration / kling-v2-5-turbo",
		},
		Models: &answers{
			contentType: "application/json", text: `{"data":{"task_result":{"videos":[{"id":"v-7","url":"https://example.com/v.mp4",` +
				`"duration":"5.1"}]}}}`,
			file: "\x00\x00\x00\x18ftypmp42",
		},
	})
	require.NoError(t, err)
	require.Equal(t, []node.Value{"v-7", "5.1"}, res.Outputs[1:])
}

// Several pictures of one node, and batches of them, are sent in order.
func TestPicturesOfGrowingInputsAreSentInOrder(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	picture, err := raster.Engine{}.Solid(t.Context(), 1, 2, 2, []uint8{255, 0, 0})
	require.NoError(t, err)
	two, err := raster.Engine{}.Solid(t.Context(), 2, 2, 2, []uint8{0, 255, 0})
	require.NoError(t, err)
	for class, args := range map[string]node.Args{
		"ByteDanceSeedreamNodeV2": {
			"model": "seedream-4-5-251128", "model.images.image_1": picture, "model.images.image_2": two,
			"model.size_preset": "Custom", "model.width": int64(2048), "model.height": int64(2048),
		},
		"ByteDance2ReferenceNode": {
			"model": "Seedance 2.0", "model.prompt": "a", "model.reference_images.image_1": picture,
			"model.reference_images.image_3": two,
		},
		"GrokVideoReferenceNode": {
			"model": "grok-imagine-video", "prompt": "a", "model.reference_images.reference_0": picture,
			"model.reference_images.reference_4": two,
		},
		"GrokImageEditNodeV2": {
			"model": "grok-imagine-image", "prompt": "a", "model.images.image_1": picture, "model.images.image_2": two,
			"model.resolution": "1K",
		},
	} {
		a := &asked{}
		_, err := classes[class].Run(t.Context(), &node.Call{Args: args, Models: a})
		require.ErrorIs(t, err, errAsked, class)
		require.Equal(t, 3, strings.Count(string(a.body), "data:image/png;base64,"), "%s: %s", class, a.body)
	}
	_, err = classes["ByteDance2ReferenceNode"].Run(t.Context(), &node.Call{
		Args:   node.Args{"model": "Seedance 2.0", "model.prompt": "a", "model.reference_videos.video_1": &media.Video{File: nodetest.VideoName}},
		Models: &asked{}, Files: nodetest.NewFiles(),
	})
	require.ErrorContains(t, err, "neither videos, sounds nor assets")
}

// A mask is sent as a picture of the size of the picture that it masks. Pictures that are not requested stay black.
func TestMasksAreSentAndThoughtsStayBlack(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	picture, err := raster.Engine{}.Solid(t.Context(), 1, 6, 4, []uint8{255, 0, 0})
	require.NoError(t, err)
	mask, err := raster.NewMask(1, 1, 2, []float32{0, 1})
	require.NoError(t, err)
	a := &asked{}
	_, err = classes["FluxProFillNode"].Run(t.Context(), &node.Call{Args: node.Args{"image": picture, "mask": mask, "prompt": "a"}, Models: a})
	require.ErrorIs(t, err, errAsked)
	var sent struct{ Mask []byte }
	require.NoError(t, json.Unmarshal(a.body, &sent))
	decoded, err := png.Decode(bytes.NewReader(sent.Mask))
	require.NoError(t, err)
	require.Equal(t, picture.Width(), decoded.Bounds().Dx())
	require.Equal(t, picture.Height(), decoded.Bounds().Dy())
	require.Equal(t, color.RGBA{A: 255}, color.RGBAModel.Convert(decoded.At(0, 0)))
	require.Equal(t, color.RGBA{255, 255, 255, 255}, color.RGBAModel.Convert(decoded.At(picture.Width()-1, 0)))

	one := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	res, err := classes["GeminiNanoBanana2"].Run(t.Context(), &node.Call{
		NodeID: "1", Files: nodetest.NewFiles(),
		Args: node.Args{
			"model": "Nano Banana 2 (Gemini 3.1 Flash Image)", "prompt": "a", "aspect_ratio": "auto", "resolution": "1K",
			"response_modalities": "IMAGE", "thinking_level": "MINIMAL",
		},
		Models: &answers{contentType: "application/json", text: `{"candidates":[{"content":{"parts":[{"inlineData":{"data":"` + one + `"}}]}}]}`},
	})
	require.NoError(t, err)
	require.Equal(t, 1, res.Outputs[0].(*raster.Image).Width())
	black := res.Outputs[2].(*raster.Image)
	require.Equal(t, []any{1024, 1024, float32(0)}, []any{black.Width(), black.Height(), black.At(0, 5, 5, 1)})
}

func TestKeyframesArePlacedByTimes(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	two, err := raster.Engine{}.Solid(t.Context(), 2, 2, 2, []uint8{0, 255, 0})
	require.NoError(t, err)
	args := node.Args{
		"prompt": "a", "keyframes.image_0": two, "placement": "at times", "placement.times": "0, 2.5", "aspect_ratio": "auto", "duration": "5",
		"resolution": "720p", "generate_audio": true, "safety_tolerance": int64(2),
	}
	a := &asked{}
	_, err = classes["Flux3ImageToVideoNode"].Run(t.Context(), &node.Call{Args: args, Models: a})
	require.ErrorIs(t, err, errAsked)
	var sent struct{ Images [][]any }
	require.NoError(t, json.Unmarshal(a.body, &sent), string(a.body))
	require.Equal(t, []any{0.0, 2.5}, []any{sent.Images[0][0], sent.Images[1][0]})
	args["placement.times"] = "0"
	_, err = classes["Flux3ImageToVideoNode"].Run(t.Context(), &node.Call{Args: args, Models: a})
	require.ErrorContains(t, err, "a time for each")
}

// Each output of a class has the value of the model's output of the same type.
func TestAnOriginalNodeGivesAPictureAndItsText(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	picture := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	res, err := classes["GeminiImage2Node"].Run(t.Context(), &node.Call{
		NodeID: "1", Files: nodetest.NewFiles(),
		Args: node.Args{
			"model": "gemini-3-pro-image-preview", "prompt": "a", "aspect_ratio": "1:1", "resolution": "1K",
			"response_modalities": "IMAGE+TEXT",
		},
		Models: &answers{
			contentType: "application/json",
			text:        `{"candidates":[{"content":{"parts":[{"text":"one"},{"inlineData":{"data":"` + picture + `"}},{"text":"two"}]}}]}`,
		},
	})
	require.NoError(t, err)
	require.Len(t, res.Outputs, 2)
	require.Equal(t, 1, res.Outputs[0].(*raster.Image).Width())
	require.Equal(t, "one\ntwo", res.Outputs[1])
}

// Clients read ComfyUI's own definitions. A class exists only if one of its models is enabled.
func TestOriginalNodesHaveTheirOwnDefinitions(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("originals.json")
	require.NoError(t, err)
	var want map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &want))
	for name, definition := range want {
		require.Contains(t, string(definition), `"description": `, "%s: every definition has one, if only an empty one", name)
	}
	_, classes := originals(t, func(m *catalog.Model) bool { return m.Provider == "bfl" })
	require.Len(t, classes, 14)
	r, err := node.NewRegistry()
	require.NoError(t, err)
	for name, c := range classes {
		require.True(t, c.Partner, name)
		require.False(t, c.Remote, name)
		require.NoError(t, r.Extend(c))
		defined, err := r.Definitions(t.Context(), nil, name)
		require.NoError(t, err)
		got, err := json.Marshal(defined)
		require.NoError(t, err)
		require.JSONEq(t, `{"`+name+`":`+string(want[name])+`}`, string(got))
	}
	_, none := originals(t, func(*catalog.Model) bool { return false })
	require.Empty(t, none)
}

// The page of partner nodes lists each of ComfyUI's once: with its models if it is available, otherwise with a
// reason.
func TestThePageNamesEveryPartnerNode(t *testing.T) {
	t.Parallel()
	all, err := os.ReadFile("testdata/classes.txt")
	require.NoError(t, err)
	page, err := os.ReadFile("../../../docs/partner-nodes.md")
	require.NoError(t, err)
	here, absent, found := strings.Cut(string(page), "## Not here")
	require.True(t, found)
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	named := 0
	for line := range strings.Lines(string(all)) {
		name := strings.TrimSpace(line)
		if strings.HasPrefix(name, "#") {
			continue
		}
		named++
		_, runs := classes[name]
		require.Equal(t, runs, strings.Contains(here, "| `"+name+"` |"), name)
		require.Equal(t, !runs, strings.Contains(absent, "`"+name+"`"), name)
	}
	require.Equal(t, 233, named)
}
