package e2e_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// anEditor makes the directory of a tiny editor.
func anEditor(dir string) (string, error) {
	at := filepath.Join(dir, "editor", "static")
	if err := os.MkdirAll(at, 0o750); err != nil {
		return "", err
	}
	return filepath.Dir(at), os.WriteFile(filepath.Join(at, "index.html"), []byte("<title>An editor</title>"), 0o600)
}

// fetch sends what a script of the editor's page sends: no key, but the cookie.
func (b *browser) fetch(method, path, contentType, body string) reply {
	b.t.Helper()
	return b.visit(method, path, body, "Sec-Fetch-Site", "same-origin", "Origin", b.base, "Content-Type", contentType)
}

func TestEditorRoutesAcceptTheSignInCookie(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	b := &browser{client: c}
	require.Equal(t, "/editor", b.get("/").header.Get("Location"))
	in := b.fetch("POST", "/editor/signin", "application/x-www-form-urlencoded", url.Values{"key": {c.key}}.Encode())
	require.Equal(t, http.StatusSeeOther, in.status, in.body)
	b.cookie, _, _ = strings.Cut(in.header.Get("Set-Cookie"), ";")
	require.Equal(t, "<title>An editor</title>", b.get("/").body)

	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(b.base, "http")+"/ws?clientId=tab",
		http.Header{"Cookie": {b.cookie}, "Origin": {b.base}})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	live := &socket{c, conn}
	require.Equal(t, "status", live.next().Type)

	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("image", "drawn.png")
	require.NoError(t, err)
	_, err = part.Write(tinyPNG(t))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	up := b.fetch("POST", "/api/upload/image", w.FormDataContentType(), form.String())
	require.Equal(t, http.StatusOK, up.status, up.body)
	require.JSONEq(t, `["drawn.png"]`, b.fetch("GET", "/internal/files/input", "", "").body)

	sent := b.fetch("POST", "/api/prompt", "application/json", `{"client_id":"tab","prompt":{
		"1":{"class_type":"LoadImage","inputs":{"image":"drawn.png"}},
		"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
		"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"drawn"}}}}`)
	require.Equal(t, http.StatusOK, sent.status, sent.body)
	var accepted struct {
		ID string `json:"prompt_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(sent.body), &accepted))
	got := live.until(func(f frame) bool { return f.Type == "execution_success" && f.Data["prompt_id"] == accepted.ID })
	shown := ""
	for _, f := range got {
		if f.Type == "executed" {
			raw, err := json.Marshal(f.Data["output"])
			require.NoError(t, err)
			shown = string(raw)
		}
	}
	require.JSONEq(t, `{"images":[{"filename":"drawn_00001_.png","subfolder":"","type":"output"}]}`, shown)
	picture := b.fetch("GET", "/api/view?filename=drawn_00001_.png&type=output&subfolder=&rand=0.5", "", "")
	require.Equal(t, http.StatusFound, picture.status)

	s := start(t)
	key := strings.Fields(s.Run(t, "keys", "list", "--account", c.account))[0]
	s.Run(t, "keys", "revoke", "--account", c.account, key, "--reason", "the browser was lost")
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	for err = nil; err == nil; {
		_, _, err = conn.ReadMessage()
	}
	require.True(t, websocket.IsCloseError(err, websocket.ClosePolicyViolation), "the cookie ends with its key: %v", err)
	require.Equal(t, http.StatusUnauthorized, b.fetch("GET", "/api/queue", "", "").status)
	require.Equal(t, "/editor", b.get("/").header.Get("Location"))
}
