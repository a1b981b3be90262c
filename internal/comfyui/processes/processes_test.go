package processes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/processes"
	"github.com/millrace-dev/millrace/internal/comfyui/processes/processestest"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

const patience = 2 * time.Minute

// keeperMode makes the test binary run a keeper with the options in this variable, to be killed.
const keeperMode = "MILLRACE_TEST_KEEPER"

func TestMain(m *testing.M) {
	processestest.Main()
	if text := os.Getenv(keeperMode); text != "" {
		var o processes.Options
		err := json.Unmarshal([]byte(text), &o)
		o.Log = slog.New(slog.DiscardHandler)
		var k *processes.Keeper
		if err == nil {
			k, err = processes.Open(context.Background(), o)
		}
		if err == nil {
			r := &registry{rows: map[server.ID]*server.Server{}}
			err = k.Run(context.Background(), o.Data, r, r.view, o.Log)
		}
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// registry is a registry in memory.
type registry struct {
	mu     sync.Mutex
	rows   map[server.ID]*server.Server
	events []any
	past   []*server.Server                                  // the rows with each process that was recorded, in order
	refuse func(ctx context.Context, p server.Process) error // to record a process; nil = none is refused
	tokens []server.Token                                    // of machines of the pool p
}

// order adds machines to the pool.
func (r *registry) order(machines ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range machines {
		r.tokens = append(r.tokens, server.Token{ID: "token-" + m, Name: m, Pool: "p", Labels: []string{"of-p"}})
	}
}

// revoke stops a machine.
func (r *registry) revoke(machine string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for i := range r.tokens {
		if r.tokens[i].Name == machine {
			r.tokens[i].RevokedAt = &now
		}
	}
}

func (r *registry) Tokens(context.Context) ([]server.Token, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tokens), nil
}

// pools returns the pool p, and one of another kind with the same machines.
func (r *registry) pools(context.Context) ([]pool.Pool, error) {
	all, err := r.Tokens(context.Background())
	p := pool.Pool{Name: "p", Provider: pool.Provider{Kind: pool.Process}}
	for _, t := range all {
		if !strings.HasPrefix(t.Name, "other") {
			p.Machines = append(p.Machines, pool.Machine{ID: t.Name, Handle: t.Name, Phase: pool.Starting})
		}
	}
	other := pool.Pool{Name: "other", State: pool.State{Machines: []pool.Machine{{ID: "other-1", Phase: pool.Starting}}}}
	return []pool.Pool{other, p}, err
}

// of returns the server of a machine if its process is in a phase, or nil.
func (r *registry) of(machine string, phase server.Phase) *server.Server {
	for _, row := range r.view() {
		if row.Token == "token-"+machine && row.Process != nil && row.Process.Phase == phase {
			return row
		}
	}
	return nil
}

func (r *registry) Register(_ context.Context, reg server.Registration, _ []byte) (*server.Server, error) {
	if err := reg.Check(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	token := ""
	if reg.Token != nil {
		token = reg.Token.ID
	}
	for _, s := range r.rows {
		if s.URL == reg.URL {
			return s, nil
		}
		if token != "" && s.Token == token {
			return nil, fault.New(fault.Conflict, fault.CodeServerExists, "the machine %s has a server", reg.Token.Name)
		}
	}
	s := &server.Server{
		ID: server.NewID(), URL: reg.URL, Health: server.Answers, ModelsFolder: reg.ModelsFolder, Token: token, Labels: reg.Labels,
	}
	r.rows[s.ID] = s
	return s, nil
}

func (r *registry) Server(_ context.Context, ref string) (*server.Server, error) {
	for _, s := range r.view() {
		if s.URL == ref {
			return s, nil
		}
	}
	return nil, fault.New(fault.NotFound, fault.CodeServerNotFound, "no server %s", ref)
}

func (r *registry) Remove(_ context.Context, id server.ID, _ server.By) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.rows, id)
	return nil
}

func (r *registry) RecordProcess(ctx context.Context, id server.ID, p server.Process, eventType string, data any) error {
	if r.refuse != nil {
		if err := r.refuse(ctx, p); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.rows[id]; s != nil {
		s.Process = &p
		row := *s
		r.past = append(r.past, &row)
	}
	if eventType != "" {
		r.events = append(r.events, data)
	}
	return nil
}

func (r *registry) view() (all []*server.Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.rows {
		row := *s
		all = append(all, &row)
	}
	return all
}

// change changes the row of the only server.
func (r *registry) change(change func(*server.Server)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.rows {
		change(s)
	}
}

// causes returns why processes ended, in order.
func (r *registry) causes() (causes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e, ok := e.(server.ProcessEndedV1); ok {
			causes = append(causes, e.Cause)
		}
	}
	return causes
}

// kept is a keeper that runs.
type kept struct {
	*registry
	*processes.Keeper
	t    *testing.T
	data string
	stop func()
}

func options(t *testing.T, gpus int, script string) processes.Options {
	t.Helper()
	dir, python := processestest.Dir(t, gpus, script)
	return processes.Options{Dir: dir, Python: python, Data: filepath.Join(t.TempDir(), "comfyui"), Log: slog.New(slog.DiscardHandler)}
}

func keep(t *testing.T, o processes.Options) *kept {
	t.Helper()
	return keepIn(t, o, &registry{})
}

// keepIn is keep with a registry.
func keepIn(t *testing.T, o processes.Options, r *registry) *kept {
	t.Helper()
	if r.rows == nil {
		r.rows = map[server.ID]*server.Server{}
	}
	k, err := processes.Open(t.Context(), o)
	require.NoError(t, err)
	s := &kept{registry: r, Keeper: k, t: t, data: o.Data}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx, o.Data, s.registry, s.view, o.Log) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(s.stop)
	return s
}

// recorded returns the rows with each process that was recorded.
func (r *registry) recorded() []*server.Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.past)
}

// await waits until the server with the number of restarts is in a phase, or has been, and returns it.
func (s *kept) await(phase server.Phase, restarts int) (found *server.Server) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		for _, row := range s.recorded() { // some phases are short
			if row.Process.Phase == phase && row.Process.Restarts == restarts {
				found = row
			}
		}
		return found != nil
	}, patience, 20*time.Millisecond, "%s after %d restarts", phase, restarts)
	return found
}

// written is a log that is read while it is written.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func runs(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(raw), ") Z ")
}

func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return !runs(pid) }, patience, 20*time.Millisecond, "the end of process %d", pid)
}

func TestEachGPUHasAProcessWithItsOwnPortAndDirectory(t *testing.T) {
	t.Setenv("MILLRACE_SECRET_KEY", "not for node packs")
	t.Setenv("CUDA_VISIBLE_DEVICES", "5, 6")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	k := keep(t, options(t, 2, ""))
	var rows []*server.Server
	require.Eventually(t, func() bool {
		rows = rows[:0]
		for _, row := range k.view() {
			if row.Process != nil && row.Process.Phase == server.PhaseRunning {
				rows = append(rows, row)
			}
		}
		return len(rows) == 2
	}, patience, 20*time.Millisecond)
	require.NotEqual(t, rows[0].URL, rows[1].URL)
	for n := range 2 {
		log, err := os.ReadFile(filepath.Join(k.data, "gpu"+strconv.Itoa(n), "log"))
		require.NoError(t, err)
		require.Contains(t, string(log), fmt.Sprintf("on device %d secret: \n", 5+n))
	}
	raw, err := os.ReadFile(filepath.Join(k.data, "models.yaml"))
	require.NoError(t, err)
	var paths map[string]map[string]string
	require.NoError(t, json.Unmarshal(raw, &paths), "JSON is YAML")
	models := filepath.Join(k.data, "models")
	require.Equal(t, models, paths["millrace"]["base_path"])
	require.Equal(t, "checkpoints", paths["millrace"]["checkpoints"])
	require.Equal(t, []string{models, models}, []string{rows[0].ModelsFolder, rows[1].ModelsFolder}, "the processes share a folder of models")
	k.stop()
	for _, row := range rows {
		require.False(t, runs(row.Process.PID))
	}
	require.Equal(t, []string{server.EndStopped, server.EndStopped}, k.causes())
}

// A GPU is that of one Millrace of the user. Another one leaves it out, unless it is named or there is no other.
func TestAGPUIsOfOneMillrace(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	open := func(gpus string) (*processes.Keeper, error) {
		o := options(t, 3, "")
		o.GPUs, o.ForPools, o.Count = gpus, true, 2 // for pools, nothing runs yet
		o.Pools = func(context.Context) ([]pool.Pool, error) { return nil, nil }
		return processes.Open(t.Context(), o)
	}
	first, err := open("1")
	require.NoError(t, err)
	for _, gpus := range []string{"1", "0,1"} {
		_, err = open(gpus)
		require.ErrorContains(t, err, "--comfyui-gpus: another Millrace runs ComfyUI on GPU 1: ")
		require.ErrorContains(t, err, fmt.Sprintf("is locked by process %d; end it", os.Getpid()))
	}
	rest, err := open("all")
	require.NoError(t, err)
	require.Equal(t, 4, rest.Machines(), "two for each of the other GPUs, which no refused keeper has")
	_, err = open("")
	require.ErrorContains(t, err, "another Millrace runs ComfyUI on GPU 2: ")
	_, err = open("none")
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, k := range []*processes.Keeper{first, rest} {
		require.NoError(t, k.Run(ended, "", &registry{}, nil, k.Log))
	}
	_, err = open("0,1,2")
	require.NoError(t, err)
}

func TestAProcessThatFailsIsStartedAgainAtItsAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail func(k *kept, row *server.Server)
		want string
	}{
		"it is killed": {func(_ *kept, row *server.Server) {
			require.NoError(t, syscall.Kill(row.Process.PID, syscall.SIGKILL))
		}, server.EndCrashed},
		"it does not answer": {func(_ *kept, row *server.Server) {
			require.NoError(t, syscall.Kill(row.Process.PID, syscall.SIGSTOP))
		}, server.EndHung},
		"a canceled prompt does not end": {func(k *kept, _ *server.Server) {
			earlier := time.Now().Add(-time.Hour) // of an earlier process
			k.change(func(s *server.Server) { s.CanceledAt = &earlier })
			require.Never(t, func() bool { return len(k.causes()) > 0 }, 3*time.Second, 100*time.Millisecond)
			now := time.Now()
			k.change(func(s *server.Server) { s.CanceledAt = &now })
		}, server.EndStuck},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, 0, "")
			o.Silence = 15 * time.Second
			k := keep(t, o)
			first := k.await(server.PhaseRunning, 0)
			c.fail(k, first)
			require.Eventually(t, func() bool { return len(k.causes()) > 0 }, patience, 20*time.Millisecond)
			k.change(func(s *server.Server) { s.CanceledAt = nil })
			second := k.await(server.PhaseRunning, 1)
			require.Equal(t, first.URL, second.URL)
			require.NotEqual(t, first.Process.PID, second.Process.PID)
			require.Equal(t, []string{c.want}, k.causes())
			awaitEnd(t, first.Process.PID)
		})
	}
}

func TestAProcessThatPrintsAndDiesIsShownWithItsLastLine(t *testing.T) {
	t.Parallel()
	k := keep(t, options(t, 0, "echo loading; echo no such file: model.yaml >&2; exit 3"))
	row := k.await(server.PhaseStopped, 1)
	require.Contains(t, row.Process.Problem, "exit status 3: no such file: model.yaml; it is started again in")
	row.Health = server.Absent
	require.Equal(t, server.Away, row.State())
	require.Contains(t, row.Trouble(), "no such file: model.yaml")
}

func TestALogThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	t.Parallel()
	o := options(t, 0, "echo loading; sleep 0.5; echo no such file: model.yaml; exit 3")
	logged := &written{}
	o.Log = slog.New(slog.NewTextHandler(logged, nil))
	log := filepath.Join(o.Data, "cpu", "log")
	require.NoError(t, os.MkdirAll(filepath.Dir(log), 0o700))
	require.NoError(t, os.Symlink("/dev/full", log))
	k := keep(t, o)
	row := k.await(server.PhaseStopped, 1)
	require.Contains(t, row.Process.Problem, "exit status 3: no such file: model.yaml")
	require.Equal(t, 1, strings.Count(logged.String(), "the log of a ComfyUI process cannot be written"))
	require.NoError(t, os.Remove(log))
	require.Eventually(t, func() bool {
		raw, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(raw), "no such file: model.yaml")
	}, patience, 20*time.Millisecond)
}

func TestAProcessThatCannotBeNotedIsEnded(t *testing.T) {
	t.Parallel()
	o := options(t, 0, `echo $$ >> "$(dirname "$0")/pids"`)
	obstacle := filepath.Join(o.Data, "processes.json.new")
	require.NoError(t, os.MkdirAll(obstacle, 0o700))
	k := keep(t, o)
	require.Contains(t, k.await(server.PhaseStopped, 1).Process.Problem, "is a directory; it is started again in")
	require.NoError(t, os.Remove(obstacle))
	var found *server.Server
	require.Eventually(t, func() bool {
		for _, row := range k.view() {
			if row.Process != nil && row.Process.Phase == server.PhaseRunning {
				found = row
			}
		}
		return found != nil
	}, patience, 20*time.Millisecond)
	raw, err := os.ReadFile(filepath.Join(o.Dir, "pids"))
	require.NoError(t, err)
	for _, line := range strings.Fields(string(raw)) {
		pid, err := strconv.Atoi(line)
		require.NoError(t, err)
		require.Equal(t, pid == found.Process.PID, runs(pid), "process %d", pid)
	}
}

func TestAPhaseThatCannotBeRecordedIsRecordedLater(t *testing.T) {
	t.Parallel()
	o := options(t, 0, "")
	o.RecyclePrompts = 1
	logged := &written{}
	o.Log = slog.New(slog.NewTextHandler(logged, nil))
	var running, closing sync.Once
	k := keepIn(t, o, &registry{refuse: func(ctx context.Context, p server.Process) (err error) {
		switch p.Phase {
		case server.PhaseRunning:
			running.Do(func() { <-ctx.Done(); err = ctx.Err() })
		case server.PhaseClosing:
			closing.Do(func() { err = errors.New("the database is away") })
		}
		return err
	}})
	row := k.await(server.PhaseRunning, 0)
	require.Contains(t, logged.String(), "deadline exceeded")
	k.change(func(s *server.Server) { s.Leases = []server.Lease{{}} })
	ended(t, k, row.ID)
	k.await(server.PhaseClosing, 0)
	require.Contains(t, logged.String(), "the database is away")
}

func TestOldFilesAndEmptyDirectoriesAreRemoved(t *testing.T) {
	t.Parallel()
	o := options(t, 0, "")
	dir := filepath.Join(o.Data, "cpu")
	old := time.Now().Add(-48 * time.Hour)
	for _, path := range []string{
		"output/millrace/old/sub/a.png", "output/millrace/kept/old.png", "input/millrace/old/a.png", "temp/old/a.png",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), nil, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "output/millrace/kept/new.png"), nil, 0o600))
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == "new.png" {
			return err
		}
		return errors.Join(err, os.Chtimes(path, old, old))
	}))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "output/new"), 0o700))
	require.NoError(t, os.Chtimes(filepath.Join(dir, "output"), old, old))
	k := keep(t, o)
	k.await(server.PhaseRunning, 0)
	var left []string
	for _, sub := range []string{"output", "input", "temp"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(dir, sub), func(path string, _ fs.DirEntry, err error) error {
			left = append(left, strings.TrimPrefix(path, dir+"/"))
			return err
		}))
	}
	require.Equal(t, []string{
		"output", "output/millrace", "output/millrace/kept", "output/millrace/kept/new.png", "output/new", "input", "temp",
	}, left)
}

func TestASlotWithoutADirectoryEndsTheKeeper(t *testing.T) {
	t.Parallel()
	o := options(t, 0, "")
	o.Count = 2
	require.NoError(t, os.MkdirAll(o.Data, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(o.Data, "cpu-2"), nil, 0o600))
	k, err := processes.Open(t.Context(), o)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := &registry{rows: map[server.ID]*server.Server{}}
	require.ErrorContains(t, k.Run(ctx, o.Data, r, r.view, o.Log), "directories of a ComfyUI process")
	require.NoError(t, ctx.Err())
}

// ended reports segments that have ended on servers.
func ended(t *testing.T, k *kept, ids ...server.ID) {
	t.Helper()
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	for _, id := range ids {
		data, err := json.Marshal(job.SegmentEndedV1{Server: string(id)})
		require.NoError(t, err)
		k.SegmentEnded(types, eventlog.Recorded{Type: job.TypeSegmentEnded, Data: data})
	}
}

func TestAProcessIsRecycledWhenItRunsNothing(t *testing.T) {
	t.Parallel()
	o := options(t, 0, "")
	o.RecyclePrompts = 3
	k := keep(t, o)
	row := k.await(server.PhaseRunning, 0)
	k.change(func(s *server.Server) { s.Leases = []server.Lease{{}} })
	ended(t, k, row.ID, row.ID, "another", "another", row.ID)
	closing := k.await(server.PhaseClosing, 0)
	require.Equal(t, server.Draining, closing.State())
	require.Contains(t, closing.Trouble(), "it has run 3 prompts")
	require.Never(t, func() bool { return len(k.causes()) > 0 }, 4*time.Second, 100*time.Millisecond, "it runs a segment")
	k.change(func(s *server.Server) { s.Leases = nil })
	require.NotEqual(t, row.Process.PID, k.await(server.PhaseRunning, 1).Process.PID)
	require.Equal(t, []string{server.EndRecycled}, k.causes())
}

func TestAProcessBeyondItsMemoryIsRecycled(t *testing.T) {
	t.Parallel()
	o := options(t, 0, "")
	o.RecycleMemory = "1MiB"
	k := keep(t, o)
	problem := k.await(server.PhaseStarting, 1).Process.Problem
	require.Contains(t, problem, "MiB of memory, more than")
	require.Contains(t, problem, "it is started again in", "it ran for less than 30 seconds, so it is not started again at once")
}

func TestATakenPortIsReplaced(t *testing.T) {
	t.Parallel()
	o := options(t, 0, "")
	k := keep(t, o)
	first := k.await(server.PhaseRunning, 0)
	k.stop()
	l := listen(t, strings.TrimPrefix(first.URL, "http://"))
	defer l.Close()
	for _, c := range []struct {
		log  string // of the process that has the address now
		left bool
	}{{"/of/another/keeper/cpu/log", true}, {first.Process.Log, false}} {
		r := &registry{rows: map[server.ID]*server.Server{first.ID: {ID: first.ID, URL: first.URL, Process: &server.Process{Log: c.log}}}}
		again := keepIn(t, o, r)
		require.NotEqual(t, first.URL, again.await(server.PhaseRunning, 0).URL)
		_, err := r.Server(t.Context(), first.URL)
		require.Equal(t, c.left, err == nil, "the server at the former address")
		again.stop()
		raw, err := json.Marshal([]map[string]any{{"name": "cpu", "url": first.URL, "port": l.Addr().(*net.TCPAddr).Port}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(o.Data, "processes.json"), raw, 0o600))
	}
}

// A Millrace that is killed leaves no process behind, not even those that the interpreter has started.
func TestNothingOutlivesAKilledKeeper(t *testing.T) {
	t.Parallel()
	o := options(t, 0, `sleep 3600 & echo $! > "$(dirname "$0")/child"`)
	raw, err := json.Marshal(map[string]string{"Dir": o.Dir, "Python": o.Python, "Data": o.Data})
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), keeperMode+"="+string(raw))
	require.NoError(t, cmd.Start())
	var notes []struct{ PID int }
	require.Eventually(t, func() bool {
		raw, err := os.ReadFile(filepath.Join(o.Data, "processes.json"))
		return err == nil && json.Unmarshal(raw, &notes) == nil && len(notes) == 1
	}, patience, 20*time.Millisecond)
	var second int
	require.Eventually(t, func() bool {
		raw, err := os.ReadFile(filepath.Join(o.Dir, "child"))
		second, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
		return err == nil && second > 0
	}, patience, 20*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	awaitEnd(t, notes[0].PID)
	awaitEnd(t, second)
}

// leave starts a process as one of a keeper that was killed with its watcher, with its note, and returns its id.
func leave(t *testing.T, o processes.Options) int {
	t.Helper()
	stray := exec.Command("sh", "-c", "sleep 3600; :", filepath.Join(o.Data, "cpu"))
	stray.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, stray.Start())
	go stray.Wait()
	t.Cleanup(func() { syscall.Kill(-stray.Process.Pid, syscall.SIGKILL) })
	require.NoError(t, os.MkdirAll(o.Data, 0o700))
	notes := fmt.Sprintf(`[{"name": "cpu", "pid": %d}]`, stray.Process.Pid)
	require.NoError(t, os.WriteFile(filepath.Join(o.Data, "processes.json"), []byte(notes), 0o600))
	return stray.Process.Pid
}

func TestAStartWithoutProcessesEndsWhatWasLeftBehind(t *testing.T) {
	t.Parallel()
	o := options(t, 0, "")
	stray := leave(t, o)
	here, err := os.Getwd()
	require.NoError(t, err)
	data, err := filepath.Rel(here, o.Data) // as a setting may have it
	require.NoError(t, err)
	var none *processes.Keeper
	require.NoError(t, none.Run(t.Context(), data, &registry{}, nil, o.Log))
	awaitEnd(t, stray)
}

func TestTheNextStartEndsWhatWasLeftBehind(t *testing.T) {
	t.Parallel()
	o := options(t, 0, "")
	stray := leave(t, o)
	other := exec.Command("sleep", "3600")
	require.NoError(t, other.Start())
	t.Cleanup(func() { other.Process.Kill(); other.Wait() })
	notes := fmt.Sprintf(`[{"name": "cpu", "pid": %d}, {"name": "gpu7", "pid": %d}]`, stray, other.Process.Pid)
	require.NoError(t, os.WriteFile(filepath.Join(o.Data, "processes.json"), []byte(notes), 0o600))
	k := keep(t, o)
	awaitEnd(t, stray)
	require.True(t, runs(other.Process.Pid), "its id was used again")
	k.await(server.PhaseRunning, 0)

	_, err := processes.Open(t.Context(), o)
	require.ErrorContains(t, err, "another Millrace looks after")
}

func TestServersOfFormerProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	o := options(t, 0, "")
	o.Count = 2
	k := keep(t, o)
	require.Eventually(t, func() bool { return len(k.view()) == 2 }, patience, 20*time.Millisecond)
	k.await(server.PhaseRunning, 0)
	k.stop()
	var none *processes.Keeper
	require.NoError(t, none.Run(t.Context(), o.Data, k.registry, k.view, o.Log))
	require.Empty(t, k.view())
	require.NoFileExists(t, filepath.Join(o.Data, "processes.json"))
	require.NoError(t, none.Run(t.Context(), o.Data, k.registry, k.view, o.Log), "there is nothing left")
}

// Two keepers share the machines of a pool: each machine has one process, which ends with it, and there is none without a machine.
func TestProcessesOfAPoolComeAndGoWithItsMachines(t *testing.T) {
	t.Parallel()
	r := &registry{}
	r.order("other-1")
	var keepers []*kept
	for range 2 {
		o := options(t, 0, "")
		o.ForPools, o.Pools = true, r.pools
		keepers = append(keepers, keepIn(t, o, r))
	}
	awaited := func(machine string, phase server.Phase) (row *server.Server) {
		t.Helper()
		require.Eventually(t, func() bool { row = r.of(machine, phase); return row != nil }, patience, 20*time.Millisecond, machine)
		return row
	}
	r.order("p-1")
	first := awaited("p-1", server.PhaseRunning)
	require.Equal(t, []string{"of-p"}, first.Labels)
	require.NotEmpty(t, first.ModelsFolder)
	r.order("p-2", "p-3")
	second := awaited("p-2", server.PhaseRunning)
	require.NotEqual(t, first.Process.Log, second.Process.Log, "each runs in the slot of one keeper")
	require.Len(t, r.view(), 2, "there are two slots, and no machine has two servers")

	require.NoError(t, syscall.Kill(second.Process.PID, syscall.SIGKILL))
	require.Eventually(t, func() bool {
		row := r.of("p-2", server.PhaseRunning)
		return row != nil && row.Process.Restarts == 1 && row.URL == second.URL
	}, patience, 20*time.Millisecond, "a process that crashes is started again at its address")

	r.revoke("p-1")
	awaited("p-1", server.PhaseEnded)
	require.False(t, runs(first.Process.PID))
	third := awaited("p-3", server.PhaseRunning)
	require.Equal(t, first.Process.Log, third.Process.Log, "it runs in the free slot")
	require.NotEqual(t, first.URL, third.URL, "the last server is still registered")
	require.Zero(t, third.Process.Restarts)
	last := []*server.Server{r.of("p-2", server.PhaseRunning), third}
	for _, k := range keepers {
		k.stop()
	}
	for i, machine := range []string{"p-2", "p-3"} {
		require.NotNil(t, r.of(machine, server.PhaseEnded))
		require.False(t, runs(last[i].Process.PID))
	}
}

// After a Millrace that was killed, a machine that has joined is over, and one that has not gets a new process.
func TestMachinesOfAKilledKeeper(t *testing.T) {
	t.Parallel()
	o := options(t, 0, "")
	o.Count = 2
	r := &registry{}
	o.ForPools, o.Pools = true, r.pools
	r.order("p-1", "p-2")
	k := keepIn(t, o, r)
	running := func(machine string) func() bool {
		return func() bool { return r.of(machine, server.PhaseRunning) != nil }
	}
	require.Eventually(t, running("p-1"), patience, 20*time.Millisecond)
	require.Eventually(t, running("p-2"), patience, 20*time.Millisecond)
	former := r.of("p-2", server.PhaseRunning)
	k.stop()
	now := time.Now()
	r.change(func(s *server.Server) { // as if it had been killed
		s.Process.Phase = server.PhaseRunning
		if s.Token == "token-p-1" {
			s.SeenAt = &now
		}
	})
	again := keepIn(t, o, r)
	require.Eventually(t, func() bool { return r.of("p-1", server.PhaseEnded) != nil }, patience, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		row := r.of("p-2", server.PhaseRunning)
		return row != nil && row.ID != former.ID
	}, patience, 20*time.Millisecond)
	again.stop()

	o.ForPools = false // without pools, the processes of the machines are not taken over
	always := keepIn(t, o, r)
	require.Eventually(t, func() bool {
		n := 0
		for _, row := range always.view() {
			if row.Token == "" && row.Process != nil && row.Process.Phase == server.PhaseRunning {
				n++
			}
		}
		return n == 2
	}, patience, 20*time.Millisecond)
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	dir, python := processestest.Dir(t, 1, "")
	broken := filepath.Join(t.TempDir(), "python")
	require.NoError(t, os.WriteFile(broken, []byte("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\"; exit 1\n"), 0o700))
	for want, o := range map[string]processes.Options{
		"is not the directory of ComfyUI: it has no main.py":                                     {Dir: t.TempDir()},
		"cannot import torch, which ComfyUI needs: ModuleNotFoundError: No module named 'torch'": {Dir: dir, Python: broken},
		"--comfyui-python: ": {Dir: dir, Python: "/nonexistent"},
		"there is no GPU \"1\": torch finds 1, counted from 0":                       {Dir: dir, Python: python, GPUs: "0,1"},
		"there is no GPU \"first\"":                                                  {Dir: dir, Python: python, GPUs: "first"},
		"Millrace itself gives --port to each process":                               {Dir: dir, Python: python, Args: "--lowvram --port=8188"},
		"--comfyui-pool starts the processes of --comfyui-dir":                       {ForPools: true},
		"--comfyui-count must be":                                                    {Dir: dir, Python: python, Count: -1},
		"--comfyui-recycle-memory takes a share such as 80%, or bytes such as 24GiB": {Dir: dir, Python: python, RecycleMemory: "a lot"},
		"--comfyui-recycle-prompts must not":                                         {Dir: dir, Python: python, RecyclePrompts: -1},
	} {
		o.Data = t.TempDir()
		_, err := processes.Open(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	return l
}
