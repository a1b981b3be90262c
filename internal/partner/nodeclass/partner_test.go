package nodeclass_test

import (
	"context"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/nodeclass"
)

// answers is a node.Models that gives the same answer to every call and keeps the last body.
type answers struct {
	contentType, text string
	file              string // of every address; "" = none can be fetched
	body              string
}

func (a *answers) Run(_ context.Context, _, _ string, body []byte) (node.ModelAnswer, error) {
	a.body = string(body)
	return node.ModelAnswer{ContentType: a.contentType, Content: io.NopCloser(strings.NewReader(a.text))}, nil
}

func (a *answers) Fetch(context.Context, string, string) (node.ModelAnswer, error) {
	if a.file != "" {
		return node.ModelAnswer{ContentType: "video/mp4", Content: io.NopCloser(strings.NewReader(a.file))}, nil
	}
	return node.ModelAnswer{}, fault.New(fault.Conflict, fault.CodePartnerFetch, "away")
}

func registry(t *testing.T) *node.Registry {
	t.Helper()
	c, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:1"})
	require.NoError(t, err)
	classes, err := nodeclass.Classes(c.Snapshot(), func(*catalog.Model) []string { return nil })
	require.NoError(t, err)
	require.Len(t, classes, len(c.Snapshot().Models()))
	r, err := standard.Registry(nil)
	require.NoError(t, err)
	require.NoError(t, r.Extend(classes...))
	return r
}

func TestEveryModelHasADefinition(t *testing.T) {
	t.Parallel()
	r := registry(t)
	all, err := r.Definitions(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, all, len(r.Classes()))
}

func TestAFrozenRegistryKeepsItsClasses(t *testing.T) {
	t.Parallel()
	r := registry(t)
	frozen, before := r.Frozen(), r.Generation()
	require.NoError(t, r.Extend())
	_, there := r.Lookup("Partner_sim_image")
	require.False(t, there)
	_, there = frozen.Lookup("Partner_sim_image")
	require.True(t, there)
	require.Greater(t, r.Generation(), before)
	native, there := r.Lookup("SaveImage")
	require.True(t, there)
	require.Error(t, r.Extend(native), "a name that is taken")
	_, there = r.Lookup("SaveImage")
	require.True(t, there)
}

func TestRequestsOfClasses(t *testing.T) {
	t.Parallel()
	r := registry(t)
	im, err := raster.Engine{}.Solid(t.Context(), 1, 2, 2, []uint8{255, 0, 0})
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		class string
		args  node.Args
		want  string // beginning of the body
		code  fault.Code
	}{
		"in the schema's order": {
			"Partner_sim_echo",
			node.Args{"number": int64(3), "prompt": `say "x"`},
			`{"prompt":"say \"x\"","number":3}`, "",
		},
		"members that are not given are left out": {"Partner_sim_echo", node.Args{"prompt": "x"}, `{"prompt":"x"}`, ""},
		"base64": {"Partner_sim_image", node.Args{"prompt": "x", "image": im}, `{"prompt":"x","image":"iVBOR`, ""},
		"data address": {
			"Partner_stability_stable-image-ultra",
			node.Args{"prompt": "x", "image": im},
			`{"prompt":"x","image":"data:image/png;base64,iVBOR`, "",
		},
		"whole":         {"Partner_sim_open", node.Args{"body": ` {"a":[1]} `}, `{"a":[1]}`, ""},
		"not an object": {"Partner_sim_open", node.Args{"body": `[1]`}, "", fault.CodeInputType},
		"not a choice":  {"Partner_sim_image", node.Args{"prompt": "x", "kind": "sculpture"}, "", fault.CodeInputType},
		"not JSON":      {"Partner_openai_gpt-4.1-mini", node.Args{"messages": "hello"}, "", fault.CodeInputType},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class, ok := r.Lookup(tc.class)
			require.True(t, ok)
			models := &answers{contentType: "text/plain", text: "x"}
			_, err := class.Run(t.Context(), &node.Call{NodeID: "1", Args: tc.args, Models: models})
			if tc.code != "" {
				require.Equal(t, tc.code, fault.CodeOf(err))
				require.Empty(t, models.body, "nothing is sent")
				return
			}
			require.True(t, strings.HasPrefix(models.body, tc.want), models.body)
		})
	}
}

// red is a PNG of one pixel.
const red = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

func TestOutputsOfAnswers(t *testing.T) {
	t.Parallel()
	r := registry(t)
	raw, err := base64.StdEncoding.DecodeString(red)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		class, answer string
		frames        int
		code          fault.Code
	}{
		"several pictures are a batch": {"Partner_openai_gpt-image-2", `{"data":[{"b64_json":"` + red + `"},{"b64_json":"` + red + `"}]}`, 2, ""},
		"bytes":                        {"Partner_stability_stable-image-core", string(raw), 1, ""},
		"no picture":                   {"Partner_openai_gpt-image-2", `{"data":[]}`, 0, fault.CodePartnerAnswer},
		"not JSON":                     {"Partner_openai_gpt-image-2", `<html>`, 0, fault.CodePartnerAnswer},
		"not base64":                   {"Partner_openai_gpt-image-2", `{"data":[{"b64_json":"***"}]}`, 0, fault.CodePartnerAnswer},
		"out of reach":                 {"Partner_sim_image", `{"result":{"url":"https://gone.example/x.png"}}`, 0, fault.CodePartnerFetch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class, ok := r.Lookup(tc.class)
			require.True(t, ok)
			res, err := class.Run(t.Context(), &node.Call{
				NodeID: "1", Args: node.Args{"prompt": "x"},
				Models: &answers{contentType: "image/png", text: tc.answer},
			})
			if tc.code != "" {
				require.Equal(t, tc.code, fault.CodeOf(err))
				return
			}
			require.NoError(t, err)
			im, ok := res.Outputs[0].(*raster.Image)
			require.True(t, ok)
			require.Equal(t, tc.frames, im.Frames())
		})
	}
}
