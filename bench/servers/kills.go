package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/child"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

const (
	killServers = 3
	killWorkers = 2
	underLoad   = 8                // jobs at any time
	betweenKill = 2 * time.Second  // and at most as much again
	downFor     = time.Second      // downtime of a killed process
	settles     = 10 * time.Minute // after the last kill
)

// killing kills drivers and servers under load. The servers count what they execute: they are the ledger.
func (b *bench) killing(ctx context.Context) (err error) {
	all, err := startMachines(killServers, sim.Options{Step: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	defer all.close()
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.ServeRoles(ctx, "api,projector", environment(all.urls())...); err != nil {
		return err
	}
	crew := &workers{service: s, env: environment(all.urls())}
	defer crew.stop(ctx)
	for i := range killWorkers {
		if err := crew.start(i); err != nil {
			return err
		}
	}
	if err := s.AwaitClass(ctx, "KSampler"); err != nil {
		return err
	}
	l := &loaded{base: s.Base}
	loading, stop := context.WithCancel(ctx)
	l.start(loading)
	began := time.Now()
	err = b.killAll(ctx, crew, all)
	stop()
	l.group.Wait()
	if err != nil {
		return err
	}
	fmt.Printf("kills:      %d kills of %d servers and %d workers in %s, %d jobs\n", b.kills, killServers, killWorkers,
		time.Since(began).Round(time.Second), len(l.jobs))
	return b.settle(ctx, l, all)
}

// killAll kills a server or a worker at a time, at random, and starts it again.
func (b *bench) killAll(ctx context.Context, crew *workers, all machines) error {
	random := rand.New(rand.NewPCG(2026, uint64(b.kills)))
	for range b.kills {
		time.Sleep(betweenKill + time.Duration(random.Int64N(int64(betweenKill))))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if at := random.IntN(killServers + killWorkers); at < killServers {
			all[at].Kill()
			time.Sleep(downFor)
			if err := all[at].Restart(); err != nil {
				return err
			}
		} else if err := crew.kill(at - killServers); err != nil {
			return err
		}
	}
	return nil
}

// settle waits for the ends of all jobs and checks them against what the servers executed.
func (b *bench) settle(ctx context.Context, l *loaded, all machines) error {
	c, err := dial(ctx, l.base)
	if err != nil {
		return err
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(ctx, settles)
	defer cancel()
	lost, failed, twice, names := 0, 0, 0, map[string]bool{}
	for _, id := range l.jobs {
		switch err := l.end(ctx, id); {
		case errors.Is(err, errServersLost):
			failed++
			continue
		case err != nil:
			fmt.Printf("kills:      job %s: %v\n", id, err)
			lost++
			continue
		}
		files, err := c.files(ctx, id)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			lost++
		}
		for i, f := range files {
			if i > 0 || names[f.Filename] {
				twice++
			}
			names[f.Filename] = true
		}
	}
	repeated := sim.Repeats(all, job)
	fmt.Printf("kills:      jobs that failed because two of their servers were killed %d\n", failed)
	fmt.Printf("kills:      jobs lost %d, outputs twice %d, segments executed again on servers that lived %d %v; target 0, 0, 0 %s\n",
		lost, twice, len(repeated), repeated, b.verdict("kills", lost+twice+len(repeated) == 0))
	return nil
}

// workers are processes that drive segments.
type workers struct {
	service *harness.Service
	env     []string
	all     [killWorkers]*child.Process
}

func (w *workers) start(i int) (err error) {
	w.all[i], err = w.service.Worker(fmt.Sprintf("worker%d", i), w.env...)
	return err
}

// kill kills a worker as a crash does, and starts it again.
func (w *workers) kill(i int) error {
	if err := w.all[i].Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-w.all[i].Done()
	time.Sleep(downFor)
	return w.start(i)
}

func (w *workers) stop(ctx context.Context) {
	for _, p := range w.all {
		if p != nil {
			p.Stop(context.WithoutCancel(ctx), child.Step{Signal: syscall.SIGTERM, Grace: 10 * time.Second})
		}
	}
}

// loaded is the load: jobs whose nodes have the number of their job in their ids.
type loaded struct {
	base  string
	group sync.WaitGroup

	mu   sync.Mutex // guards jobs
	jobs []string
}

// start keeps the load up until ctx ends.
func (l *loaded) start(ctx context.Context) {
	for range underLoad {
		l.group.Go(func() {
			for ctx.Err() == nil {
				id, err := l.submit(ctx)
				if err != nil {
					continue // the answer may be lost: the service's queue shows what was accepted
				}
				l.mu.Lock()
				l.jobs = append(l.jobs, id)
				l.mu.Unlock()
				l.end(ctx, id)
			}
		})
	}
}

// job returns the job to which an execution belongs, by the ids of its nodes.
func job(r sim.Run) string {
	for _, id := range r.Nodes {
		if name, ok := strings.CutSuffix(id, "-load"); ok {
			return name
		}
	}
	return ""
}

func (l *loaded) submit(ctx context.Context) (string, error) {
	g := onePicture(simulatedCheckpoint, 64, 50)
	n := fmt.Sprint(seed.Load())
	g[n+"-load"] = g["1"]
	delete(g, "1")
	for _, one := range g {
		for name, value := range one.(map[string]any)["inputs"].(map[string]any) {
			if link, ok := value.([]any); ok && link[0] == "1" {
				one.(map[string]any)["inputs"].(map[string]any)[name] = []any{n + "-load", link[1]}
			}
		}
	}
	c := &client{base: l.base, http: client0}
	return c.submit(ctx, g)
}

// errServersLost is the failure of a job of which two servers were killed while the same node ran. It does not count as a loss, because the
// node may have killed them.
var errServersLost = errors.New("two of its servers were killed")

// end waits for the end of a job. An end other than completed is an error.
func (l *loaded) end(ctx context.Context, id string) error {
	for {
		var now struct{ Status string }
		err := harness.Call(ctx, client0, http.MethodGet, l.base+"/api/job/"+id+"/status", "", &now)
		switch {
		case err == nil && now.Status == "completed":
			return nil
		case err == nil && (now.Status == "failed" || now.Status == "error" || now.Status == "cancelled"):
			var history json.RawMessage
			if err := harness.Call(ctx, client0, http.MethodGet, l.base+"/api/history/"+id, "", &history); err != nil {
				return err
			}
			if bytes.Contains(history, []byte("two servers were lost while this node ran")) {
				return errServersLost
			}
			return errors.New("it is " + now.Status)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it is %s: %w", now.Status, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
