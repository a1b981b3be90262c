package servers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/processes/processestest"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/test/served"
)

func TestMain(m *testing.M) {
	processestest.Main()
	if len(os.Args) == 3 && os.Args[1] == callMode {
		call(os.Args[2])
	}
	os.Exit(m.Run())
}

// processes returns the process ids of the servers that Millrace started and that answer, by their addresses.
func (s *service) processes() map[string]int {
	s.t.Helper()
	var servers []struct {
		URL, State string
		Process    struct {
			PID   int
			Phase string
		}
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.command("servers", "list", "--json")), &servers))
	ids := map[string]int{}
	for _, one := range servers {
		if one.Process.Phase == "running" && (one.State == "healthy" || one.State == "busy") {
			ids[one.URL] = one.Process.PID
		}
	}
	return ids
}

// The processes of --comfyui-dir run jobs without another step. Each is killed and hangs while it runs jobs: every job ends, and no
// process is left when Millrace has ended.
func TestProcessesThatMillraceStartsAndLooksAfter(t *testing.T) {
	dir, python := processestest.Dir(t, 0, "") // a GPU may be taken
	t.Parallel()
	s := serve(t, nil, nil, "--comfyui-dir", dir, "--comfyui-python", python, "--comfyui-count", "2", "--comfyui-recycle-prompts", "4")
	s.await("two processes that answer", func() bool { return len(s.processes()) == 2 })
	first := s.processes()
	file, _ := large(t, "new.safetensors", 1<<20)
	s.command("weights", "put", file, "--folder", "checkpoints")
	require.Equal(t, "completed", s.ended(s.submit(loading("new.safetensors"))))
	require.Len(t, s.brought()["new.safetensors"], 1)
	require.Zero(t, s.brought()["new.safetensors"][0].Sent, "the processes share the file of the blob")
	const jobs = 16
	var ids []string
	for i := range jobs {
		ids = append(ids, s.submit(served.Text2Img(i+1, 300)))
	}
	seen := map[int]bool{}
	for address := range first {
		// A process that has run its four prompts may have been replaced since: what is killed is what runs now. While a slow machine
		// replaces it, the jobs may all end: then longer ones follow, each when the last has ended, until one is seen.
		s.await("a job on "+address+" and its process killed", func() bool {
			pid := s.processes()[address]
			seen[pid] = true
			if pid == 0 {
				return false
			}
			if !strings.Contains(s.command("servers", "list"), "busy") {
				if s.status(ids[len(ids)-1]) == "completed" {
					ids = append(ids, s.submit(served.Text2Img(len(ids)+1, 3000)))
				}
				return false
			}
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		})
		for _, id := range ids { // before the next one is killed: a job fails that loses two servers
			require.Equal(t, "completed", s.ended(id), id)
		}
	}
	for _, id := range ids {
		require.Len(t, s.images(id), 1, "job %s", id)
	}
	s.await("new processes at the same addresses", func() bool {
		now := s.processes()
		for address, pid := range first {
			if now[address] == 0 || now[address] == pid {
				return false
			}
		}
		return true
	})
	events := s.command("events", "list", "--type", "server.process_", "--json")
	require.Contains(t, events, "server.process_ended.v1")
	require.Contains(t, events, `"crashed"`)
	require.Contains(t, events, `"recycled"`)
	for address, pid := range s.processes() {
		seen[pid] = true
		require.Contains(t, s.command("servers", "logs", address, "--lines", "5"), "simulated ComfyUI on device")
	}
	s.Stop()
	delete(seen, 0) // no process ran at an address
	for pid := range seen {
		require.False(t, alive(pid), "process %d", pid)
	}
}

// alive reports whether a process runs.
func alive(pid int) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))
	return err == nil
}

// A pool of the kind process starts no process before it needs a machine, and ends it when the jobs have ended.
func TestProcessesOfAPoolComeByDemandAndGo(t *testing.T) {
	dir, python := processestest.Dir(t, 0, "")
	t.Parallel()
	s := &service{t: t}
	s.Service = served.Start(t, served.Options{
		Name: "mr-servers", Patience: 2 * patience, Lookup: settings{}.lookup,
		Args: []string{
			"--log", "warn", "--slots", "32", "--admin-token", adminToken, "--comfyui-dir", dir, "--comfyui-python", python, "--comfyui-pool",
			"--comfyui-count", "2",
		},
	})
	file := filepath.Join(t.TempDir(), "pool.yaml")
	write := func(lines string) string {
		require.NoError(t, os.WriteFile(file, []byte("pool: process\nkind: process\n"+lines), 0o600))
		return file
	}
	require.Contains(t, s.fails("pool", "apply", write("max: 1\nstart: start\n")), "start: a pool of the kind process has no such key")
	require.Contains(t, s.fails("pool", "apply", write("max: 3\n")), "max: the workers with --comfyui-pool can run 2 machines")
	require.Empty(t, s.processes())
	write("max: 1\nidle: 10s\nwait: 1s\nlabels: [own]\n")
	require.Contains(t, s.command("pool", "apply", file), "is created")
	seen := map[int]bool{}
	none := func() bool {
		now := s.processes()
		require.LessOrEqual(t, len(now), 1)
		for _, pid := range now {
			seen[pid] = true
		}
		return len(now) == 0 && len(s.machinesOf(pool.Process)) == 0
	}
	known := func() bool { return strings.Contains(s.get("/api/object_info/KSampler"), "sampler_name") }
	s.await("the classes of a process", known)
	s.await("the end of the process that showed them", none)

	var ids []string
	for i := range 3 {
		extra := map[string]any{"millrace": map[string]any{"labels": []string{"own"}}}
		ids = append(ids, s.submitWith(served.Text2Img(i+1, 300), extra))
	}
	s.await("a process", func() bool { return !none() && len(s.processes()) == 1 })
	for address := range s.processes() {
		require.Contains(t, s.command("servers", "logs", address, "--lines", "5"), "simulated ComfyUI on device")
	}
	for _, id := range ids {
		require.Equal(t, "completed", s.ended(id), id)
		require.Len(t, s.images(id), 1, "job %s", id)
	}
	s.await("no process", none)
	require.NotEmpty(t, seen)
	for pid := range seen {
		require.False(t, alive(pid), "process %d", pid)
	}
	require.NotContains(t, s.command("events", "list", "--type", "machine.", "--json", "--limit", "100"), "machine.lost")

	working := func(seed int) (last int) {
		s.await("classes", known)
		s.submitWith(served.Text2Img(seed, 3000), map[string]any{"millrace": map[string]any{"labels": []string{"own"}}})
		s.await("a process that works", func() bool {
			for _, pid := range s.processes() {
				last = pid
			}
			return last > 0
		})
		return last
	}
	last := working(8)
	s.command("pool", "rm", "process", "--reason", "test")
	s.await("the end of the pool", func() bool { return !strings.Contains(s.command("pool", "list"), "process") })
	require.False(t, alive(last), "it ends with the pool")

	require.Contains(t, s.command("pool", "apply", file), "is created")
	last = working(9)
	s.Stop()
	require.False(t, alive(last), "it ends with Millrace")
}
