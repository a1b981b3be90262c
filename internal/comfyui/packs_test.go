package comfyui_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/fault"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// weightSize is more than twice what the node pack reads at a time.
const weightSize = 3<<20 + 17

// weights serves a weight: at /breaks one connection brings a third of it, /forbidden refuses, and /fills fills the disk first.
type weights struct {
	*httptest.Server
	content []byte
	sent    atomic.Int64
	most    atomic.Int64 // bytes that are sent altogether before connections break; 0 = any number
	fill    string       // file that takes all space
}

func serveWeight(t *testing.T) *weights {
	t.Helper()
	w := &weights{content: bytes.Repeat([]byte("weight "), weightSize/7+1)[:weightSize]}
	w.Server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.Close)
	return w
}

func (w *weights) serve(out http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/forbidden":
		out.WriteHeader(http.StatusForbidden)
		return
	case "/fills":
		f, err := os.Create(w.fill)
		if err == nil {
			_, err = io.Copy(f, neverEnding{})
		}
		if !errors.Is(err, syscall.ENOSPC) || f.Close() != nil {
			panic(err)
		}
	}
	counted := &countedWriter{out, &w.sent, 1 << 62}
	if r.URL.Path == "/breaks" {
		counted.left = weightSize / 3
	}
	if most := w.most.Load(); most > 0 {
		counted.left = int(most - w.sent.Load())
	}
	if counted.left == 0 {
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(counted, r, "", time.Time{}, bytes.NewReader(w.content))
	if counted.left == 0 {
		http.NewResponseController(out).Flush()
		panic(http.ErrAbortHandler)
	}
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }

// countedWriter counts the bytes of a body and ends after some.
type countedWriter struct {
	http.ResponseWriter
	sent *atomic.Int64
	left int
}

func (w *countedWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p[:min(len(p), w.left)])
	w.sent.Add(int64(n))
	if w.left -= n; w.left == 0 && err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}

// packWork fetches or removes a weight as the routes of the node pack do.
const packWork = `
import json, sys
sys.path.insert(0, sys.argv[1])
import fetching
fetching.PAUSES = (0,)
suffixes = {".safetensors", ".ckpt"}
folders = {name: ([sys.argv[2] + "/" + name], suffixes) for name in ("checkpoints", "loras")}
folders["custom_nodes"] = ([sys.argv[2] + "/custom_nodes"], set())
try:
    work = getattr(fetching, sys.argv[3])(json.load(sys.stdin), folders, suffixes)
    work.run()
    print(json.dumps(work.result))
except fetching.Refused as refused:
    print(json.dumps({"error": str(refused)}))
`

// worker works on a weight in a folder of models, and returns the outcome and the problem.
type worker = func(t *testing.T, root string, w comfyui.Weight) (comfyui.Brought, string)

// bringers bring a weight into a folder of models: the simulated node pack and the one that ComfyUI runs.
func bringers(t *testing.T) map[string]worker {
	t.Helper()
	return workers(t, "Fetch", (*comfyui.Client).Bring)
}

// evicters remove a weight from a folder of models.
func evicters(t *testing.T) map[string]worker {
	t.Helper()
	return workers(t, "Eviction", (*comfyui.Client).Evict)
}

func workers(
	t *testing.T, class string, send func(*comfyui.Client, context.Context, comfyui.Weight, func(int64) error) (comfyui.Brought, error),
) map[string]worker {
	t.Helper()
	pack, err := filepath.Abs("../../integrations/comfyui")
	require.NoError(t, err)
	all := map[string]worker{
		"simulated": func(t *testing.T, root string, w comfyui.Weight) (comfyui.Brought, string) {
			t.Helper()
			client := dial(t, machine(t, sim.Options{Pack: true, Models: root}).URL(), comfyui.Options{})
			got, err := send(client, t.Context(), w, func(int64) error { return nil })
			if err != nil {
				var public *fault.Error
				require.ErrorAs(t, err, &public)
				return got, public.Message
			}
			return got, ""
		},
	}
	if python, err := exec.LookPath("python3"); err == nil {
		all["node pack"] = func(t *testing.T, root string, w comfyui.Weight) (got comfyui.Brought, problem string) {
			t.Helper()
			raw, err := json.Marshal(w)
			require.NoError(t, err)
			cmd := exec.CommandContext(t.Context(), python, "-B", "-c", packWork, pack, root, class)
			cmd.Stdin, cmd.Stderr = bytes.NewReader(raw), os.Stderr
			out, err := cmd.Output()
			require.NoError(t, err)
			var result struct {
				Sent, Lacks      int64
				Present, Removed bool
				Error            string
			}
			require.NoError(t, json.Unmarshal(out, &result), string(out))
			return comfyui.Brought{Present: result.Present, Sent: result.Sent, Lacks: result.Lacks, Removed: result.Removed}, result.Error
		}
	}
	return all
}

// smallDisk returns a folder with little space, of a file system of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small file system needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

func TestNodePacksFetchWeights(t *testing.T) {
	t.Parallel()
	const name = "deep/new.safetensors"
	type change = func(t *testing.T, s *weights, root string, w *comfyui.Weight)
	at := func(path string) change {
		return func(_ *testing.T, s *weights, _ string, w *comfyui.Weight) { w.URL = s.URL + path }
	}
	named := func(folder, name string) change {
		return func(_ *testing.T, _ *weights, _ string, w *comfyui.Weight) { w.Folder, w.Name = folder, name }
	}
	holding := func(content string) change {
		return func(t *testing.T, _ *weights, root string, _ *comfyui.Weight) {
			t.Helper()
			require.NoError(t, os.MkdirAll(filepath.Join(root, "checkpoints", "deep"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(root, "checkpoints", name), []byte(content), 0o600))
		}
	}
	for title, c := range map[string]struct {
		change  change
		sent    int64
		problem string // "" = the file is there afterwards
		kept    string // content of the file after a problem, "" = no file
	}{
		"a new file":                      {nil, weightSize, "", ""},
		"a connection that breaks":        {at("/breaks"), weightSize, "", ""},
		"a name with ../":                 {named("checkpoints", "../x.safetensors"), 0, "name leads out of its folder", ""},
		"an absolute name":                {named("checkpoints", "/x.safetensors"), 0, "name leads out of its folder", ""},
		"a backslash":                     {named("checkpoints", `..\x.safetensors`), 0, "name leads out of its folder", ""},
		"a hidden name":                   {named("checkpoints", "a/.x.safetensors"), 0, "name leads out of its folder", ""},
		"a folder that is none of models": {named("../output", "x.safetensors"), 0, "folder is not one of the folders of models", ""},
		"a folder of programs":            {named("custom_nodes", "x.safetensors"), 0, "folder is not one of the folders of models", ""},
		"a program":                       {named("checkpoints", "x.py"), 0, "name does not end as the files of the folder do", ""},
		"a file with other bytes": {
			holding("other bytes"), 0, "the server has another file with this name in its folder checkpoints",
			"other bytes",
		},
		"a file of the same size": {
			holding(strings.Repeat("x", weightSize)), 0, "another file with this name",
			strings.Repeat("x", weightSize),
		},
		"a link that has expired": {at("/forbidden"), 0, "Millrace answers the request for the file with status 403", ""},
		"a disk that is full from the start": {
			func(_ *testing.T, _ *weights, _ string, w *comfyui.Weight) { w.Reserve = 1 << 60 },
			0, "too little space for 3145745 bytes", "",
		},
		"a link that is none": {
			func(_ *testing.T, _ *weights, _ string, w *comfyui.Weight) { w.URL = "file:///etc/passwd" },
			0, "url is not a link of Millrace", "",
		},
		"bytes with another hash": {
			func(_ *testing.T, s *weights, _ string, _ *comfyui.Weight) { s.content[9]++ },
			weightSize, "does not have the hash of the weight", "",
		},
	} {
		for kind, bring := range bringers(t) {
			t.Run(title+", "+kind, func(t *testing.T) {
				t.Parallel()
				s, root := serveWeight(t), t.TempDir()
				sum := sha256.Sum256(s.content)
				w := comfyui.Weight{
					URL: s.URL, Folder: "checkpoints", Name: name, Size: weightSize, BLAKE3: blob.Sum(s.content).Hex(), SHA256: hex.EncodeToString(sum[:]),
				}
				content := string(s.content)
				if c.change != nil {
					c.change(t, s, root, &w)
				}
				got, problem := bring(t, root, w)
				require.Equal(t, c.sent, s.sent.Load(), "what was sent: %s", problem)
				kept := c.kept
				if c.problem == "" {
					require.Empty(t, problem)
					require.Equal(t, comfyui.Brought{Sent: weightSize}, got)
					kept = content
				}
				require.Contains(t, problem, c.problem)
				require.Equal(t, strings.Contains(problem, "too little space"), got.Lacks > 0, "what the disk lacks")
				requireOnly(t, root, name, kept)
				if c.problem == "" {
					got, problem = bring(t, root, w)
					require.Equal(t, comfyui.Brought{Present: true}, got, problem)
					require.EqualValues(t, weightSize, s.sent.Load(), "nothing is sent for a file that is there")
				}
			})
		}
	}
}

// requireOnly checks that a folder of models has one file with this content, or none.
func requireOnly(t *testing.T, root, name, content string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			require.Equal(t, filepath.Join(root, "checkpoints", name), path)
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, content == string(raw), "the content of %s", name)
			content = ""
		}
		return err
	}))
	require.Empty(t, len(content), "the file is not there")
}

// What an attempt has received is not sent again, and is not trusted.
func TestNodePacksGoOnWhereTheyEnded(t *testing.T) {
	t.Parallel()
	for kind, bring := range bringers(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, root := serveWeight(t), t.TempDir()
			sum := sha256.Sum256(s.content)
			w := comfyui.Weight{
				URL: s.URL, Folder: "checkpoints", Name: "x.safetensors", Size: weightSize, BLAKE3: blob.Sum(s.content).Hex(),
				SHA256: hex.EncodeToString(sum[:]),
			}
			const half = weightSize / 2
			s.most.Store(half)
			_, problem := bring(t, root, w)
			require.Equal(t, "the server has no connection to Millrace", problem)
			s.most.Store(0)
			got, problem := bring(t, root, w)
			require.Empty(t, problem)
			require.Equal(t, comfyui.Brought{Sent: weightSize - half}, got)
			require.EqualValues(t, weightSize, s.sent.Load(), "each byte is sent once")
			requireOnly(t, root, "x.safetensors", string(s.content))

			require.NoError(t, os.Remove(filepath.Join(root, "checkpoints", "x.safetensors")))
			s.most.Store(weightSize + half)
			_, problem = bring(t, root, w)
			require.NotEmpty(t, problem)
			parts, err := filepath.Glob(filepath.Join(root, "checkpoints", ".*.part"))
			require.NoError(t, err)
			require.Len(t, parts, 1)
			require.NoError(t, os.WriteFile(parts[0], make([]byte, half), 0o600))
			s.most.Store(0)
			_, problem = bring(t, root, w)
			require.Contains(t, problem, "does not have the hash")
			requireOnly(t, root, "", "")
			_, problem = bring(t, root, w)
			require.Empty(t, problem)
			requireOnly(t, root, "x.safetensors", string(s.content))
		})
	}
}

func TestNodePacksLeaveNothingOnAFullDisk(t *testing.T) {
	t.Parallel()
	for kind, bring := range bringers(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, root := serveWeight(t), smallDisk(t)
			s.fill = filepath.Join(root, "full")
			sum := sha256.Sum256(s.content)
			_, problem := bring(t, root, comfyui.Weight{
				URL: s.URL + "/fills", Folder: "checkpoints", Name: "x.safetensors", Size: weightSize, BLAKE3: blob.Sum(s.content).Hex(),
				SHA256: hex.EncodeToString(sum[:]),
			})
			require.Equal(t, "the disk of the server is full", problem)
			require.NoError(t, os.Remove(s.fill))
			requireOnly(t, root, "", "")
		})
	}
}

// A server ends when nobody waits for the file, says which hash it can check, and may lack the route.
func TestBringOfServersThatFetchNothing(t *testing.T) {
	t.Parallel()
	s := serveWeight(t)
	w := comfyui.Weight{URL: s.URL, Folder: "checkpoints", Name: "x.safetensors", Size: weightSize, BLAKE3: blob.Sum(s.content).Hex()}
	go1 := func(o sim.Options) (comfyui.Brought, error) {
		return dial(t, machine(t, o).URL(), comfyui.Options{}).Bring(t.Context(), w, func(int64) error { return context.Canceled })
	}
	got, err := go1(sim.Options{Pack: true, Models: t.TempDir(), NoBLAKE3: true})
	require.NoError(t, err)
	require.Equal(t, comfyui.Brought{NeedsSHA256: true}, got)
	_, err = go1(sim.Options{})
	require.Equal(t, fault.CodeServerFileNotFound, fault.CodeOf(err), "%v", err)
	_, err = dial(t, machine(t, sim.Options{}).URL(), comfyui.Options{}).Evict(t.Context(), w, func(int64) error { return nil })
	require.Equal(t, fault.CodeServerFileNotFound, fault.CodeOf(err), "%v", err)
	_, err = go1(sim.Options{Pack: true, Models: t.TempDir()})
	require.ErrorIs(t, err, context.Canceled, "the error of progress ends it")
}
