package e2e_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// socket is a WebSocket of an account.
type socket struct {
	c    *client
	conn *websocket.Conn
}

// frame is a text frame; node is data.node, and whether it is there and null.
type frame struct {
	Type string         `json:"type"`
	Data map[string]any `json:"data"`
}

// dial opens a socket and reads its greeting.
func (c *client) dial(query string) *socket {
	c.t.Helper()
	conn, res, err := websocket.DefaultDialer.DialContext(c.t.Context(), "ws"+strings.TrimPrefix(c.base, "http")+"/ws?token="+c.key+query, nil)
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusSwitchingProtocols, res.StatusCode)
	c.t.Cleanup(func() { conn.Close() })
	s := &socket{c, conn}
	require.Equal(c.t, "status", s.next().Type)
	return s
}

// next returns the next text frame; previews and texts are passed over.
func (s *socket) next() frame {
	s.c.t.Helper()
	require.NoError(s.c.t, s.conn.SetReadDeadline(time.Now().Add(patience)))
	for {
		kind, raw, err := s.conn.ReadMessage()
		require.NoError(s.c.t, err)
		if kind == websocket.TextMessage {
			var f frame
			require.NoError(s.c.t, json.Unmarshal(raw, &f))
			return f
		}
	}
}

// until collects frames up to the one that last says is the last.
func (s *socket) until(last func(frame) bool) []frame {
	s.c.t.Helper()
	var frames []frame
	for {
		f := s.next()
		frames = append(frames, f)
		if last(f) {
			return frames
		}
	}
}

// over reports whether a frame says that nothing of the job executes any more.
func over(id string) func(frame) bool {
	return func(f frame) bool {
		return f.Type == "executing" && f.Data["node"] == nil && f.Data["prompt_id"] == id
	}
}

// ofJob keeps the types of the job's frames and of status, each with its node.
func ofJob(frames []frame, id string) []string {
	var kinds []string
	for _, f := range frames {
		if of, about := f.Data["prompt_id"]; about && of != id {
			continue
		}
		kind := f.Type
		if node, ok := f.Data["node"].(string); ok {
			kind += " " + node
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// sseEvent is one event of a stream.
type sseEvent struct {
	name string
	data map[string]any
}

// events reads a job's event stream to its end.
func (c *client) events(id string) []sseEvent {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.base+"/api/v2/jobs/"+id+"/events", nil)
	require.NoError(c.t, err)
	req.Header.Set("Authorization", "Bearer "+c.key)
	res, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close()
	require.Equal(c.t, http.StatusOK, res.StatusCode)
	var events []sseEvent
	var e sseEvent
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "event: "):
			e.name = line[7:]
		case strings.HasPrefix(line, "data: "):
			require.NoError(c.t, json.Unmarshal([]byte(line[6:]), &e.data))
		case line == "" && e.name != "":
			events = append(events, e)
			e = sseEvent{}
		}
	}
	return events
}
