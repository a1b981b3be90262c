package processes

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

const (
	tick        = time.Second      // between two looks at a process
	startWithin = 10 * time.Minute // from its start to its first answer: node packs install what they need
	askWithin   = 10 * time.Second // for one answer
	settled     = 30 * time.Second // a process that ran for longer is started again at once
	firstWait   = time.Second      // before a process that ended sooner is started again
	longestWait = time.Minute
	renewEvery  = time.Minute      // of the registration
	expiresIn   = 10 * time.Minute // without a renewal
	sweepEvery  = 10 * time.Minute // of the files of a process
	interrupted = 5 * time.Second  // for its end, before it is terminated, and then killed
)

// slot is the place of one process: its device, port and directory stay when the process is started again.
type slot struct {
	*Keeper
	name, device, dir string
	port              int
	url               string
	log               *output
	written           <-chan struct{} // closed when the log has all that the process wrote
	process           *child.Process
	state             server.Process
	id                atomic.Value // server.ID
	prompts           atomic.Int64 // since the start of the process

	machine atomic.Pointer[server.Token] // token of the machine that the process runs for; nil = none
	end     context.CancelFunc           // ends the process with its machine
}

func newSlot(k *Keeper, name, device string) *slot {
	dir := filepath.Join(k.Data, name)
	return &slot{
		Keeper: k, name: name, device: device, dir: dir,
		state: server.Process{Host: k.host, Device: device, Log: logFile(k.Data, name)},
	}
}

// count counts a prompt if it ran on the server of this slot.
func (s *slot) count(id server.ID) {
	if s.id.Load() == id {
		s.prompts.Add(1)
	}
}

// end is how a process ended.
type end struct {
	cause, problem string
	ran            time.Duration
	taken          bool // its machine has another server, and so needs no process
}

// work runs a process for the machine of the slot until ctx ends, or another host has taken the machine. Then the slot is free.
func (s *slot) work(ctx context.Context) error {
	defer s.machine.Store(nil)
	defer s.end()
	s.state, s.port, s.url = server.Process{Host: s.host, Device: s.device, Log: s.state.Log}, 0, ""
	s.id.Store(server.ID(""))
	err := s.run(ctx)
	s.enter(context.WithoutCancel(ctx), server.PhaseEnded, "its machine has stopped", "", nil)
	return err
}

// run keeps a process running until ctx ends.
func (s *slot) run(ctx context.Context) error {
	for _, sub := range []string{"input", "output", "temp", "user"} {
		if err := os.MkdirAll(filepath.Join(s.dir, sub), 0o755); err != nil {
			return fmt.Errorf("directories of a ComfyUI process: %w", err)
		}
	}
	var err error
	if s.log, err = openOutput(s.state.Log, s.Log); err != nil {
		return fmt.Errorf("log of a ComfyUI process: %w", err)
	}
	defer s.log.close() //nolint:errcheck // nothing of value is lost
	delays := pause.Doubling(firstWait, longestWait)
	for {
		e := s.once(ctx)
		if ctx.Err() != nil || e.taken {
			return nil
		}
		s.state.Restarts++
		if e.ran >= settled {
			delays.Reset()
			continue
		}
		wait := delays.NextBackOff()
		s.enter(ctx, server.PhaseStopped, e.problem+"; it is started again in "+wait.Round(time.Second).String(), "", nil)
		if pause.For(ctx, wait) != nil {
			return nil
		}
	}
}

// lastOutput is how long the last output of an ended process is awaited.
const lastOutput = time.Second

// once runs one process until it has ended.
func (s *slot) once(ctx context.Context) (e end) {
	began := time.Now()
	if err := s.begin(ctx); err != nil {
		e.taken = s.machine.Load() != nil && fault.CodeOf(err) == fault.CodeServerExists
		if ctx.Err() == nil && !e.taken {
			s.Log.Error("ComfyUI process did not start", "process", s.name, "error", err)
		}
		e.problem = fault.Shorten(err.Error(), maxText)
		return e
	}
	s.Log.Info("ComfyUI process started", "process", s.name, "url", s.url, "pid", s.process.PID(), "log", s.log.path)
	s.enter(ctx, server.PhaseStarting, s.state.Problem, server.TypeProcessStarted, server.ProcessStartedV1{
		Server: s.server(), Host: s.host, PID: s.process.PID(), Device: s.device, Restarts: s.state.Restarts,
	})
	e.cause, e.problem = s.watch(ctx)
	s.stop(ctx, e.cause)
	select { // a child that has left the group may keep the output open
	case <-s.written:
	case <-time.After(lastOutput):
	}
	e.ran = time.Since(began)
	status := "exit status 0"
	if err := s.process.Err(); err != nil {
		status = err.Error()
	}
	if e.cause == server.EndCrashed {
		e.problem = status
		if last := s.log.last(1); len(last) > 0 {
			e.problem = fault.Shorten(status+": "+last[0], maxText)
		}
		s.Log.Error("ComfyUI process ended", "process", s.name, "status", status, "last_lines", strings.Join(s.log.last(5), "\n"))
	} else if ctx.Err() == nil {
		s.Log.Warn("ComfyUI process is restarted", "process", s.name, "cause", e.cause, "problem", e.problem)
	}
	ended := server.ProcessEndedV1{
		Server: s.server(), PID: s.process.PID(), Cause: e.cause, Status: status, Seconds: int64(e.ran.Seconds()),
	}
	s.enter(context.WithoutCancel(ctx), server.PhaseStopped, e.problem, server.TypeProcessEnded, ended)
	return e
}

// server returns the id of the slot's server.
func (s *slot) server() server.ID {
	id, _ := s.id.Load().(server.ID)
	return id
}

// begin starts the process and registers its server.
func (s *slot) begin(ctx context.Context) error {
	s.sweep()
	if err := s.choosePort(ctx); err != nil {
		return err
	}
	if err := s.writeModelPaths(s.name); err != nil {
		return err
	}
	if err := s.register(ctx); err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.log.begin()
	s.prompts.Store(0)
	s.process, err = child.Start(child.Command{
		Path: s.Python, Args: s.arguments(s.device, s.dir, s.port), Env: environment(s.device), Dir: s.Dir, Stdout: w, Stderr: w,
		Orphan: syscall.SIGKILL, Group: true,
	})
	w.Close() //nolint:errcheck // the child has its own
	if err != nil {
		r.Close() //nolint:errcheck // nothing was written
		return err
	}
	s.state.PID = s.process.PID()
	written := make(chan struct{})
	s.written = written
	go func() {
		defer close(written)
		defer r.Close()
		io.Copy(s.log, r) //nolint:errcheck // the log takes everything
	}()
	n := note{Name: s.name, URL: s.url, Port: s.port, PID: s.state.PID, Machine: s.machine.Load() != nil}
	if err := s.note(n); err != nil {
		s.stop(ctx, server.EndStopped) // nobody looks after it, and another one is started on its device
		return err
	}
	return nil
}

// choosePort keeps the last port of the slot, so that its server stays the same one, unless another program has taken it. The process of
// a new machine gets a new one: the server of the last machine may still be registered.
func (s *slot) choosePort(ctx context.Context) error {
	last := s.noted(s.name)
	if s.machine.Load() != nil {
		last = note{Name: s.name, URL: s.url, Port: s.port}
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(last.Port)))
	if err != nil && last.Port != 0 {
		s.Log.Warn("the port of a ComfyUI process is taken; it gets another one", "process", s.name, "port", last.Port)
		if err := remove(ctx, s.registry, s.Data, []note{last}); err != nil {
			return err
		}
		l, err = listen.Listen(ctx, "tcp", net.JoinHostPort(loopback, "0"))
	}
	if err != nil {
		return err
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	s.url = "http://" + l.Addr().String()
	return l.Close()
}

// register registers the server of the process, or renews the registration.
func (s *slot) register(ctx context.Context) error {
	r := server.Registration{
		URL: s.url, ExpiresIn: expiresIn, ModelsFolder: s.models(),
		By:    server.By{Actor: "host:" + s.host, Reason: "its process is started by --comfyui-dir"},
		Token: s.machine.Load(), Own: true, From: netip.MustParseAddr(loopback),
	}
	if err := r.Check(); err != nil {
		return err
	}
	row, err := s.registry.Register(ctx, r, nil)
	if err != nil {
		return err
	}
	s.id.Store(row.ID)
	if row.Process == nil {
		return s.registry.RecordProcess(ctx, row.ID, s.state, "", nil)
	}
	return nil
}

// enter records the phase of the process.
func (s *slot) enter(ctx context.Context, phase server.Phase, problem, eventType string, data any) {
	s.state.Phase, s.state.Problem, s.state.Since = phase, problem, time.Now().UTC().Truncate(time.Millisecond)
	if s.server() == "" { // it could not be registered
		return
	}
	s.record(ctx, eventType, data)
}

// record records the state of the process. If it fails for a process that answers, a later look records it.
func (s *slot) record(ctx context.Context, eventType string, data any) {
	within, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if err := s.registry.RecordProcess(within, s.server(), s.state, eventType, data); err != nil && ctx.Err() == nil {
		s.Log.Warn("the state of a ComfyUI process was not recorded", "process", s.name, "error", err)
	}
}

// watch returns why the process has ended or must end.
func (s *slot) watch(ctx context.Context) (cause, problem string) {
	client, err := comfyui.New(s.url, comfyui.Options{Silence: askWithin})
	if err != nil {
		return server.EndCrashed, err.Error()
	}
	w := watcher{slot: s, client: client, began: time.Now(), answered: time.Now(), renewed: time.Now(), swept: time.Now()}
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return server.EndStopped, "Millrace stops"
		case <-s.process.Done():
			return server.EndCrashed, ""
		case <-timer.C:
		}
		if cause, problem := w.look(ctx); cause != "" {
			return cause, problem
		}
	}
}

// stop ends the process and what it has started.
func (s *slot) stop(ctx context.Context, cause string) {
	steps := []child.Step{{Signal: syscall.SIGINT, Grace: interrupted}, {Signal: syscall.SIGTERM, Grace: interrupted}}
	if cause == server.EndHung || cause == server.EndStuck {
		steps = nil
	}
	if err := s.process.Stop(context.WithoutCancel(ctx), steps...); err != nil {
		s.Log.Error("ComfyUI process does not end", "process", s.name, "pid", s.process.PID(), "error", err)
	}
}

// watcher looks at a process from its start to its end.
type watcher struct {
	*slot
	client                   comfyui.Server
	running                  bool
	idle                     int // looks in a row at which a closing process ran no segment
	began                    time.Time
	answered, renewed, swept time.Time
}

// look returns why the process must end, or "".
func (w *watcher) look(ctx context.Context) (cause, problem string) {
	within, cancel := context.WithTimeout(ctx, askWithin)
	_, err := w.client.Identify(within)
	cancel()
	patience := startWithin
	if w.running {
		patience = w.Silence
	}
	switch {
	case err == nil:
		w.answered = time.Now()
	case time.Since(w.answered) > patience:
		return server.EndHung, "it did not answer for " + patience.String()
	default:
		return "", ""
	}
	if !w.running {
		w.running = true
		w.Log.Info("ComfyUI process answers", "process", w.name, "url", w.url)
		w.enter(ctx, server.PhaseRunning, "", "", nil)
	}
	if time.Since(w.renewed) > renewEvery {
		w.renewed = time.Now()
		if err := w.register(ctx); err != nil && ctx.Err() == nil {
			w.Log.Warn("the registration of a ComfyUI process was not renewed", "process", w.name, "error", err)
		}
	}
	for _, row := range w.view() {
		if row.ID == w.server() && ctx.Err() == nil {
			if row.Process == nil || row.Process.Phase != w.state.Phase { // it was not recorded, or the view is older
				w.record(ctx, "", nil)
			}
			return w.judge(ctx, row)
		}
	}
	return "", ""
}

// judge returns why the process must end, by what is known of its server, or "".
func (w *watcher) judge(ctx context.Context, row *server.Server) (cause, problem string) {
	idle := len(row.Leases) == 0
	if idle && time.Since(w.swept) > sweepEvery {
		w.swept = time.Now()
		w.sweep()
	}
	if row.State() == server.Stuck && row.CanceledAt.After(w.began) { // else it was a prompt of an earlier process
		return server.EndStuck, "a canceled prompt did not end"
	}
	if w.state.Phase != server.PhaseClosing {
		if why := w.grown(row); why != "" {
			w.enter(ctx, server.PhaseClosing, why, "", nil)
		}
		return "", ""
	}
	if w.idle++; !idle || row.Process == nil || row.Process.Phase != server.PhaseClosing {
		w.idle = 0
	}
	if w.idle < 2 {
		return "", ""
	}
	return server.EndRecycled, w.state.Problem
}

// grown returns why the process must be started again, or "".
func (w *watcher) grown(row *server.Server) string {
	if n := w.prompts.Load(); w.limit.prompts > 0 && n >= int64(w.limit.prompts) {
		return fmt.Sprintf("it has run %d prompts", n)
	}
	most := cmp.Or(w.limit.bytes, int64(w.limit.share*float64(row.RAMTotal)))
	if most == 0 {
		return ""
	}
	if n := memory(w.process.PID()); n > most {
		return fmt.Sprintf("it has %d MiB of memory, more than %d MiB", n>>20, most>>20)
	}
	return ""
}

// Files that Millrace has copied or sent: results are copied as soon as a segment has ended, and a file that a server lacks is sent
// again.
const (
	keepResults = time.Hour
	keepInputs  = 24 * time.Hour
)

// sweep removes old files of the process, and old directories that have become empty: each prompt has one.
func (s *slot) sweep() {
	for sub, age := range map[string]time.Duration{"output": keepResults, "temp": keepResults, "input": keepInputs} {
		root := filepath.Join(s.dir, sub)
		var dirs []string // old ones, each before those in it
		//nolint:errcheck // what stays is seen again
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || path == root {
				return nil //nolint:nilerr // the others can be removed
			}
			if info, err := d.Info(); err != nil || time.Since(info.ModTime()) <= age {
				return nil //nolint:nilerr // it is seen again
			}
			if d.IsDir() {
				dirs = append(dirs, path)
				return nil
			}
			os.Remove(path) //nolint:errcheck // it is seen again
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			os.Remove(dir) //nolint:errcheck // one that is not empty stays
		}
	}
}
