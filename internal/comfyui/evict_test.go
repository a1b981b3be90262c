package comfyui_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// A node pack removes what it has fetched, and nothing else.
func TestNodePacksRemoveOnlyTheirWeights(t *testing.T) {
	t.Parallel()
	const name, content = "deep/old.safetensors", "the bytes of the weight"
	other := strings.Repeat("x", len(content))
	sum := sha256.Sum256([]byte(content))
	for title, c := range map[string]struct {
		folder, name string
		holds        string // content of the file
		linked       string // "file" or "folder": a link leads to the file
		problem      string
		removed      bool
	}{
		"the weight":                      {"checkpoints", name, content, "", "", true},
		"a file with other bytes":         {"checkpoints", name, other, "", "", false},
		"a file of another size":          {"checkpoints", name, "other", "", "", false},
		"a file that is not there":        {"checkpoints", "none.safetensors", content, "", "", false},
		"a link to the weight":            {"checkpoints", name, content, "file", "", false},
		"a folder that is a link":         {"checkpoints", name, content, "folder", "", false},
		"a name with ../":                 {"loras", "../checkpoints/" + name, content, "", "name leads out of its folder", false},
		"an absolute name":                {"checkpoints", "/" + name, content, "", "name leads out of its folder", false},
		"a folder that is none of models": {"../checkpoints", name, content, "", "folder is not one of the folders of models", false},
		"a folder of programs":            {"custom_nodes", name, content, "", "folder is not one of the folders of models", false},
		"a program":                       {"checkpoints", "deep/old.py", content, "", "name does not end as the files of the folder do", false},
	} {
		for kind, evict := range evicters(t) {
			t.Run(title+", "+kind, func(t *testing.T) {
				t.Parallel()
				if c.linked == "folder" && kind == "simulated" {
					t.Skip("the simulated node pack follows links of folders")
				}
				root, outside := t.TempDir(), t.TempDir()
				path := filepath.Join(root, "checkpoints", name)
				file := path
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				switch c.linked {
				case "file":
					file = filepath.Join(outside, "old.safetensors")
					require.NoError(t, os.Symlink(file, path))
				case "folder":
					require.NoError(t, os.Remove(filepath.Dir(path)))
					require.NoError(t, os.Symlink(outside, filepath.Dir(path)))
				}
				require.NoError(t, os.WriteFile(file, []byte(c.holds), 0o600))
				w := comfyui.Weight{
					Folder: c.folder, Name: c.name, Size: int64(len(content)), BLAKE3: blob.Sum([]byte(content)).Hex(), SHA256: hex.EncodeToString(sum[:]),
				}
				got, problem := evict(t, root, w)
				require.Equal(t, comfyui.Brought{Removed: c.removed}, got)
				require.Contains(t, problem, c.problem)
				if !c.removed {
					require.FileExists(t, path)
					return
				}
				require.NoFileExists(t, path)
				got, problem = evict(t, root, w)
				require.Equal(t, comfyui.Brought{}, got, "it is removed once: %s", problem)
				require.Empty(t, problem)
			})
		}
	}
}

// packChange removes a weight with the node pack, and changes its file after the pack has read it.
const packChange = `
import hashlib, json, os, sys
sys.path.insert(0, sys.argv[1])
import fetching
path = sys.argv[2] + "/checkpoints/old.safetensors"
content = open(path, "rb").read()
def replaced():
    with open(path + ".new", "wb") as other:
        other.write(content)
    os.utime(path + ".new", ns=(0, os.stat(path).st_mtime_ns))
    os.replace(path + ".new", path)
def written():
    with open(path, "r+b") as file:
        file.write(b"x")
    os.utime(path, ns=(0, 0))
changes = {"removed": lambda: os.remove(path), "replaced": replaced, "written": written, "given up": lambda: None}
class Changing(fetching.Eviction):
    def _read(self, file):
        digest = super()._read(file)
        changes[sys.argv[3]]()
        self.stopped = sys.argv[3] == "given up"
        return digest
request = {"folder": "checkpoints", "name": "old.safetensors", "size": len(content), "blake3": sys.argv[4],
    "sha256": hashlib.sha256(content).hexdigest()}
work = Changing(request, {"checkpoints": ([sys.argv[2] + "/checkpoints"], set())}, {".safetensors"})
work.run()
print(json.dumps(work.result))
`

// A file that another request removes, or that somebody changes while it is read, is not the one that was read.
func TestNodePackNoticesChangesOfAFile(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("the node pack needs python3, which is not installed")
	}
	pack, err := filepath.Abs("../../integrations/comfyui")
	require.NoError(t, err)
	for _, change := range []string{"removed", "replaced", "written", "given up"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			root, content := t.TempDir(), []byte("the bytes of the weight")
			path := filepath.Join(root, "checkpoints", "old.safetensors")
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, content, 0o600))
			cmd := exec.CommandContext(t.Context(), python, "-B", "-c", packChange, pack, root, change, blob.Sum(content).Hex())
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			require.JSONEq(t, `{"removed": false}`, string(out))
			if change != "removed" {
				require.FileExists(t, path)
			}
		})
	}
}

// Of the requests that remove one file at once, one has removed it, and none fails.
func TestNodePacksRemoveAFileOnce(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("weight "), weightSize/7)
	sum := sha256.Sum256(content)
	for kind, evict := range evicters(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(root, "checkpoints"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(root, "checkpoints", "old.safetensors"), content, 0o600))
			var all sync.WaitGroup
			var removed, failed atomic.Int32
			for range 4 {
				all.Go(func() {
					got, problem := evict(t, root, comfyui.Weight{
						Folder: "checkpoints", Name: "old.safetensors", Size: int64(len(content)), BLAKE3: blob.Sum(content).Hex(),
						SHA256: hex.EncodeToString(sum[:]),
					})
					if got.Removed {
						removed.Add(1)
					}
					if problem != "" {
						failed.Add(1)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 1, removed.Load())
			require.Zero(t, failed.Load())
		})
	}
}
