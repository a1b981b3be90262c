package comfyui_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// packRemoval calls the node pack's function as its route does: it reads a request, the folders and the entry of the history.
const packRemoval = `
import json, sys
sys.path.insert(0, sys.argv[1])
import removal
call = json.load(sys.stdin)
try:
    print(removal.remove(call["request"], call["roots"], call["entry"]))
except removal.Refused as refused:
    sys.exit("refused: " + str(refused))
`

// pack is the node pack over the folders of a directory.
type pack struct {
	t      *testing.T
	python string
	roots  map[node.Folder]string
}

// newPack returns the node pack over copies of the files of a machine.
func newPack(t *testing.T, m *sim.Machine) *pack {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("the node pack needs python3, which is not installed")
	}
	p := &pack{t, python, map[node.Folder]string{}}
	for _, folder := range []node.Folder{node.FolderOutput, node.FolderTemp} {
		p.roots[folder] = t.TempDir()
		for _, name := range m.Files(folder) {
			path := filepath.Join(p.roots[folder], name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte("content"), 0o600))
		}
	}
	return p
}

// remove returns the status of the pack's answer, and the answer.
func (p *pack) remove(request, entry json.RawMessage) (int, string) {
	p.t.Helper()
	call, err := json.Marshal(map[string]any{"request": request, "roots": p.roots, "entry": entry})
	require.NoError(p.t, err)
	dir, err := filepath.Abs("../../../integrations/comfyui")
	require.NoError(p.t, err)
	cmd := exec.CommandContext(p.t.Context(), p.python, "-B", "-c", packRemoval, dir)
	cmd.Stdin = bytes.NewReader(call)
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.Contains(p.t, string(out), "refused: ", "the pack failed")
		return http.StatusBadRequest, ""
	}
	return http.StatusOK, fmt.Sprintf(`{"removed":%s}`, strings.TrimSpace(string(out)))
}

// files returns the files in a folder.
func (p *pack) files(folder node.Folder) (names []string) {
	p.t.Helper()
	require.NoError(p.t, filepath.WalkDir(p.roots[folder], func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(p.roots[folder], path) // below the folder
			names = append(names, name)
		}
		return err
	}))
	slices.Sort(names)
	return names
}

// saved runs a prompt that saves a picture below a prefix and shows one, and returns the file that it shows.
func saved(t *testing.T, m *sim.Machine, id, client, prefix string) (shown string) {
	t.Helper()
	graph := fmt.Sprintf(`{"1":{"class_type":"EmptyImage","inputs":{"width":16,"height":16,"batch_size":1,"color":%d}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":%q}},
		"3":{"class_type":"PreviewImage","inputs":{"images":["1",0]}}}`, uuid.New().ID()&0xffffff, prefix)
	answer(t, http.MethodPost, m.URL()+"/prompt", fmt.Sprintf(`{"prompt":%s,"prompt_id":%q,"client_id":%q}`, graph, id, client))
	var outputs map[string]struct {
		Outputs map[string]struct {
			Images []struct{ Filename string }
		}
	}
	require.Eventually(t, func() bool {
		_, raw := answer(t, http.MethodGet, m.URL()+"/history/"+id, "")
		require.NoError(t, json.Unmarshal([]byte(raw), &outputs))
		return len(outputs[id].Outputs) == 2
	}, time.Minute, 5*time.Millisecond)
	return outputs[id].Outputs["3"].Images[0].Filename
}

func answer(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(res.Body)
	require.NoError(t, err)
	return res.StatusCode, b.String()
}

// The simulator and the node pack remove the same files: those of one prompt, and no other.
func TestNodePackAndSimulatorRemoveTheSameFiles(t *testing.T) {
	t.Parallel()
	m, err := sim.Start("127.0.0.1:0", sim.Options{Pack: true})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	ours, others, foreign := uuid.NewString(), uuid.NewString(), uuid.NewString()
	ourShown := saved(t, m, ours, ours, "millrace/"+ours+"/deep/picture")
	othersShown := saved(t, m, others, others, "millrace/"+others+"/picture")
	foreignShown := saved(t, m, foreign, "a browser", "picture")
	p := newPack(t, m)
	file := func(name, subfolder, folder string) string {
		return fmt.Sprintf(`{"filename":%q,"subfolder":%q,"type":%q}`, name, subfolder, folder)
	}
	ourFolder := "millrace/" + ours + "/deep"
	picture := file("picture_00001_.png", ourFolder, "output")
	for _, c := range []struct {
		name, prompt, files string
		status              int
	}{
		{"a file beside the folder of the prompt", ours, file("picture_00001_.png", "", "output"), http.StatusBadRequest},
		{"a file of another prompt", ours, file("picture_00001_.png", "millrace/"+others, "output"), http.StatusBadRequest},
		{"a folder whose name begins alike", ours, file("x.png", "millrace/"+ours+"-other", "output"), http.StatusBadRequest},
		{"a name that leads out", ours, file("../../x.png", ourFolder, "output"), http.StatusBadRequest},
		{"a folder that leads out", ours, file("x.png", ourFolder+"/../../..", "output"), http.StatusBadRequest},
		{"an absolute folder", ours, file("passwd", "/etc", "output"), http.StatusBadRequest},
		{"a backslash", ours, file("..\\x.png", ourFolder, "output"), http.StatusBadRequest},
		{"NUL", ours, `{"filename":"x\u0000.png","subfolder":"` + ourFolder + `","type":"output"}`, http.StatusBadRequest},
		{"an empty name", ours, file("", ourFolder, "output"), http.StatusBadRequest},
		{"a file of the input folder", ours, file("x.png", ourFolder, "input"), http.StatusBadRequest},
		{"a preview of another prompt", ours, file(othersShown, "", "temp"), http.StatusBadRequest},
		{"a preview of a browser's prompt", foreign, file(foreignShown, "", "temp"), http.StatusBadRequest},
		{"a picture of a browser's prompt", foreign, file("picture_00001_.png", "", "output"), http.StatusBadRequest},
		{"an unknown prompt", uuid.NewString(), file(ourShown, "", "temp"), http.StatusBadRequest},
		{"a name in place of an id", "name", file(ourShown, "", "temp"), http.StatusBadRequest},
		{"one good file and a bad one", ours, picture + "," + file("x", "", "output"), http.StatusBadRequest},
		{"too many files", ours, strings.Repeat(picture+",", 1000) + picture, http.StatusBadRequest},
		{"no file", ours, "", http.StatusOK},
		{"a file that is not there", ours, file("none.png", ourFolder, "output"), http.StatusOK},
		{"the files of the prompt", ours, picture + "," + file(ourShown, "", "temp"), http.StatusOK},
		{"the same again", ours, picture + "," + file(ourShown, "", "temp"), http.StatusOK},
	} {
		_, raw := answer(t, http.MethodGet, m.URL()+"/history/"+c.prompt, "")
		var history map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(raw), &history), c.name)
		request := fmt.Sprintf(`{"prompt_id":%q,"files":[%s]}`, c.prompt, c.files)
		status, said := answer(t, http.MethodPost, m.URL()+"/lossless/remove", request)
		packStatus, packSaid := p.remove(json.RawMessage(request), history[c.prompt])
		require.Equal(t, c.status, status, "%s: %s", c.name, said)
		require.Equal(t, status, packStatus, c.name)
		if status == http.StatusOK {
			require.JSONEq(t, said, packSaid, c.name)
		}
		for folder := range p.roots {
			require.Equal(t, m.Files(folder), p.files(folder), "%s: the files of %s", c.name, folder)
		}
	}
	require.NotContains(t, m.Files(node.FolderTemp), ourShown)
	require.NoDirExists(t, filepath.Join(p.roots[node.FolderOutput], "millrace", ours), "an empty folder of a prompt goes, too")
	require.DirExists(t, filepath.Join(p.roots[node.FolderOutput], "millrace", others))
}

// A link in the folder of a prompt leads the node pack nowhere.
func TestNodePackFollowsNoLink(t *testing.T) {
	t.Parallel()
	m, err := sim.Start("127.0.0.1:0", sim.Options{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	p, id, outside := newPack(t, m), uuid.NewString(), filepath.Join(t.TempDir(), "precious.png")
	require.NoError(t, os.WriteFile(outside, []byte("content"), 0o600))
	folder := filepath.Join(p.roots[node.FolderOutput], "millrace", id)
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "link.png")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(folder, "deep")))
	for _, f := range []string{
		`{"filename":"link.png","subfolder":"millrace/` + id + `","type":"output"}`,
		`{"filename":"precious.png","subfolder":"millrace/` + id + `/deep","type":"output"}`,
	} {
		status, _ := p.remove(json.RawMessage(fmt.Sprintf(`{"prompt_id":%q,"files":[%s]}`, id, f)), nil)
		require.Equal(t, http.StatusBadRequest, status, f)
	}
	require.FileExists(t, outside)
}
