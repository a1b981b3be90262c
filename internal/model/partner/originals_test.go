package partner_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/model/catalog"
	"github.com/millrace-dev/millrace/internal/model/partner"
)

// errAsked ends a run once its request is known.
var errAsked = errors.New("asked")

// asked is a node.Models that keeps the request of a run.
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
	classes, err := partner.Originals(all.Snapshot(), served)
	require.NoError(t, err)
	byName := map[string]*node.Class{}
	for _, c := range classes {
		byName[c.Name] = c
	}
	return all.Snapshot(), byName
}

// The requests of ComfyUI's own partner nodes, with what their widgets show at first and with every picture, are requests
// that the schema of their model accepts, for every model that a node offers and that is here.
func TestRequestsOfOriginalNodesAreAccepted(t *testing.T) {
	t.Parallel()
	snapshot, classes := originals(t, func(*catalog.Model) bool { return true })
	require.GreaterOrEqual(t, len(classes), 15)
	for name, c := range classes {
		choices := []string{""}
		for _, in := range c.Inputs {
			if in.Name == "model" {
				choices = in.Options
			}
		}
		ran := 0
		for _, choice := range choices {
			for _, pictures := range []bool{false, true} {
				a := &asked{}
				_, err := c.Run(t.Context(), &node.Call{Args: arguments(t, c, choice, pictures), Models: a})
				if !errors.Is(err, errAsked) {
					continue // a model that is not here, or pictures that the model does not take
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

// arguments are what a client sends of a node whose widgets nobody has touched.
func arguments(t *testing.T, c *node.Class, choice string, pictures bool) node.Args {
	t.Helper()
	picture, err := raster.Engine{}.Solid(t.Context(), 1, 2, 2, []uint8{255, 0, 0})
	require.NoError(t, err)
	args := node.Args{}
	for _, in := range c.Inputs {
		switch {
		case in.Name == "model" && choice != "":
			args[in.Name] = choice
		case in.Type == node.Image:
			if pictures || in.Section == node.Required {
				args[in.Name] = picture
			}
		case in.Type == node.Mask:
		case in.Type == node.String:
			args[in.Name] = "16:9"
		case in.Name == "duration" && in.Type == node.Combo: // its choices are numbers
			args[in.Name] = int64(10)
		case in.Default != nil:
			args[in.Name] = in.Default
		case len(in.Options) > 0:
			args[in.Name] = in.Options[0]
		}
	}
	return args
}

func TestRequestsOfOriginalNodes(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	for _, c := range []struct {
		class       string
		args        node.Args
		model, want string
	}{
		{
			"FluxProUltraImageNode",
			node.Args{"prompt": "a <b>", "prompt_upsampling": false, "seed": int64(7), "aspect_ratio": "1:1", "raw": true, "image_prompt_strength": 0.1},
			"bfl/flux-pro-1.1-ultra", `{"prompt":"a <b>","prompt_upsampling":false,"seed":7,"aspect_ratio":"1:1","raw":true}`,
		},
		{
			"OpenAIGPTImage1",
			node.Args{"model": "gpt-image-2", "prompt": "a", "n": int64(2), "size": "Custom", "custom_width": int64(1024), "custom_height": int64(2048)},
			"openai/gpt-image-2", `{"model":"gpt-image-2","prompt":"a","n":2,"size":"1024x2048"}`,
		},
		{
			"KlingTextToVideoWithAudio",
			node.Args{"model_name": "kling-v2-6", "prompt": "a", "mode": "pro", "aspect_ratio": "1:1", "duration": int64(10), "generate_audio": true},
			"kling/kling-v2-6-text2video", `{"model_name":"kling-v2-6","prompt":"a","mode":"pro","aspect_ratio":"1:1","duration":"10","sound":"on"}`,
		},
		{
			"ByteDanceSeedreamNode",
			node.Args{"model": "seedream-4-5-251128", "prompt": "a", "size_preset": "2304x1728 (4:3)"},
			"byteplus/seedream-4-5-251128", `{"model":"seedream-4-5-251128","prompt":"a","size":"2304x1728","sequential_image_generation":"disabled","watermark":false}`,
		},
	} {
		a := &asked{}
		_, err := classes[c.class].Run(t.Context(), &node.Call{Args: c.args, Models: a})
		require.ErrorIs(t, err, errAsked, c.class)
		require.Equal(t, c.model, a.model)
		require.JSONEq(t, c.want, string(a.body))
	}
	for class, args := range map[string]node.Args{
		"OpenAIGPTImage1": {"model": "gpt-image-1", "prompt": "a"}, "GrokImageNode": {"model": "grok-imagine-image-2.0", "prompt": "a"},
	} {
		_, err := classes[class].Run(t.Context(), &node.Call{Args: args, Models: &asked{}})
		require.ErrorContains(t, err, "is not served here", class)
	}
}

// A video is a file that other nodes read, and no output of its own.
func TestAnOriginalNodeGivesAVideo(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	files := nodetest.NewFiles()
	res, err := classes["Veo3VideoGenerationNode"].Run(t.Context(), &node.Call{
		NodeID: "1", Args: node.Args{"model": "veo-3.1-generate", "prompt": "waves", "aspect_ratio": "16:9"}, Files: files,
		Models: &answers{contentType: "application/json", text: `{"name":"x","done":true,"response":{"videos":[{"bytesBase64Encoded":"AAAAGGZ0eXBtcDQyAAAAAA=="}]}}`},
	})
	require.NoError(t, err)
	require.Empty(t, res.UI)
	video, ok := res.Outputs[0].(*media.Video)
	require.True(t, ok)
	require.Contains(t, video.File, "[temp]")
}

// The definitions that clients read are ComfyUI's, and classes are there only for models that are served.
func TestOriginalNodesHaveTheirOwnDefinitions(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("originals.json")
	require.NoError(t, err)
	var want map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &want))
	_, classes := originals(t, func(m *catalog.Model) bool { return m.Provider == "bfl" })
	require.Len(t, classes, 5)
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
