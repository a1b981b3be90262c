package servers_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// TestGraphsOnBothSides runs graphs of which a part runs on a server, which lacks one native class, and a part
// locally.
func TestGraphsOnBothSides(t *testing.T) {
	t.Parallel()
	s := start(t, comfyui.Options{Step: 5 * time.Millisecond, Without: []string{"ImageInvert"}})
	machine := s.machines[0]

	t.Run("a retry from a later node takes what the segment gave", func(t *testing.T) {
		s := s.with(t)
		id := s.submit(inverted(101))
		require.Equal(t, "completed", s.ended(id))
		pictures, ran := s.images(id), len(machine.Runs())
		for range 2 { // a retry of the retry as well
			id = s.retry(id, "8")
			require.Equal(t, "completed", s.ended(id))
			require.Len(t, machine.Runs(), ran, "nothing ran on the server again")
			require.Len(t, s.images(id), len(pictures), "the preview of the segment is shown, too")
			require.Contains(t, s.command("jobs", "events", id), "nodes_cached")
		}
		id = s.retry(id, "5")
		require.Equal(t, "completed", s.ended(id))
		require.Len(t, machine.Runs(), ran+1, "a retry from a node of the segment runs it again")
	})
	t.Run("another submission of the same graph runs on the server", func(t *testing.T) {
		s := s.with(t)
		require.Equal(t, "completed", s.ended(s.submit(inverted(102))))
		ran := len(machine.Runs())
		require.Equal(t, "completed", s.ended(s.submit(inverted(102))))
		require.Len(t, machine.Runs(), ran+1, "whether classes of servers are pure is not known")
	})
}

// Files that the account has are removed from a server with the node pack; files of other programs stay.
func TestStoredFilesLeaveTheirServer(t *testing.T) {
	t.Parallel()
	s := start(t, comfyui.Options{Pack: true, Without: []string{"ImageInvert"}})
	m := s.machines[0]
	files := func() []string { return append(m.Files(node.FolderOutput), m.Files(node.FolderTemp)...) }
	for seed := range 2 { // the second prompt finds the first one's nodes in the cache of the server
		var own struct {
			Prompt string `json:"prompt_id"`
		}
		res, err := http.Post(m.URL()+"/prompt", "application/json", strings.NewReader(`{"prompt":{
			"1":{"class_type":"EmptyImage","inputs":{"width":16,"height":16,"batch_size":1,"color":`+strconv.Itoa(seed)+`}},
			"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"millrace/own"}},
			"3":{"class_type":"PreviewImage","inputs":{"images":["1",0]}}}}`))
		require.NoError(t, err)
		require.NoError(t, json.NewDecoder(res.Body).Decode(&own))
		require.NoError(t, res.Body.Close())
		require.NotEmpty(t, own.Prompt)
		s.await("the files of another program", func() bool { return len(files()) == 2*(seed+1) })
		before := files()
		id := s.submit(inverted(110))
		require.Equal(t, "completed", s.ended(id))
		require.Len(t, s.images(id), 2, "the account has the picture and the preview")
		s.await("the removal of the job's files", func() bool { return slices.Equal(files(), before) })
	}
	m.Inject(comfyui.Raise, 1)
	before, failing := files(), inverted(111)
	failing["10"] = served.Node("EmptyImage", map[string]any{"width": 32, "height": 32, "batch_size": 1, "color": 7})
	failing["0"] = served.Node("SaveImage", map[string]any{"images": []any{"10", 0}, "filename_prefix": "early"})
	require.NotEqual(t, "completed", s.ended(s.submit(failing)))
	s.await("the removal of a failed job's files", func() bool { return slices.Equal(files(), before) })
}

// inverted is text2img with a preview on the server, and its picture inverted locally.
func inverted(seed int) served.Graph {
	g := maps.Clone(served.Text2Img(seed, 2))
	g["9"] = served.Node("PreviewImage", map[string]any{"images": []any{"6", 0}})
	g["8"] = served.Node("ImageInvert", map[string]any{"image": []any{"6", 0}})
	g["7"] = served.Node("SaveImage", map[string]any{"images": []any{"8", 0}, "filename_prefix": "inverted"})
	return g
}

// retry retries a job from a node and returns the new job.
func (s *service) retry(id, node string) string {
	s.t.Helper()
	var made []struct {
		ID string `json:"retry"`
	}
	said := s.command("jobs", "retry", id, "--from-node", node, "--reason", "a test", "--json")
	require.NoError(s.t, json.Unmarshal([]byte(said), &made), said)
	require.Len(s.t, made, 1, said)
	require.NotEmpty(s.t, made[0].ID, said)
	return made[0].ID
}
