package servers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	enginenode "github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// expanding is a class of servers that expands to a sampler and shows a picture of its own.
func expanding() *enginenode.Class {
	return &enginenode.Class{
		Name: "TestExpanding", DisplayName: "Expanding", Category: "tests", Module: "custom_nodes.tests",
		Inputs: []enginenode.Input{{Name: "seed", Type: enginenode.Int}}, Outputs: []enginenode.Output{{Type: enginenode.Image}},
		Run: func(_ context.Context, call *enginenode.Call) (enginenode.Result, error) {
			x := &enginenode.Expansion{}
			of := func(n, slot int) enginenode.From { return enginenode.From{Node: n, Slot: slot} }
			model := x.Add("CheckpointLoaderSimple", enginenode.Args{"ckpt_name": "random-sd15.safetensors"})
			text := x.Add("CLIPTextEncode", enginenode.Args{"text": "a cat", "clip": of(model, 1)})
			latent := x.Add("EmptyLatentImage", enginenode.Args{"width": int64(64), "height": int64(64), "batch_size": int64(1)})
			sampled := x.Add("KSampler", enginenode.Args{
				"model": of(model, 0), "positive": of(text, 0), "negative": of(text, 0), "latent_image": of(latent, 0), "seed": call.Args["seed"],
				"steps": int64(30), "cfg": 7.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0,
			})
			picture := x.Add("VAEDecode", enginenode.Args{"samples": of(sampled, 0), "vae": of(model, 2)})
			x.Add("PreviewImage", enginenode.Args{"images": of(picture, 0)})
			return enginenode.Result{Outputs: []enginenode.Value{of(picture, 0)}, Expand: x}, nil
		},
	}
}

// heard holds the messages of a prompt that a socket received.
type heard struct {
	nodes    []string                     // "executing" and "executed" with node and displayed node, in order
	places   map[string]map[string]string // display, parent and real node, by node, in progress_state
	progress map[string]bool              // nodes with progress
	previews map[string]bool              // nodes with previews, and the displayed node
	text     string                       // all text messages
}

// listen reads a socket until the prompt has ended.
func listen(t *testing.T, base, client string) <-chan heard {
	t.Helper()
	conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(base, "http", "ws", 1)+"/ws?clientId="+client, nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.WriteJSON(map[string]any{"type": "feature_flags", "data": map[string]any{"supports_preview_metadata": true}}))
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	done := make(chan heard, 1)
	go func() {
		s := heard{places: map[string]map[string]string{}, progress: map[string]bool{}, previews: map[string]bool{}}
		for over := false; !over; {
			kind, raw, err := conn.ReadMessage()
			if err != nil {
				break
			}
			over = s.take(kind, raw)
		}
		done <- s
	}()
	return done
}

// take takes a message and reports whether it is the last of the prompt.
func (s *heard) take(kind int, raw []byte) (over bool) {
	if kind == websocket.BinaryMessage {
		var metadata struct{ NodeID, Display string }
		if head, _, found := strings.Cut(string(raw[8:]), "}"); found && raw[3] == 4 {
			head = strings.NewReplacer(`"node_id"`, `"NodeID"`, `"display_node_id"`, `"Display"`).Replace(head + "}")
			if json.Unmarshal([]byte(head), &metadata) == nil {
				s.previews[metadata.NodeID+" at "+metadata.Display] = true
			}
		}
		return false
	}
	s.text += string(raw) + "\n"
	var m struct {
		Type string `json:"type"`
		Data struct {
			Node    *string `json:"node"`
			Display string  `json:"display_node"`
			Nodes   map[string]struct {
				Display string  `json:"display_node_id"`
				Parent  *string `json:"parent_node_id"`
				Real    string  `json:"real_node_id"`
			} `json:"nodes"`
		} `json:"data"`
	}
	if json.Unmarshal(raw, &m) != nil { // a message whose nodes are a list
		return false
	}
	switch m.Type {
	case "executing", "executed":
		if m.Data.Node == nil {
			return true
		}
		s.nodes = append(s.nodes, m.Type+" "+*m.Data.Node+" at "+m.Data.Display)
	case "progress":
		s.progress[*m.Data.Node] = true
	case "progress_state":
		for id, n := range m.Data.Nodes {
			s.places[id] = map[string]string{"display": n.Display, "real": n.Real}
			if n.Parent != nil {
				s.places[id]["parent"] = *n.Parent
			}
		}
	}
	return false
}

// A client that watches a node which expands on a server receives the server's messages about the nodes of the
// expansion, with the same ids, and none about added nodes. The outputs of these nodes are kept.
// So it is with a version of a deployment: its nodes run on the server and are seen as the node that calls it.
func TestExpansionsOnServersAreReported(t *testing.T) {
	t.Parallel()
	s := start(t, comfyui.Options{
		Step: 10 * time.Millisecond, Previews: true, Without: []string{"ImageInvert"},
		Classes: []*enginenode.Class{expanding()},
	})
	m := s.machines[0]
	of := func(seed int) served.Graph {
		return served.Graph{
			"5": served.Node("TestExpanding", map[string]any{"seed": seed}),
			"7": served.Node("SaveImage", map[string]any{"images": []any{"5", 0}, "filename_prefix": "expanded"}),
		}
	}
	direct := listen(t, m.URL(), "direct")
	post(t, m, of(1), uuid.NewString(), "direct")
	original := <-direct
	require.Contains(t, original.nodes, "executing 5.0.0.4 at 5")

	// A slow prompt is handed over to another driver after its first second, and messages of the server may fall between the two.
	var seen heard
	var answer struct {
		ID string `json:"prompt_id"`
	}
	for seed := 2; seed < 10 && !slices.Equal(original.nodes, seen.nodes[:min(len(original.nodes), len(seen.nodes))]); seed++ {
		g := of(seed)
		g["8"] = served.Node("ImageInvert", map[string]any{"image": []any{"5", 0}}) // runs locally: a node that exports the value is added
		g["9"] = served.Node("SaveImage", map[string]any{"images": []any{"8", 0}, "filename_prefix": "inverted"})
		client := fmt.Sprint("watcher", seed)
		watched := listen(t, s.Base, client)
		status, body := s.do(http.MethodPost, "/api/prompt",
			map[string]any{"prompt": g, "client_id": client, "extra_data": map[string]any{"preview_method": "latent2rgb"}})
		require.Equal(t, http.StatusOK, status, body)
		require.NoError(t, json.Unmarshal([]byte(body), &answer))
		seen = <-watched
		require.Equal(t, "completed", s.ended(answer.ID))
	}
	require.Equal(t, original.nodes, seen.nodes[:min(len(original.nodes), len(seen.nodes))])
	for id, place := range original.places {
		require.Equal(t, place, seen.places[id], "node %s", id)
	}
	require.True(t, seen.progress["5.0.0.4"], "the sampler within tells its progress")
	require.True(t, seen.previews["5.0.0.4 at 5"], "and shows its picture: %v", seen.previews)
	said := seen.text + s.get("/api/history/"+answer.ID) + s.get("/api/jobs/"+answer.ID) + s.command("jobs", "events", answer.ID)
	require.NotRegexp(t, injected, said)
	require.Len(t, s.images(answer.ID), 3, "the picture within, the one of the server, the one made here")
	require.Contains(t, s.get("/api/history/"+answer.ID), `"5.0.0.6"`)

	ran := len(m.Runs())
	again := s.retry(answer.ID, "8")
	require.Equal(t, "completed", s.ended(again))
	require.Len(t, m.Runs(), ran)
	require.Len(t, s.images(again), 3, "a retry shows the picture within, too")
	s.callsByClass()
}
