//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/load"
)

// trouble is a fault of a dependency of the service. All processes of the service run meanwhile.
type trouble struct {
	name      string
	begin     func(ctx context.Context) (end func() error, err error)
	meanwhile func(prefix string) string // a graph that must complete during the trouble; nil = jobs wait for its end
	least     time.Duration              // additional duration
}

const (
	// nodeTimeout is far longer than any node of the load takes on a busy machine.
	nodeTimeout = 20 * time.Second
	// diskSize and diskGrowth are the size of the file system of blobs, at first and for each minute, in MiB: far more than the load
	// stores.
	diskSize, diskGrowth = 512, 64
)

// last begins the trouble and ends it after a while. If jobs can run meanwhile, one must complete.
func (t trouble) last(ctx context.Context, d *deployment, while time.Duration, prefix string) error {
	end, err := t.begin(ctx)
	if err != nil {
		return fmt.Errorf("begin the trouble: %w", err)
	}
	if t.meanwhile != nil {
		_, err = d.probeWith(ctx, t.meanwhile, prefix)
	}
	load.Pause(ctx, t.least+while)
	return errors.Join(err, end())
}

// addServers starts two ComfyUI servers. Only the first one will be in trouble.
func (d *deployment) addServers() error {
	var addresses []string
	for range 2 {
		m, err := comfyui.Start("127.0.0.1:0", comfyui.Options{Step: 20 * time.Millisecond})
		if err != nil {
			return err
		}
		d.closers = append(d.closers, m.Close)
		d.machines, addresses = append(d.machines, m), append(addresses, m.URL())
	}
	d.env = append(d.env, "MILLRACE_COMFYUI="+strings.Join(addresses, " "))
	return nil
}

// addTroubles makes the troubles of a deployment that stores its blobs in a directory.
func (d *deployment) addTroubles(blobs string) error {
	d.troubles = []trouble{
		{name: "projector behind", begin: d.holdProjections, meanwhile: load.Cheap},
		{name: "hung node", meanwhile: load.Rendered, begin: d.injects(1, comfyui.Hang), least: nodeTimeout},
		{name: "bad server", meanwhile: load.Rendered, begin: d.injects(comfyui.Always, comfyui.NamelessClass, comfyui.HostileClasses,
			comfyui.ParentName)},
	}
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", blobs, "tmpfs", 0, fmt.Sprintf("size=%dm", diskSize+diskGrowth*int(d.run.lasts.Minutes()))); err != nil {
		d.run.log.Warn("no full disk: a small file system needs the right to mount one", "error", err)
		return nil
	}
	d.closers = append(d.closers, func() {
		if err := syscall.Unmount(blobs, syscall.MNT_DETACH); err != nil {
			d.run.log.Warn("file system not unmounted", "error", err)
		}
	})
	filler := filepath.Join(blobs, "filler")
	d.troubles = append(d.troubles, trouble{name: "full disk", begin: func(context.Context) (func() error, error) {
		return func() error { return os.Remove(filler) }, fill(filler)
	}})
	return nil
}

// injects returns the beginning of a trouble that makes faults happen on the first ComfyUI server.
func (d *deployment) injects(times int, faults ...comfyui.Fault) func(context.Context) (func() error, error) {
	return func(context.Context) (func() error, error) {
		for _, f := range faults {
			d.machines[0].Inject(f, times)
		}
		return func() error {
			d.machines[0].Clear()
			return nil
		}, nil
	}
}

// holdProjections prevents every projection from recording its progress.
func (d *deployment) holdProjections(ctx context.Context) (func() error, error) {
	pool, err := postgres.Open(ctx, d.database(), postgres.PoolOptions{})
	if err != nil {
		return nil, err
	}
	tx, err := pool.Begin(ctx)
	if err == nil { // PostgreSQL ends transactions of a pool that are idle for seconds
		_, err = tx.Exec(ctx, `set local idle_in_transaction_session_timeout = 0`)
	}
	if err == nil {
		_, err = tx.Exec(ctx, `lock table checkpoints in exclusive mode`)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return func() error {
		defer pool.Close()
		return tx.Rollback(context.WithoutCancel(ctx)) // an error if the lock did not last
	}, nil
}

// localDatabase returns the address of the private PostgreSQL of local mode.
func localDatabase(dir string) string {
	run := filepath.Join(dir, "postgres", "run")
	q := url.Values{"host": {run}}
	if sockets, _ := filepath.Glob(filepath.Join(run, ".s.PGSQL.*[0-9]")); len(sockets) > 0 {
		q.Set("port", strings.TrimPrefix(filepath.Ext(sockets[0]), "."))
	}
	return (&url.URL{Scheme: "postgres", User: url.User("millrace"), Path: "/millrace", RawQuery: q.Encode()}).String()
}

// fill writes a file until its file system is full.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			return err
		}
	}
	return nil
}
