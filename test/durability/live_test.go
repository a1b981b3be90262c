package durability_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// watched is a graph whose second node takes a while. Its colour differs in each test, so that no cache has it.
func watched(colour int) string {
	return fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"EmptyImage","inputs":{"width":1500,"height":1500,"batch_size":2,"color":%d}},
		"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":31,"sigma":2.0}},
		"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"watched"}}}}`, colour)
}

// Live frames of a worker process reach the watching clients of the API process, in order with the events. The steps
// of the job's workflow can be listed together with its events.
func TestFramesCrossProcesses(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	// the dialer closes it
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(c.base, "http")+"/ws?clientId=x", nil)
	require.NoError(t, err)
	defer conn.Close()
	var id string
	tries := 0
	c.until("progress of a node in another process is reported", func() bool { // processes connect within seconds
		tries++
		id = c.submit(watched(tries))
		return c.progress(conn, id) > 0
	})
	c.await([]string{id}, "completed")

	c.until("its workflow is closed, too", func() bool { // its last event comes before that
		shown := c.command("jobs", "show", id, "--workflow")
		require.Contains(t, shown, "job.succeeded")
		return strings.Contains(shown, "WorkflowExecutionCompleted")
	})
	var both struct {
		Workflow []json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(c.command("jobs", "show", id, "--workflow", "--json")), &both))
	require.NotEmpty(t, both.Workflow)
}

// progress counts the progress messages of a job until its success is reported.
func (c *cluster) progress(conn *websocket.Conn, id string) (got int) {
	c.t.Helper()
	running := ""
	for {
		require.NoError(c.t, conn.SetReadDeadline(time.Now().Add(patience)))
		kind, raw, err := conn.ReadMessage()
		require.NoError(c.t, err)
		if kind != websocket.TextMessage {
			continue
		}
		var frame struct {
			Type string
			Data struct {
				ID         string `json:"prompt_id"`
				Node       string
				Value, Max any // numbers in progress messages, other types in other messages
			}
		}
		require.NoError(c.t, json.Unmarshal(raw, &frame))
		if frame.Data.ID != id {
			continue
		}
		switch frame.Type {
		case "executing":
			running = frame.Data.Node
		case "progress":
			require.Equal(c.t, running, frame.Data.Node, "progress comes while its node runs")
			require.LessOrEqual(c.t, frame.Data.Value, frame.Data.Max)
			got++
		case "execution_success":
			return got
		}
	}
}
