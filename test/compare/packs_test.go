package compare_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/sim/comfyui/classes"
	"github.com/millrace-dev/millrace/test/served"
)

//go:embed testdata/packs.json
var packGraphs []byte

// packGraph is a graph with classes of a node pack.
type packGraph struct {
	Name     string          `json:"name"`
	Pack     string          `json:"pack"`
	Graph    graph           `json:"graph"`
	Workflow json.RawMessage `json:"workflow"` // of the editor; some classes read it
	Sent     int             `json:"sent"`     // pictures that the graph sends over the socket, and that only Millrace keeps
	Sequence bool            `json:"sequence"` // the server names the files by a pattern, Millrace each of them
	Refused  bool            `json:"refused"`  // the graph is refused
	Late     bool            `json:"late"`     // the class itself refuses the graph: Millrace accepts it, and the job fails
	Folder   bool            `json:"folder"`   // it reads the folder packsframes
	Ignore   string          `json:"ignore"`   // key of outputs that hold paths on the machine of the server
}

// TestPacksEndAsOnComfyUI runs graphs with classes of node packs on a ComfyUI server and through Millrace, and compares what a client
// gets. MILLRACE_TEST_COMFYUI names the servers, of which the first is also used directly; without it, simulated servers with
// stand-ins for some of the classes take their place. Graphs with classes that the first server lacks are left out.
func TestPacksEndAsOnComfyUI(t *testing.T) {
	addresses := strings.FieldsFunc(os.Getenv("MILLRACE_TEST_COMFYUI"), func(r rune) bool { return r == ',' })
	for range 2 - min(2, len(addresses)) {
		m, err := sim.Start("127.0.0.1:0", sim.Options{Classes: classes.Popular()})
		require.NoError(t, err)
		t.Cleanup(m.Close)
		addresses = append(addresses, m.URL())
	}
	args := []string{"--log", "error", "--slots", "32"}
	for _, address := range addresses {
		args = append(args, "--comfyui", address)
	}
	reference := &runtime{base: strings.TrimRight(addresses[0], "/")}
	ours := &runtime{base: served.Start(t, served.Options{Name: "mr-packs", Args: args, Patience: patience}).Base}
	var graphs []packGraph
	require.NoError(t, json.Unmarshal(packGraphs, &graphs))
	known := offers(t, reference)
	require.Eventually(t, func() bool { return len(offers(t, ours)) >= len(known) }, patience, time.Second, "the classes of the servers")
	prepareFiles(t, reference, ours)

	hasFolder := strings.Contains(string(offers(t, ours)["VHS_LoadImages"]), "packsframes")
	var table strings.Builder
	ran, differ := 0, 0
	for _, g := range graphs {
		if lacks := g.lacks(known); lacks != "" {
			fmt.Fprintf(&table, "\n  %-20s %-34s not run: the server has no class %s", g.Pack, g.Name, lacks)
			continue
		}
		if g.Folder && !hasFolder {
			fmt.Fprintf(&table, "\n  %-20s %-34s not run: uploads keep no folders", g.Pack, g.Name)
			continue
		}
		ran++
		diffs := compareGraph(t, reference, ours, g)
		fmt.Fprintf(&table, "\n  %-20s %-34s %s", g.Pack, g.Name, map[bool]string{true: "same", false: "DIFFERS"}[len(diffs) == 0])
		for _, d := range diffs {
			fmt.Fprintf(&table, "\n      %s", d)
		}
		differ += min(1, len(diffs))
	}
	t.Logf("%d of %d graphs end as on the server:%s", ran-differ, ran, table.String())
	require.NotZero(t, ran)
	require.Zero(t, differ)
}

// offers returns the classes of a system.
func offers(t *testing.T, r *runtime) map[string]json.RawMessage {
	t.Helper()
	var info map[string]json.RawMessage
	_, err := r.json(t.Context(), http.MethodGet, "/object_info", nil, &info)
	require.NoError(t, err)
	return info
}

// ends returns the number of nodes that no other node reads.
func (g *packGraph) ends() int {
	read := map[string]bool{}
	for _, n := range g.Graph {
		for _, value := range n.Inputs {
			if link, ok := value.([]any); ok && len(link) == 2 {
				id, _ := link[0].(string)
				read[id] = true
			}
		}
	}
	return len(g.Graph) - len(read)
}

func (g *packGraph) lacks(known map[string]json.RawMessage) string {
	for _, id := range sortedKeys(g.Graph) {
		if class := g.Graph[id].Class; known[class] == nil {
			return class
		}
	}
	return ""
}

// prepareFiles uploads the files that the graphs load: pictures, a folder of pictures and a video.
func prepareFiles(t *testing.T, both ...*runtime) {
	t.Helper()
	files, err := pictures()
	require.NoError(t, err)
	video := files["compared0.png"] // simulated servers read a video as a picture
	if tool, err := exec.LookPath("ffmpeg"); err == nil && os.Getenv("MILLRACE_TEST_COMFYUI") != "" {
		at := filepath.Join(t.TempDir(), "packs.mp4")
		out, err := exec.CommandContext(t.Context(), tool, "-v", "error", "-f", "lavfi", "-i", "testsrc=size=64x48:rate=8:duration=1",
			"-pix_fmt", "yuv420p", at).CombinedOutput()
		require.NoError(t, err, string(out))
		video, err = os.ReadFile(at)
		require.NoError(t, err)
	}
	for _, r := range both {
		for name, data := range files {
			require.NoError(t, r.upload(t.Context(), name, data))
		}
		require.NoError(t, r.upload(t.Context(), "packs.mp4", video))
		for _, name := range []string{"a.png", "b.png"} {
			require.NoError(t, r.uploadTo(t.Context(), "packsframes", name, files["compared0.png"]))
		}
	}
}

// compareGraph runs a graph on both systems and returns the differences.
func compareGraph(t *testing.T, reference, ours *runtime, g packGraph) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	want, heard, err := reference.watch(ctx, g)
	if err != nil {
		return []string{"on the server: " + err.Error()}
	}
	got, heardHere, err := ours.watch(ctx, g)
	if err != nil {
		return []string{"through Millrace: " + err.Error()}
	}
	if g.Refused { // which words a class of a pack has for it is not known here
		late := g.Late && got.Ended == "error"
		if want.Status == http.StatusBadRequest && (got.Status == want.Status || late) {
			return nil
		}
		return []string{fmt.Sprintf("status %d there, %d here: %s", want.Status, got.Status, text(got.NodeErrors))}
	}
	if g.Sent > 0 {
		return append(sentDifferences(g, heard, heardHere, got), order(heard, heardHere)...)
	}
	if g.Sequence {
		want.Outputs = got.Outputs
		if len(got.pictures) < 2 {
			return []string{"the files of the sequence are not there"}
		}
	}
	for _, o := range []*outcome{want, got} {
		for _, shown := range o.Outputs {
			delete(shown, g.Ignore)
		}
	}
	diffs, _ := differences(want, got)
	if g.ends() > 1 { // a server runs the outputs of a graph in the random order of a set
		return diffs
	}
	return append(diffs, order(heard, heardHere)...)
}

// sentDifferences compares the pictures that a graph sends.
func sentDifferences(g packGraph, there, here *heard, got *outcome) (diffs []string) {
	if len(there.pictures) != g.Sent || len(here.pictures) != g.Sent {
		return []string{fmt.Sprintf("%d pictures are sent there and %d here, not %d", len(there.pictures), len(here.pictures), g.Sent)}
	}
	for i := range there.pictures {
		if worst, _ := distance(there.pictures[i], here.pictures[i]); worst > 0 {
			diffs = append(diffs, fmt.Sprintf("picture %d differs by up to %d of 255", i, worst))
		}
	}
	if len(got.pictures) != g.Sent {
		diffs = append(diffs, fmt.Sprintf("%d pictures are kept, not %d", len(got.pictures), g.Sent))
	}
	return diffs
}

// heard is what a socket brought.
type heard struct {
	nodes    []string  // nodes that began and that showed outputs, in order
	pictures []picture // pictures of a node that sends pictures
}

// order compares the order of the messages about the nodes that both systems reported.
func order(there, here *heard) []string {
	common := func(of, other []string) (both []string) {
		for _, m := range of {
			if slices.Contains(other, m) && !slices.Contains(both, m) {
				both = append(both, m)
			}
		}
		return both
	}
	want, got := common(there.nodes, here.nodes), common(here.nodes, there.nodes)
	if slices.Equal(want, got) {
		return nil
	}
	return []string{fmt.Sprintf("messages: %v there, %v here", want, got)}
}

// watch runs a graph while it reads the messages of its socket.
func (r *runtime) watch(ctx context.Context, g packGraph) (*outcome, *heard, error) {
	client := uuid.NewString()
	conn, res, err := websocket.DefaultDialer.DialContext(ctx, "ws"+strings.TrimPrefix(r.base, "http")+"/ws?clientId="+client, nil)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	h, done := &heard{}, make(chan error, 1)
	go func() { done <- h.read(conn) }()
	body := map[string]any{"prompt": g.Graph, "client_id": client}
	if g.Workflow != nil {
		body["extra_data"] = map[string]any{"extra_pnginfo": map[string]any{"workflow": g.Workflow}}
	}
	o, err := r.submit(ctx, body)
	if err != nil || o.Status != http.StatusOK {
		conn.Close()
		<-done
		return o, h, err
	}
	select {
	case err = <-done:
	case <-ctx.Done():
		conn.Close()
		<-done
		err = ctx.Err()
	}
	return o, h, err
}

// read reads messages until the end of a prompt.
func (h *heard) read(conn *websocket.Conn) error {
	defer conn.Close() // nothing more is read
	var all, lossless []picture
	for {
		kind, raw, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		if kind == websocket.BinaryMessage {
			if len(raw) < 8 || binary.BigEndian.Uint32(raw) != 1 {
				continue
			}
			p, err := decoded(bytes.NewReader(raw[8:]))
			if err != nil {
				return err
			}
			all = append(all, p)
			if binary.BigEndian.Uint32(raw[4:]) == 2 {
				lossless = append(lossless, p)
			}
			continue
		}
		var m struct {
			Type string `json:"type"`
			Data struct {
				Node *string `json:"node"`
			} `json:"data"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		switch m.Type {
		case "executing", "executed":
			if m.Data.Node != nil {
				h.nodes = append(h.nodes, m.Type+" "+*m.Data.Node)
			}
		case "execution_success", "execution_error", "execution_interrupted":
			if h.pictures = lossless; len(lossless) == 0 {
				h.pictures = all
			}
			return nil
		}
	}
}
