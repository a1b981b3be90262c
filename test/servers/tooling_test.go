package servers_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// send sends a body that is no JSON.
func (s *service) send(method, path, contentType string, body []byte) (int, http.Header, []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.Base+path, bytes.NewReader(body))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Cookie", "session=secret")
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, res.Header, raw
}

func painted(t *testing.T, shade uint8) []byte {
	t.Helper()
	im := image.NewNRGBA(image.Rect(0, 0, 48, 32))
	for i := range im.Pix {
		im.Pix[i] = shade
		if i%4 == 3 {
			im.Pix[i] = 255
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, im))
	return b.Bytes()
}

// The requests of Krita AI Diffusion, in its order: it connects, asks for models, sends the pictures of a graph by the route of the
// tooling nodes, and fetches the results by it.
func TestAPaintingProgramSendsAndFetchesPictures(t *testing.T) {
	t.Parallel()
	options := comfyui.Options{Tooling: true, Checkpoints: []string{"one.safetensors", "two.safetensors"}}
	s := start(t, options, options)
	s.healthy(2)
	client := uuid.NewString()
	require.Contains(t, s.get("/system_stats"), "devices")
	require.Contains(t, s.get("/object_info"), "ETN_SaveImageCache")
	require.JSONEq(t, `[{"name":"German","code":"de"}]`, s.get("/api/etn/languages"))
	require.JSONEq(t, `{"one.safetensors":{"base_model":"sd15","is_inpaint":false,"type":"eps"},"_meta":{"offset":0,"count":1,"total":4}}`,
		s.get("/api/etn/model_info/checkpoints?offset=0&limit=1"))
	status, body := s.do(http.MethodGet, "/api/etn/model_info/unet_gguf?offset=0&limit=8", nil)
	require.Equal(t, http.StatusNotFound, status, body)
	status, body = s.do(http.MethodPost, "/api/etn/workflow/subscribe", map[string]any{"client_id": client})
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, `{"status":"success"}`, body)

	picture, mask := painted(t, 90), image.NewGray(image.Rect(0, 0, 48, 32))
	for x := range 24 {
		for y := range 32 {
			mask.SetGray(x, y, color.Gray{255})
		}
	}
	var drawn bytes.Buffer
	require.NoError(t, png.Encode(&drawn, mask))
	for _, want := range []int{http.StatusCreated, http.StatusOK} {
		for id, data := range map[string][]byte{"source-1": picture, "mask-1": drawn.Bytes()} {
			status, _, answer := s.send(http.MethodPut, "/api/etn/image/"+id, "application/octet-stream", data)
			require.Equal(t, want, status, string(answer))
		}
	}
	_, _, back := s.send(http.MethodGet, "/api/etn/image/source-1", "", nil)
	require.Equal(t, picture, back)

	const changed, kept = 165, 90
	for name, c := range map[string]struct {
		result      []any
		left, right uint8
	}{
		"picture to picture": {[]any{"3", 0}, changed, changed}, "inpaint": {[]any{"4", 0}, changed, kept},
	} {
		g := served.Graph{
			"1": served.Node("ETN_LoadImageCache", map[string]any{"id": "source-1"}),
			"2": served.Node("ETN_LoadImageCache", map[string]any{"id": "mask-1"}),
			"3": served.Node("ImageInvert", map[string]any{"image": []any{"1", 0}}),
			"4": served.Node("ImageCompositeMasked", map[string]any{
				"destination": []any{"1", 0}, "source": []any{"3", 0}, "mask": []any{"2", 1}, "x": 0, "y": 0, "resize_source": false,
			}),
			"5": served.Node("ETN_SaveImageCache", map[string]any{"images": c.result, "format": "PNG"}),
		}
		id := uuid.NewString()
		shown := s.paints(t, client, id, g)
		require.Len(t, shown, 1, name)
		im, err := png.Decode(bytes.NewReader(shown[0]))
		require.NoError(t, err)
		require.Equal(t, image.Rect(0, 0, 48, 32), im.Bounds())
		for x, shade := range map[int]uint8{3: c.left, 40: c.right} {
			require.Equal(t, color.NRGBA{shade, shade, shade, 255}, color.NRGBAModel.Convert(im.At(x, 3)), name)
		}
		require.Equal(t, "completed", s.ended(id), name)
		require.Len(t, s.images(id), 1, "the result is a file of the job")
	}
	s.refusesPictures(t)
}

// paints queues a graph twice, as the program does: it hears of one job at a time, and fetches the results of the first as soon as it
// hears of them.
func (s *service) paints(t *testing.T, client, id string, g served.Graph) (results [][]byte) {
	t.Helper()
	conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(s.Base, "http", "ws", 1)+"/ws?clientId="+client, nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	defer conn.Close()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	both := []string{id, uuid.NewString()}
	for _, id := range both {
		status, body := s.do(http.MethodPost, "/prompt", map[string]any{"prompt": g, "client_id": client, "prompt_id": id})
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, id, "the program follows the job by the id that it chose")
	}
	for running, ended := "", 0; ended < 2; {
		var m struct {
			Type string
			Data struct {
				Prompt string `json:"prompt_id"`
				Node   *string
				Output struct{ Images []map[string]string }
			}
		}
		require.NoError(t, conn.ReadJSON(&m))
		switch {
		case !slices.Contains(both, m.Data.Prompt): // an earlier job
		case m.Type == "execution_start":
			require.Empty(t, running, "the program gives up a job when it hears of the start of another one")
			running = m.Data.Prompt
		case m.Type == "executing" && m.Data.Node == nil:
			require.Equal(t, running, m.Data.Prompt, "the program takes the results of jobs that it saw start")
			running, ended = "", ended+1
		case m.Type == "executed" && m.Data.Prompt == id:
			for _, shown := range m.Data.Output.Images {
				require.Equal(t, "http", shown["source"])
				status, header, result := s.send(http.MethodGet, "/api/etn/image/"+shown["id"], "", nil)
				require.Equal(t, http.StatusOK, status, "%s: %v", result, shown)
				require.Equal(t, "image/png", header.Get("Content-Type"))
				results = append(results, result)
			}
		}
	}
	return results
}

// refusesPictures checks what is refused.
func (s *service) refusesPictures(t *testing.T) {
	status, body := s.do(http.MethodPost, "/prompt", map[string]any{"prompt": served.Graph{
		"1": served.Node("ETN_LoadImageCache", map[string]any{"id": "never-sent"}),
		"3": served.Node("ETN_SaveImageCache", map[string]any{"images": []any{"1", 0}, "format": "PNG"}),
	}})
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "never-sent")
	for path, want := range map[string]int{
		"/api/etn/image/never-sent":             http.StatusNotFound,
		"/api/etn/image/..%2f..%2fetc%2fpasswd": http.StatusNotFound,
		"/api/etn/upload/loras/x.safetensors":   http.StatusNotFound,
		"/api/etn/translate/de/..%2f..%2fqueue": http.StatusNotFound,
		"/lossless/remove":                      http.StatusNotFound,
		"/api/lossless/remove":                  http.StatusNotFound,
		"/lossless/fetch":                       http.StatusNotFound,
		"/lossless/evict":                       http.StatusNotFound,
	} {
		status, _, body := s.send(http.MethodGet, path, "", nil)
		require.Equal(t, want, status, "%s: %s", path, body)
	}
	status, _, raw := s.send(http.MethodPut, "/api/etn/image/text", "image/png", []byte("no picture"))
	require.Equal(t, http.StatusBadRequest, status, string(raw))

	status, header, raw := s.send(http.MethodGet, "/api/etn/translate/de/hello%20world", "", nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `"de: hello world"`, strings.TrimSpace(string(raw)))
	require.Empty(t, header.Values("Set-Cookie"), "a server sets no cookie")
	require.Contains(t, header.Get("Content-Security-Policy"), "sandbox")
	status, _, _ = s.send(http.MethodPost, "/api/etn/translate/de/hello", "", nil)
	require.Equal(t, http.StatusNotFound, status, "the method is not allowed")
}
