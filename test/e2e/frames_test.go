package e2e_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// sized is a graph whose node "2" shows text while it runs and whose node "3" reports progress.
const sized = `{
	"1":{"class_type":"EmptyImage","inputs":{"width":3000,"height":3000,"batch_size":1,"color":255}},
	"2":{"class_type":"GetImageSize","inputs":{"image":["1",0]}},
	"3":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":31,"sigma":10.0}},
	"4":{"class_type":"PreviewAny","inputs":{"source":["2",0]}},
	"9":{"class_type":"SaveImage","inputs":{"images":["3",0],"filename_prefix":"sized"}}}`

func TestLiveFramesComeWhileTheirNodeRuns(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	s := c.dial("")
	var texts []string
	pictures := 0
	for colour := 255; len(texts) == 0 || pictures == 0; colour-- {
		// a frame that its node's end overtakes is not reported, and the node is short
		require.Positive(t, colour, "no text or no preview was ever sent")
		id := c.submit(strings.Replace(sized, "255", fmt.Sprint(colour), 1))
		got, shown := s.frames(id)
		require.Equal(t, "completed", c.status(id))
		pictures += shown
		if len(got) > 0 {
			texts = got
		}
	}
	require.Equal(t, []string{"2: width: 3000, height: 3000\n batch size: 1"}, texts)
}

// frames reads to the end of a job and returns what its nodes showed as text, and how many previews; each is of a node
// that runs.
func (s *socket) frames(id string) (texts []string, previews int) {
	t := s.c.t
	t.Helper()
	running := map[string]bool{}
	for done := false; !done; {
		require.NoError(t, s.conn.SetReadDeadline(time.Now().Add(patience)))
		kind, raw, err := s.conn.ReadMessage()
		require.NoError(t, err)
		if kind == websocket.BinaryMessage && binary.BigEndian.Uint32(raw) == 1 { // PREVIEW_IMAGE
			require.Equal(t, uint32(1), binary.BigEndian.Uint32(raw[4:]), "a JPEG")
			config, err := jpeg.DecodeConfig(bytes.NewReader(raw[8:]))
			require.NoError(t, err)
			require.Equal(t, 512, config.Width)
			require.NotEmpty(t, running)
			previews++
			continue
		}
		if kind == websocket.BinaryMessage {
			require.Equal(t, uint32(3), binary.BigEndian.Uint32(raw))
			size := binary.BigEndian.Uint32(raw[4:])
			node := string(raw[8 : 8+size])
			require.True(t, running[node], "text of node %s, which does not run", node)
			texts = append(texts, node+": "+string(raw[8+size:]))
			continue
		}
		var f frame
		require.NoError(t, json.Unmarshal(raw, &f))
		node, _ := f.Data["node"].(string)
		switch f.Type {
		case "executing":
			running[node] = true
			done = over(id)(f)
		case "progress":
			require.True(t, running[node], "progress of node %s, which does not run", node)
		case "progress_state":
			for id, state := range f.Data["nodes"].(map[string]any) {
				if state.(map[string]any)["state"] == "finished" {
					delete(running, id)
				}
			}
		}
	}
	return texts, previews
}

func TestEventStreamOfARunningJob(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.submit(sized)
	events := c.events(id) // from wherever the job is to its end
	require.Equal(t, "status", events[0].name)
	require.Equal(t, sseEvent{"status", map[string]any{"status": "succeeded"}}, events[len(events)-1])
	outputs, value := 0, 0.0
	for _, e := range events {
		switch e.name {
		case "output":
			outputs++
		case "progress":
			require.GreaterOrEqual(t, e.data["value"], value)
			value, _ = e.data["value"].(float64)
		}
	}
	require.InDelta(t, 1.0, value, 0)
	require.Len(t, c.json("GET", "/api/v2/jobs/"+id, "")["outputs"], outputs, "every output was reported before the end")
}
