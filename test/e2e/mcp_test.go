package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// bearer sends a key with every request.
type bearer struct{ key string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

// tools connects a client of the Model Context Protocol.
func (c *client) tools(opts *mcp.ClientOptions) *mcp.ClientSession {
	c.t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts).Connect(c.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: c.base + "/mcp", HTTPClient: &http.Client{Transport: bearer{c.key}}}, nil)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = session.Close() })
	return session
}

// ask calls a tool.
func (c *client) ask(s *mcp.ClientSession, tool string, arguments map[string]any, meta mcp.Meta) *mcp.CallToolResult {
	c.t.Helper()
	result, err := s.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments, Meta: meta})
	require.NoError(c.t, err)
	return result
}

func TestADeploymentIsAToolOfMCP(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.deploy("portrait", 16, "")
	c.deploy("stopped", 16, "")
	c.manage("stopped", "stop", "")
	s := c.tools(nil)
	listed, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, listed.Tools, 1)
	require.Equal(t, "portrait", listed.Tools[0].Name)
	require.Contains(t, listed.Tools[0].InputSchema.(map[string]any)["properties"], "width")

	key := mcp.Meta{"idempotencyKey": uuid.NewString()}
	var pictures [2][]byte
	for i := range pictures {
		made := c.ask(s, "portrait", map[string]any{"width": 24}, key)
		require.False(t, made.IsError, made.Content)
		require.Len(t, made.Content, 2)
		picture, ok := made.Content[0].(*mcp.ImageContent)
		require.True(t, ok)
		require.Equal(t, "\x00\x00\x00\x18", string(picture.Data[16:20]), "the width in the header of the PNG")
		link, ok := made.Content[1].(*mcp.ResourceLink)
		require.True(t, ok)
		require.Equal(t, string(picture.Data), c.do("GET", link.URI, "").body)
		pictures[i] = picture.Data
	}
	require.Equal(t, pictures[0], pictures[1])
	require.Len(t, c.json("GET", "/deployment/portrait/api/v2/jobs", "")["jobs"], 1, "one key is one job")

	for tool, says := range map[string]string{"portrait": "width", "stopped": "is stopped", "landscape": "no deployment"} {
		wrong := c.ask(s, tool, map[string]any{"width": "wide"}, nil)
		require.True(t, wrong.IsError, tool)
		text, ok := wrong.Content[0].(*mcp.TextContent)
		require.True(t, ok)
		require.Contains(t, text.Text, says)
		require.NotRegexp(t, ofVersion, text.Text)
	}
	other := newClient(t, "pro")
	require.True(t, other.ask(other.tools(nil), "portrait", nil, nil).IsError, "another account")
}

func TestMessagesOfMCPAreRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	headers := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	require.Equal(t, http.StatusOK, c.do("POST", "/mcp", list, headers...).status)
	require.Equal(t, http.StatusForbidden, c.do("POST", "/mcp", list, append(headers, "Origin", "https://evil.example")...).status)
	require.Equal(t, http.StatusOK, c.do("POST", "/mcp", list, append(headers, "Origin", c.base)...).status)
	anonymous := *c
	anonymous.key = "nobody"
	require.Equal(t, http.StatusUnauthorized, anonymous.do("POST", "/mcp", list, headers...).status)
	require.Equal(t, http.StatusBadRequest, c.do("POST", "/mcp", `{"jsonrpc"`, headers...).status)
	require.Equal(t, http.StatusBadRequest, c.do("POST", "/mcp", " ["+list+"]", headers...).status, "one message a request")
	require.Equal(t, http.StatusMethodNotAllowed, c.do("GET", "/mcp", "").status)
	large := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"image":"data:image/png;base64,` +
		strings.Repeat("A", 100<<20) + `"}}}`
	require.Equal(t, http.StatusRequestEntityTooLarge, c.do("POST", "/mcp", large, headers...).status)
}

// slowCalled keeps a node busy for some seconds.
const slowCalled = `{"9001":{"class_type":"EmptyImage","inputs":{"width":4096,"height":4096,"batch_size":16,"color":255}},
	"9002":{"class_type":"ImageBlur","inputs":{"image":["9001",0],"blur_radius":31,"sigma":10.0}},
	"9003":{"class_type":"SaveImage","inputs":{"images":["9002",0],"filename_prefix":"slow"}}}`

func TestTheJobOfAnMCPClientThatLeavesIsCanceled(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	status, body := c.tryDeploy("slow", slowCalled, `"inputs":["color=9001.color"],"outputs":["picture=9003"]`)
	require.Equal(t, http.StatusOK, status, body)
	var sent atomic.Int64
	began := make(chan struct{}, 1)
	s := c.tools(&mcp.ClientOptions{ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
		if sent.Add(1) == 1 {
			began <- struct{}{}
		}
	}})
	ctx, leave := context.WithCancel(t.Context())
	params := &mcp.CallToolParams{Name: "slow"}
	params.SetProgressToken("p")
	ended := make(chan error, 1)
	go func() { _, err := s.CallTool(ctx, params); ended <- err }()
	select {
	case <-began:
	case err := <-ended:
		t.Fatal("the call ended before any progress", err)
	case <-time.After(patience):
		t.Fatal("no progress")
	}
	leave()
	require.Error(t, <-ended)
	jobs := c.json("GET", "/deployment/slow/api/v2/jobs", "")["jobs"].([]any)
	require.Len(t, jobs, 1)
	c.await(jobs[0].(map[string]any)["id"].(string), "cancelled")
}
