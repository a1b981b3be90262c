package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Registry is the registry of servers; serverstore.Store implements it.
type Registry interface {
	Register(ctx context.Context, r server.Registration, sealed []byte) (*server.Server, error)
	Server(ctx context.Context, ref string) (*server.Server, error)
	Remove(ctx context.Context, id server.ID, by server.By) error
	RecordProcess(ctx context.Context, id server.ID, p server.Process, eventType string, data any) error
	Tokens(ctx context.Context) ([]server.Token, error)
}

// View returns the servers as this process last saw them.
type View func() []*server.Server

// Keeper looks after the processes of this machine.
type Keeper struct {
	config
	host     string
	registry Registry
	view     View
	locks    []*child.Lock // of the directory, and of GPUs
	slots    []*slot

	mu    sync.Mutex // guards the file of notes
	notes []note
}

// note is what the next start must know of a process if this one is killed.
type note struct {
	Name string `json:"name"` // of its directory
	URL  string `json:"url"`
	Port int    `json:"port"`
	PID  int    `json:"pid"`

	Machine bool `json:"machine,omitempty"` // it ran for a machine of a pool
}

// Open checks the options and ends what an earlier process left behind. It starts nothing. Without a directory there is nothing to
// keep: it returns nil.
func Open(ctx context.Context, o Options) (*Keeper, error) {
	switch {
	case o.Dir == "" && o.ForPools:
		return nil, invalid("--comfyui-pool starts the processes of --comfyui-dir for pools: give the directory, too")
	case o.Dir == "":
		return nil, nil
	}
	c, err := o.check(ctx)
	if err != nil {
		return nil, err
	}
	k := &Keeper{config: c}
	if k.host, err = os.Hostname(); err != nil {
		return nil, fmt.Errorf("name of this machine: %w", err)
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, err
	}
	lock, err := child.Acquire(filepath.Join(c.Data, "lock"))
	if err != nil {
		return nil, fmt.Errorf("another Millrace looks after the ComfyUI processes of this data directory: %w", err)
	}
	k.locks = append(k.locks, lock)
	if k.notes, err = endStrays(ctx, c.Data); err == nil {
		err = k.lockGPUs()
	}
	if err != nil {
		return nil, errors.Join(err, k.release())
	}
	for n := range max(k.Count, 1) {
		for _, device := range k.devices {
			name := "gpu" + strings.TrimPrefix(device, "gpu")
			if device == cpu {
				name = cpu
			}
			if n > 0 {
				name += "-" + strconv.Itoa(n+1)
			}
			k.slots = append(k.slots, newSlot(k, name, device))
		}
	}
	return k, nil
}

// lockGPUs takes the GPUs for this keeper: two Millraces of a user that load models on one GPU run out of its memory. Of all GPUs, those
// that are taken are left out.
func (k *Keeper) lockGPUs() error {
	cache, err := os.UserCacheDir()
	if err != nil { // the user has no home
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "millrace", "gpus")
	os.MkdirAll(dir, 0o700) //nolint:errcheck // without it, no GPU can be locked
	var taken error
	k.devices = slices.DeleteFunc(k.devices, func(device string) bool {
		if device == cpu {
			return false
		}
		lock, err := child.Acquire(filepath.Join(dir, strings.ReplaceAll(visible(device), "/", "-")+".lock"))
		var locked *child.LockedError
		switch {
		case errors.As(err, &locked):
			taken = invalid("--comfyui-gpus: another Millrace runs ComfyUI on GPU %s: %v; end it, or name other GPUs", device, locked)
			k.Log.Warn("GPU left out; another Millrace runs ComfyUI on it", "gpu", device, "pid", locked.PID)
		case err != nil:
			k.Log.Warn("GPU not locked; another Millrace may run ComfyUI on it, too", "gpu", device, "error", err)
		default:
			k.locks = append(k.locks, lock)
		}
		return locked != nil
	})
	if len(k.devices) > 0 && (k.GPUs == "" || k.GPUs == "all") {
		return nil
	}
	return taken
}

// release releases the locks. They end with this process in any case.
func (k *Keeper) release() (err error) {
	for _, lock := range k.locks {
		err = errors.Join(err, lock.Release())
	}
	return err
}

// Run starts the processes and looks after them until ctx ends; then it ends them. A nil Keeper has none: it removes what an
// earlier one has left in the directory data.
func (k *Keeper) Run(ctx context.Context, data string, registry Registry, view View, log *slog.Logger) error {
	if k == nil {
		if err := clean(ctx, data, registry); err != nil && ctx.Err() == nil {
			log.Warn("ComfyUI processes of an earlier start were not cleaned up", "error", err)
		}
		return nil
	}
	k.registry, k.view = registry, view
	defer k.release() //nolint:errcheck // they end with this process in any case
	if err := k.removeFormer(ctx); err != nil && ctx.Err() == nil {
		k.Log.Warn("former ComfyUI processes stay registered until they expire", "error", err)
	}
	group, ctx := errgroup.WithContext(ctx) // what a slot cannot prepare ends the others, and Millrace says so
	for _, s := range k.slots {
		if !k.ForPools {
			group.Go(func() error { return s.run(ctx) })
		}
	}
	for k.ForPools && pause.For(ctx, tick) == nil {
		if err := k.assign(ctx, group); err != nil && ctx.Err() == nil {
			k.Log.Warn("machines of pools were not looked for; it will be retried", "error", err)
		}
	}
	return group.Wait()
}

// Machines returns the number of machines of pools that can run here. A nil Keeper can run none.
func (k *Keeper) Machines() int {
	if k == nil || !k.ForPools {
		return 0
	}
	return len(k.slots)
}

// assign gives free slots the machines of pools that have no server, and ends the processes of machines that are to stop: their tokens are
// revoked or gone.
func (k *Keeper) assign(ctx context.Context, group *errgroup.Group) error {
	pools, err := k.Pools(ctx)
	if err != nil {
		return err
	}
	open, err := k.registry.Tokens(ctx) // oldest first
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(t server.Token) bool { return t.Pool == "" || t.RevokedAt != nil })
	var free []*slot
	taken := map[string]bool{}
	for _, s := range k.slots {
		switch t := s.machine.Load(); {
		case t == nil:
			free = append(free, s)
		case slices.ContainsFunc(open, func(o server.Token) bool { return o.ID == t.ID }):
			taken[t.ID] = true
		default:
			s.end()
		}
	}
	for _, row := range k.view() {
		taken[row.Token] = true
	}
	open = slices.DeleteFunc(open, func(t server.Token) bool {
		waits := func(p pool.Pool) bool {
			m := p.Machine(t.Name)
			return p.Of() == pool.Process && m != nil && (m.Phase == pool.Requested || m.Phase == pool.Starting)
		}
		return taken[t.ID] || !slices.ContainsFunc(pools, waits)
	})
	for i, s := range free[:min(len(free), len(open))] {
		var running context.Context
		running, s.end = context.WithCancel(ctx)
		s.machine.Store(&open[i])
		group.Go(func() error { return s.work(running) })
	}
	return nil
}

// SegmentEnded counts the prompt of a segment that has ended, as an event says. A nil Keeper counts none.
func (k *Keeper) SegmentEnded(types *eventlog.Registry, e eventlog.Recorded) {
	if k == nil {
		return
	}
	data, err := types.DecodeKnown(e)
	if ended, ok := data.(job.SegmentEndedV1); ok && err == nil {
		for _, s := range k.slots {
			s.count(server.ID(ended.Server))
		}
	}
}

// removeFormer removes servers whose processes are not to be started again: those of machines are not.
func (k *Keeper) removeFormer(ctx context.Context) error {
	k.mu.Lock()
	former := slices.DeleteFunc(slices.Clone(k.notes), func(n note) bool {
		return !k.ForPools && !n.Machine && slices.ContainsFunc(k.slots, func(s *slot) bool { return s.name == n.Name })
	})
	k.notes = slices.DeleteFunc(k.notes, func(n note) bool { return slices.Contains(former, n) })
	k.mu.Unlock()
	return remove(ctx, k.registry, k.Data, former)
}

// remove removes the servers of former processes of a directory. The port of one may be that of a process of another directory by now.
func remove(ctx context.Context, registry Registry, data string, former []note) error {
	var errs []error
	for _, n := range former {
		s, err := registry.Server(ctx, n.URL)
		switch {
		case err != nil || s.Process == nil || s.Process.Log != logFile(data, n.Name):
		case s.Token != "" && s.SeenAt != nil: // its pool counts what it has done, and removes it
			ended := *s.Process
			ended.Phase = server.PhaseEnded
			err = registry.RecordProcess(ctx, s.ID, ended, "", nil)
		default:
			err = registry.Remove(ctx, s.ID, server.By{Actor: "host", Reason: "its process is not started any more"})
		}
		if !fault.Is(err, fault.NotFound) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// clean ends and removes what an earlier process of a data directory left behind, for a process that looks after none.
func clean(ctx context.Context, data string, registry Registry) error {
	data, err := filepath.Abs(data) // as the processes have it
	if err != nil {
		return err
	}
	if _, err := os.Stat(notesFile(data)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := child.Acquire(filepath.Join(data, "lock"))
	var locked *child.LockedError
	if errors.As(err, &locked) { // another process of this machine looks after them
		return nil
	}
	if err != nil {
		return err
	}
	former, err := endStrays(ctx, data)
	if err == nil {
		err = remove(ctx, registry, data, former)
	}
	if err == nil {
		err = os.Remove(notesFile(data))
	}
	return errors.Join(err, lock.Release())
}

func notesFile(data string) string { return filepath.Join(data, "processes.json") }

func logFile(data, name string) string { return filepath.Join(data, name, "log") }

// note records the process of a slot.
func (k *Keeper) note(n note) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.notes = append(slices.DeleteFunc(k.notes, func(o note) bool { return o.Name == n.Name }), n)
	raw, err := json.Marshal(k.notes)
	if err != nil {
		return err
	}
	temporary := notesFile(k.Data) + ".new"
	if err := os.WriteFile(temporary, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, notesFile(k.Data))
}

// noted returns the last port of a slot, or 0.
func (k *Keeper) noted(name string) note {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range k.notes {
		if n.Name == name {
			return n
		}
	}
	return note{}
}

// strayWithin bounds the wait for the end of a killed process.
const strayWithin = 5 * time.Second

// endStrays kills the processes that the last keeper of a directory noted and that still run, and returns the notes. A process ends
// with its keeper; this is for the case that its watcher was killed, too.
func endStrays(ctx context.Context, data string) ([]note, error) {
	raw, err := os.ReadFile(notesFile(data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var notes []note
	if json.Unmarshal(raw, &notes) != nil { // written in part before a crash of the machine
		return nil, nil //nolint:nilerr // nothing is known then
	}
	for _, n := range notes {
		if n.PID <= 1 || !runs(n.PID, filepath.Join(data, n.Name)) {
			continue
		}
		if err := syscall.Kill(-n.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return nil, fmt.Errorf("end ComfyUI process %d of an earlier start: %w", n.PID, err)
		}
		within, cancel := context.WithTimeout(ctx, strayWithin)
		for runs(n.PID, filepath.Join(data, n.Name)) && pause.For(within, 10*time.Millisecond) == nil {
		}
		cancel()
	}
	return notes, nil
}

// runs reports whether a process with this id runs on a directory, because process ids are used again.
func runs(pid int, dir string) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(raw), dir)
}
