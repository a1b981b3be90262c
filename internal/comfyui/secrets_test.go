package comfyui_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
)

// The credentials of the server in the tests below.
const (
	bearer   = "s3cr3t-of-the-proxy/1"
	password = "pa55word-of-the-proxy"
	session  = "c00kie-of-the-proxy"
	comfyOrg = "comfyui-0123456789abcdef" // credential of a job
)

// echo is a server that repeats every header of a request in all of its answers.
func echo(t *testing.T) string {
	t.Helper()
	said := func(r *http.Request) string {
		return fmt.Sprintf("%s %s %s %s", r.Header.Get("Authorization"), r.Header.Get("X-Proxy"), r.Header.Get("Cookie"), comfyOrg)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/system_stats", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://a.example/?"+said(r), http.StatusFound)
	})
	mux.HandleFunc("/prompt", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(w).Encode(map[string]any{ // shows in the test
			"error":       map[string]any{"type": "invalid", "message": said(r), "details": said(r)},
			"node_errors": map[string]any{"1": map[string]any{"errors": []any{map[string]any{"message": said(r)}}}},
		})
	})
	mux.HandleFunc("/api/jobs/", func(w http.ResponseWriter, r *http.Request) {
		failed := map[string]any{"node_id": "1", "exception_type": "RuntimeError", "exception_message": said(r), "traceback": []string{said(r)}}
		json.NewEncoder(w).Encode(map[string]any{ // shows in the test
			"status": "failed", "outputs": map[string]any{"1": map[string]any{"text": []string{said(r)}}},
			"execution_status": map[string]any{"status_str": "error", "messages": [][]any{{"execution_error", failed}}},
		})
	})
	mux.HandleFunc("/view", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/"+said(r))
		io.WriteString(w, strings.Repeat("x", 70_000)+said(r)) // shows in the test
	})
	mux.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		text, err := json.Marshal(map[string]any{"type": "of_a_node", "data": said(r)})
		if err != nil {
			return
		}
		conn.WriteMessage(websocket.TextMessage, text)                                                                  // shows in the test
		conn.WriteMessage(websocket.BinaryMessage, append([]byte{0, 0, 0, 1, 0, 0, 0, 2}, said(r)...))                  // shows in the test
		conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1011, said(r)[:min(120, len(said(r)))])) // shows in the test
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// Credentials that a server repeats never appear in an error, a message, a result or a file.
func TestCredentialsThatAServerRepeatsAreOverwritten(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]http.Header{
		"Bearer": {"Authorization": {"Bearer " + bearer}, "X-Proxy": {bearer}},
		"Basic":  {"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("millrace:"+password))}, "X-Proxy": {"key=" + password}},
		"Cookie": {"Cookie": {"a=b; session=" + session}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			c := dial(t, echo(t), comfyui.Options{Header: header, Silence: silence}).Withholding(comfyOrg)
			_, err := c.Identify(t.Context())
			fmt.Fprintln(&said, err)
			id := comfyui.NewPromptID(uuid.New())
			_, err = c.Submit(t.Context(), comfyui.Prompt{ID: id, Graph: json.RawMessage(`{}`)})
			var refused *comfyui.Refusal
			require.ErrorAs(t, err, &refused)
			fmt.Fprintf(&said, "%v %+v\n", err, refused.Nodes)
			state, err := c.Find(t.Context(), id)
			require.NoError(t, err)
			fmt.Fprintf(&said, "%+v %s %+v\n", state.Outcome.Err, state.Outcome.Outputs["1"].Raw, state.Outcome.Outputs)
			file, err := c.Fetch(t.Context(), comfyui.File{Name: "a.txt", Type: comfyui.FolderOutput}, 1<<20)
			require.NoError(t, err)
			raw, err := io.ReadAll(file)
			require.NoError(t, err)
			require.NoError(t, file.Close())
			require.Contains(t, string(raw), "***")
			fmt.Fprintf(&said, "%s %s\n", file.MediaType, raw[70_000-10:])
			met := 0
			err = c.Follow(t.Context(), "me", func(e comfyui.Event) error {
				fmt.Fprintf(&said, "%T %s %+v\n", e, e, e)
				if p, ok := e.(comfyui.Preview); ok {
					met++
					fmt.Fprintf(&said, "%s\n", p.Image)
				}
				if d, ok := e.(comfyui.Disconnected); ok {
					return d.Err
				}
				return nil
			})
			fmt.Fprintln(&said, err)
			require.Equal(t, 1, met, "the picture arrived")
			require.NotContains(t, said.String(), "s3cr3t")
			require.NotContains(t, said.String(), "pa55word")
			require.NotContains(t, said.String(), base64.StdEncoding.EncodeToString([]byte("millrace:" + password))[4:20])
			require.NotContains(t, said.String(), "c00kie")
			require.NotContains(t, said.String(), comfyOrg)
		})
	}
}
