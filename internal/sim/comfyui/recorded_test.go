package comfyui_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// record is the address of a real server, whose answers become the golden files.
var record = flag.String("record", "", "address of a ComfyUI server whose answers are recorded")

// scenario is a conversation with a server, in the order of its requests.
type scenario struct {
	name     string
	graph    string // followed on the socket until it ends, if it is one
	extra    string // extra_data of the prompt; "" = none
	requests []exchange
	unsorted bool // the order of nodes is the server's choice
	plain    bool // the client does not say that it understands previews with metadata
}

// exchange is one request; its answer is recorded.
type exchange struct {
	method, path, body string
}

// upload begins the body of a request that uploads a picture; what follows are the fields of its form, as JSON.
const upload = "upload "

// id is the placeholder of the prompt's id in paths.
const id = "ID"

var scenarios = []scenario{
	{
		name: "picture", graph: `{
		"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":48,"batch_size":1,"color":255}},
		"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
		"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"PREFIX"}}}`,
		requests: []exchange{{"GET", "/history/" + id, ""}, {"GET", "/api/jobs/" + id, ""}, {"GET", "/queue", ""}},
	},
	{
		name: "text", graph: `{"1":{"class_type":"PreviewAny","inputs":{"source":"some text"}}}`,
		requests: []exchange{{"GET", "/history/" + id, ""}, {"GET", "/api/jobs/" + id, ""}},
	},
	{name: "sampler", unsorted: true, graph: `{
		"1":{"class_type":"CheckpointLoaderSimple","inputs":{"ckpt_name":"random-sd15.safetensors"}},
		"2":{"class_type":"CLIPTextEncode","inputs":{"text":"PREFIX","clip":["1",1]}},
		"4":{"class_type":"EmptyLatentImage","inputs":{"width":64,"height":64,"batch_size":1}},
		"5":{"class_type":"KSampler","inputs":{"model":["1",0],"positive":["2",0],"negative":["2",0],"latent_image":["4",0],
			"seed":3,"steps":3,"cfg":7,"sampler_name":"euler","scheduler":"normal","denoise":1}},
		"6":{"class_type":"VAEDecode","inputs":{"samples":["5",0],"vae":["1",2]}},
		"7":{"class_type":"PreviewImage","inputs":{"images":["6",0]}}}`},
	{name: "preview_without_metadata", unsorted: true, plain: true, extra: `{"preview_method":"latent2rgb"}`, graph: `{
		"1":{"class_type":"CheckpointLoaderSimple","inputs":{"ckpt_name":"random-sd15.safetensors"}},
		"2":{"class_type":"CLIPTextEncode","inputs":{"text":"PREFIX","clip":["1",1]}},
		"4":{"class_type":"EmptyLatentImage","inputs":{"width":64,"height":64,"batch_size":1}},
		"5":{"class_type":"KSampler","inputs":{"model":["1",0],"positive":["2",0],"negative":["2",0],"latent_image":["4",0],
			"seed":3,"steps":3,"cfg":7,"sampler_name":"euler","scheduler":"normal","denoise":1}},
		"6":{"class_type":"VAEDecode","inputs":{"samples":["5",0],"vae":["1",2]}},
		"7":{"class_type":"PreviewImage","inputs":{"images":["6",0]}}}`},
	{name: "text_progress", graph: `{
		"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":48,"batch_size":1,"color":255}},
		"2":{"class_type":"GetImageSize","inputs":{"image":["1",0]}},
		"3":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}`},
	{
		name: "expansion", graph: `{
		"5":{"class_type":"ExpandingText","inputs":{"text":"PREFIX"}},
		"6":{"class_type":"PreviewAny","inputs":{"source":["5",0]}}}`,
		requests: []exchange{{"GET", "/history/" + id, ""}, {"GET", "/api/jobs/" + id, ""}},
	},
	{
		name: "expansion_error", graph: `{
		"5":{"class_type":"ExpandingFailure","inputs":{"text":"PREFIX"}},
		"6":{"class_type":"PreviewAny","inputs":{"source":["5",0]}}}`,
		requests: []exchange{{"GET", "/history/" + id, ""}},
	},
	{
		name: "jobs", graph: `{"1":{"class_type":"PreviewAny","inputs":{"source":"PREFIX"}}}`,
		extra: `{"extra_pnginfo":{"workflow":{"id":"PREFIX"}}}`,
		requests: []exchange{
			{"GET", "/api/jobs?workflow_id=PREFIX", ""},
			{"GET", "/api/jobs?workflow_id=PREFIX&status=completed,failed&sort_by=execution_duration&sort_order=asc", ""},
			{"GET", "/api/jobs?workflow_id=PREFIX&status=failed", ""},
			{"GET", "/api/jobs?workflow_id=PREFIX&limit=1", ""},
			{"GET", "/api/jobs?workflow_id=PREFIX&limit=5&offset=1", ""},
			{"GET", "/api/jobs?workflow_id=PREFIX&offset=-1", ""},
			{"GET", "/api/jobs?status=done,failed", ""},
			{"GET", "/api/jobs?sort_by=name", ""},
			{"GET", "/api/jobs?sort_order=up", ""},
			{"GET", "/api/jobs?limit=0", ""},
			{"GET", "/api/jobs?limit=x", ""},
			{"GET", "/api/jobs?offset=x", ""},
		},
	},
	{
		name: "null_workflow", graph: `{"1":{"class_type":"PreviewAny","inputs":{"source":"PREFIX"}}}`,
		extra: `{"extra_pnginfo":{"workflow":null}}`,
		requests: []exchange{
			{"GET", "/api/jobs", ""},
			{"GET", "/api/jobs/" + id, ""},
			{"POST", "/history", `{"delete":["` + id + `"]}`},
			{"GET", "/api/jobs?workflow_id=PREFIX", ""},
		},
	},
	{name: "mask", requests: []exchange{
		{"POST", "/upload/image", upload + `{"image":"PREFIX.png"}`},
		{"POST", "/upload/mask", upload + `{"image":"PREFIX-mask.png","original_ref":"{\"filename\":\"PREFIX.png\",\"type\":\"input\"}"}`},
		{"GET", "/view?filename=PREFIX-mask.png&type=input", ""},
		{"POST", "/upload/mask", upload + `{"image":"PREFIX-other.png","type":"temp","subfolder":"a/b",` +
			`"original_ref":"{\"filename\":\"PREFIX.png [input]\"}"}`},
		{"GET", "/view?filename=PREFIX-other.png&type=temp&subfolder=a/b", ""},
		{"POST", "/upload/mask", upload + `{"image":"PREFIX-none.png","original_ref":"{\"filename\":\"absent.png\",\"type\":\"input\"}"}`},
		{"GET", "/view?filename=PREFIX-none.png&type=input", ""},
		{"POST", "/upload/mask", upload + `{"image":"PREFIX-x.png","subfolder":"../..","original_ref":"{}"}`},
		{"POST", "/upload/mask", upload + `{"original_ref":"{}"}`},
	}},
	{name: "node_error", graph: `{
		"1":{"class_type":"StringFormat","inputs":{"f_string":"{"}},
		"2":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}`},
	{name: "unknown", requests: []exchange{
		{"GET", "/history/" + uuid.Nil.String(), ""},
		{"GET", "/api/jobs/" + uuid.Nil.String(), ""},
		{"POST", "/api/jobs/" + uuid.Nil.String() + "/cancel", ""},
		{"POST", "/interrupt", `{"prompt_id":"` + uuid.Nil.String() + `"}`},
		{"POST", "/queue", `{"delete":["` + uuid.Nil.String() + `"]}`},
		{"POST", "/history", `{"delete":["` + uuid.Nil.String() + `"]}`},
		{"GET", "/object_info/NoSuchClass", ""},
		{"GET", "/models/no_such_folder", ""},
		{"GET", "/view?filename=absent.png", ""},
		{"GET", "/view?filename=../x.png", ""},
		{"GET", "/view?filename=x.png&subfolder=../..", ""},
		{"POST", "/free", `{}`},
	}},
	{name: "refusals", requests: []exchange{
		{"POST", "/prompt", `{"prompt":{"1":{"class_type":"NoSuchClass","inputs":{}}}}`},
		{"POST", "/prompt", `{"prompt":{"1":{"inputs":{}}}}`},
		{"POST", "/prompt", `{"prompt":{"1":{"class_type":"EmptyImage","inputs":{}}}}`},
		{"POST", "/prompt", `{"prompt":{"1":{"class_type":"EmptyImage","inputs":{"width":0,"height":48,"batch_size":1,"color":99999999}},
			"2":{"class_type":"PreviewImage","inputs":{"images":["1",0]}}}}`},
		{"POST", "/prompt", `{"prompt":{"2":{"class_type":"PreviewImage","inputs":{}}}}`},
		{"POST", "/prompt", `{"prompt":{"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":48,"batch_size":"x","color":0}},
			"3":{"class_type":"PreviewImage","inputs":{"images":["1",0]}}}}`},
		{"POST", "/prompt", `{"prompt":{"2":{"class_type":"PreviewImage","inputs":{"images":["1"]}}}}`},
		{"POST", "/prompt", `{"prompt":{"1":{"class_type":"EmptyLatentImage","inputs":{"width":64,"height":64,"batch_size":1}},
			"2":{"class_type":"PreviewImage","inputs":{"images":["1",0]}}}}`},
		{"POST", "/prompt", `{}`},
	}},
}

// TestSimulatorAnswersLikeARecordedServer compares the simulator's answers with those of a ComfyUI 0.33.0.
func TestSimulatorAnswersLikeARecordedServer(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			golden := filepath.Join("testdata", s.name+".json")
			if *record != "" {
				said := s.play(t, *record)
				require.NoError(t, os.WriteFile(golden, said, 0o600))
				return
			}
			wanted, err := os.ReadFile(golden)
			require.NoError(t, err)
			m, err := sim.Start("127.0.0.1:0", sim.Options{Previews: true, Classes: expanding()})
			require.NoError(t, err)
			t.Cleanup(m.Close)
			require.Equal(t, strings.Split(string(wanted), "\n"), strings.Split(string(s.play(t, m.URL())), "\n"))
		})
	}
}

// play runs the conversation and returns the server's messages, without the parts that differ from run to run.
func (s *scenario) play(t *testing.T, address string) []byte {
	t.Helper()
	c := &conversation{
		t: t, address: address, sampler: s.unsorted, plain: s.plain, extra: s.extra, prompt: uuid.NewString(),
		client: uuid.NewString(), prefix: strings.ReplaceAll(uuid.NewString(), "-", ""),
	}
	if s.graph != "" {
		c.follow(s.graph)
	}
	if s.unsorted {
		slices.Sort(c.said)
		c.said = slices.Compact(c.said)
	}
	for _, e := range s.requests {
		c.exchanged++
		status, body := c.ask(e.method, c.own(e.path), c.own(e.body))
		c.note(fmt.Sprintf("%s %s %d", e.method, e.path, status), body)
	}
	return []byte(strings.Join(c.said, "\n") + "\n")
}

// conversation is the record of one scenario, one line for each message.
type conversation struct {
	t                               *testing.T
	address, prompt, client, prefix string
	sampler                         bool // of the progress only that of the sampler is compared
	plain                           bool
	extra                           string
	exchanged                       int
	said                            []string
}

func (c *conversation) ask(method, path, body string) (int, []byte) {
	c.t.Helper()
	raw, contentType := []byte(body), ""
	if fields, is := strings.CutPrefix(body, upload); is {
		raw, contentType = c.form(fields)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.address+path, bytes.NewReader(raw))
	require.NoError(c.t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close() // read only
	raw, err = io.ReadAll(res.Body)
	require.NoError(c.t, err)
	return res.StatusCode, raw
}

// own puts the ids of this conversation into a text.
func (c *conversation) own(text string) string {
	return strings.NewReplacer(id, c.prompt, "PREFIX", c.prefix).Replace(text)
}

// form returns an upload of a picture, of which every conversation has others, with the fields of the form.
func (c *conversation) form(fields string) (body []byte, contentType string) {
	c.t.Helper()
	var named map[string]string
	require.NoError(c.t, json.Unmarshal([]byte(fields), &named))
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if name != "image" {
			require.NoError(c.t, w.WriteField(name, named[name]))
			continue
		}
		part, err := w.CreateFormFile(name, named[name])
		require.NoError(c.t, err)
		picture := image.NewNRGBA(image.Rect(0, 0, 64, 48))
		for i := range picture.Pix {
			picture.Pix[i] = byte(i * (2*c.exchanged + 1))
		}
		require.NoError(c.t, png.Encode(part, picture))
	}
	require.NoError(c.t, w.Close())
	return b.Bytes(), w.FormDataContentType()
}

// follow runs a graph and notes all messages until its end is reported.
func (c *conversation) follow(graph string) {
	c.t.Helper()
	ws, res, err := websocket.DefaultDialer.DialContext(c.t.Context(), strings.Replace(c.address, "http", "ws", 1)+"/ws?clientId="+c.client,
		nil)
	require.NoError(c.t, err)
	require.NoError(c.t, res.Body.Close())
	defer ws.Close() // the conversation is over
	require.NoError(c.t, ws.WriteMessage(websocket.TextMessage,
		[]byte(fmt.Sprintf(`{"type":"feature_flags","data":{"supports_preview_metadata":%t}}`, !c.plain))))
	require.NoError(c.t, ws.SetReadDeadline(time.Now().Add(time.Minute)))
	for answered := false; !answered; { // only then is the socket known, and what it understands
		_, raw, err := ws.ReadMessage()
		require.NoError(c.t, err)
		answered = bytes.Contains(raw, []byte(`"feature_flags"`))
	}
	submitted := map[string]any{"prompt": json.RawMessage(c.own(graph)), "prompt_id": c.prompt, "client_id": c.client}
	if c.extra != "" {
		submitted["extra_data"] = json.RawMessage(c.own(c.extra))
	}
	body, err := json.Marshal(submitted)
	require.NoError(c.t, err)
	status, raw := c.ask(http.MethodPost, "/prompt", string(body))
	c.note(fmt.Sprintf("POST /prompt %d", status), raw)
	for {
		kind, raw, err := ws.ReadMessage()
		require.NoError(c.t, err)
		if kind == websocket.BinaryMessage {
			c.noteBinary(raw)
			continue
		}
		if bytes.Contains(raw, []byte(`"status"`)) || bytes.Contains(raw, []byte(`"feature_flags"`)) {
			continue // how many prompts there are is everybody's
		}
		c.note("message", raw)
		if bytes.Contains(raw, []byte(`"executing"`)) && bytes.Contains(raw, []byte(`null`)) && bytes.Contains(raw, []byte(`"node"`)) {
			var over struct {
				Data struct {
					Node *string `json:"node"`
				} `json:"data"`
			}
			if json.Unmarshal(raw, &over) == nil && over.Data.Node == nil {
				return
			}
		}
	}
}

// noteBinary adds a line for a binary message: of a picture alone its type, of others what precedes the rest.
func (c *conversation) noteBinary(raw []byte) {
	c.t.Helper()
	kind, length := binary.BigEndian.Uint32(raw), binary.BigEndian.Uint32(raw[4:])
	what := fmt.Sprintf("binary %d", kind)
	switch kind {
	case 1:
		_, format, err := image.DecodeConfig(bytes.NewReader(raw[8:]))
		require.NoError(c.t, err)
		c.said = append(c.said, fmt.Sprintf("%s type %d %s", what, length, format))
	case 3:
		c.said = append(c.said, fmt.Sprintf("%s %q %q", what, raw[8:8+length], raw[8+length:]))
	default:
		c.note(what, raw[8:8+length])
	}
}

// temporary matches the random part of the name of a temporary file.
var temporary = regexp.MustCompile(`ComfyUI_temp_[a-z]{5}`)

// note adds a line, with the members of objects in order.
func (c *conversation) note(what string, body []byte) {
	c.t.Helper()
	text := string(body)
	var value any
	if json.Unmarshal(body, &value) == nil {
		if c.sampler && !ofSampler(value) {
			return
		}
		raw, err := json.Marshal(plain("", value))
		require.NoError(c.t, err)
		text = string(raw)
	} else if picture, err := png.Decode(bytes.NewReader(body)); err == nil {
		text = pixels(picture)
	} else if text != "" {
		text = "(text)"
	}
	text = strings.NewReplacer(c.prompt, "<prompt>", c.client, "<client>", c.prefix, "<prefix>").Replace(text)
	c.said = append(c.said, what+" "+temporary.ReplaceAllString(text, "ComfyUI_temp_xxxxx"))
}

// pixels is a picture in one line: its size and the sum of its pixels.
func pixels(picture image.Image) string {
	sum := sha256.New()
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			p, _ := color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)
			sum.Write([]byte{p.R, p.G, p.B, p.A}) // never fails
		}
	}
	return fmt.Sprintf("%v %x", picture.Bounds().Size(), sum.Sum(nil)[:8])
}

// expanding are the classes of testdata/custom_nodes/expanding.py.
func expanding() []*node.Class {
	class := func(name string, expand func(text node.Value, x *node.Expansion) node.From) *node.Class {
		return &node.Class{
			Name: name, DisplayName: name, Category: "tests", Module: "custom_nodes.expanding",
			Inputs:  []node.Input{{Name: "text", Type: node.String}},
			Outputs: []node.Output{{Type: node.String}},
			Run: func(_ context.Context, call *node.Call) (node.Result, error) {
				x := &node.Expansion{}
				out := expand(call.Args["text"], x)
				return node.Result{Outputs: []node.Value{out}, Expand: x}, nil
			},
		}
	}
	return []*node.Class{
		class("ExpandingText", func(text node.Value, x *node.Expansion) node.From {
			joined := node.From{Node: x.Add("StringConcatenate", node.Args{"string_a": text, "string_b": "!", "delimiter": ""})}
			x.Add("PreviewAny", node.Args{"source": joined})
			return joined
		}),
		class("ExpandingFailure", func(_ node.Value, x *node.Expansion) node.From {
			return node.From{Node: x.Add("StringFormat", node.Args{"f_string": "{"})}
		}),
	}
}

// ofSampler reports whether a message is to be compared, and leaves only the sampler in the progress
// of all nodes.
func ofSampler(message any) bool {
	members, _ := message.(map[string]any)
	data, _ := members["data"].(map[string]any)
	nodes, ok := data["nodes"].(map[string]any)
	if !ok {
		return true
	}
	data["nodes"] = map[string]any{"5": nodes["5"]}
	return nodes["5"] != nil
}

// omitted are members that are the server's own business, or that only newer clients look at.
var omitted = []string{"preview_output", "current_inputs", "workflow_id"}

// varying are members of which only the kind of the value is compared.
var varying = []string{
	"timestamp", "create_time", "execution_start_time", "execution_end_time", "number", "priority", "traceback",
	"exception_message", "exception_type", "executed", "current_outputs", "input_config",
}

// plain replaces the parts that differ from run to run.
func plain(name string, value any) any {
	if slices.Contains(varying, name) && value != nil {
		return fmt.Sprintf("<%s>", map[bool]string{true: "list", false: "value"}[isList(value)])
	}
	switch v := value.(type) {
	case map[string]any:
		for member := range v {
			if slices.Contains(omitted, member) {
				delete(v, member)
				continue
			}
			v[member] = plain(member, v[member])
		}
	case []any:
		if len(v) == 5 && isList(v[4]) { // an entry of the queue
			v[0] = "<number>"
		}
		for i := range v {
			v[i] = plain("", v[i])
		}
	}
	return value
}

func isList(value any) bool {
	_, is := value.([]any)
	return is
}
