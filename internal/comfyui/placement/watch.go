package placement

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

const (
	probeTick      = 500 * time.Millisecond
	probeWithin    = 20 * time.Second
	sweepEvery     = time.Hour
	leaseRetention = 72 * time.Hour // as long as values of runs are kept
	filesEvery     = 15 * time.Second
	classesEvery   = time.Minute
	expireEvery    = 5 * time.Second
)

// Watch probes the servers until ctx ends. Several processes share the probes.
func (p *Pool) Watch(ctx context.Context) error {
	w := &watcher{Pool: p, files: map[server.ID]seenFiles{}}
	var probes sync.WaitGroup
	defer probes.Wait()
	tick := time.NewTicker(probeTick)
	defer tick.Stop()
	for {
		w.upkeep(ctx)
		for _, id := range w.claimDue(ctx) {
			if p.beginProbe(id) {
				probes.Go(func() {
					defer p.endProbe(id)
					w.probe(ctx, id)
				})
			}
		}
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return nil
			case id := <-p.givenUp:
				probes.Go(func() { p.cancelGivenUp(ctx, id) })
			case id := <-p.reread:
				w.saw(id, seenFiles{})
				if p.beginProbe(id) {
					probes.Go(func() {
						defer p.endProbe(id)
						w.probe(ctx, id)
						p.Freed()
					})
				}
			case <-tick.C:
				waiting = false
			}
		}
	}
}

// claimDue returns the servers that this process is to probe now.
func (w *watcher) claimDue(ctx context.Context) []server.ID {
	if !w.hasServers() {
		return nil
	}
	due, err := w.store.Claim(ctx, w.opts.Every)
	if err != nil && ctx.Err() == nil {
		w.opts.Log.Warn("server claim failed", "error", err)
	}
	return due
}

func (p *Pool) beginProbe(id server.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probing[id] {
		return false
	}
	p.probing[id] = true
	return true
}

func (p *Pool) endProbe(id server.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.probing, id)
}

// watcher remembers when each of its periodic tasks last ran.
type watcher struct {
	*Pool
	expired, swept time.Time

	mu    sync.Mutex
	files map[server.ID]seenFiles
}

// seenFiles holds the model files of a server and when they were read.
type seenFiles struct {
	digest string
	at     time.Time
	read   time.Time // when the class definitions were read; a quick restart may have changed them
	tooBig error     // why the class definitions cannot be read again at once
}

func (w *watcher) upkeep(ctx context.Context) {
	var errs []error
	if time.Since(w.expired) > expireEvery && w.hasServers() {
		w.expired = time.Now()
		errs = append(errs, w.store.Expire(ctx))
	}
	if time.Since(w.swept) > sweepEvery {
		w.swept = time.Now()
		errs = append(errs, w.store.Sweep(ctx, leaseRetention), w.store.ForgetClasses(ctx))
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		w.opts.Log.Warn("server upkeep failed; it will be retried", "error", err)
	}
}

// probe probes one server and records the outcome.
func (w *watcher) probe(ctx context.Context, id server.ID) {
	c, row, err := w.Server(id)
	if fault.Is(err, fault.NotFound) { // registered since the view was read
		if _, err = w.Refresh(ctx); err == nil {
			c, row, err = w.Server(id)
		}
	}
	if row == nil {
		return
	}
	s := *row
	if err == nil {
		within, cancel := context.WithTimeout(ctx, probeWithin)
		err = w.see(within, c, &s)
		cancel()
	}
	if ctx.Err() != nil {
		return
	}
	w.setHealth(&s, err)
	if s.Health != row.Health || s.Problem != row.Problem {
		w.opts.Log.Info("server", "url", s.URL, "state", s.State(), "problem", s.Problem, "version", s.Version)
	}
	if err := w.store.RecordProbe(ctx, &s); err != nil && ctx.Err() == nil {
		w.opts.Log.Warn("server probe record failed", "url", s.URL, "error", err)
	}
	if s.Health != row.Health || s.Digest != row.Digest {
		w.Notify()
	}
}

// setHealth derives the server's health from the outcome of a probe.
func (w *watcher) setHealth(s *server.Server, err error) {
	if err == nil {
		now := time.Now().UTC()
		s.Health, s.Problem, s.SeenAt = server.Answers, w.classProblem(s.Digest), &now
		return
	}
	problem := publicProblem(err)
	switch fault.CodeOf(err) {
	case fault.CodeNotComfyUI, fault.CodeServerTooOld, fault.CodeServerCertificate, fault.CodeServerRedirect, fault.CodeServerDenied,
		fault.CodeServerRefused, fault.CodeServerGarbage, fault.CodeTooLarge:
		s.Health, s.Problem = server.Unusable, problem
	case fault.CodeServerUnreachable:
		s.Health, s.Problem = server.Absent, problem
	default: // the server may only be slow
		if s.Health != server.Answers || s.SeenAt == nil || time.Since(*s.SeenAt) > w.opts.Silence {
			s.Health, s.Problem = server.Absent, problem
		}
	}
}

// maxProblem bounds the stored reason why a server cannot be used.
const maxProblem = 300

func publicProblem(err error) string {
	if errors.Is(err, context.DeadlineExceeded) && fault.CodeOf(err) == "" { // deadline of the whole probe
		return "the server does not answer in time"
	}
	text := err.Error()
	var f *fault.Error
	if errors.As(err, &f) {
		text = f.Message
	}
	return cut(text)
}

// cut bounds the text of a problem.
func cut(text string) string { return fault.Shorten(text, maxProblem) }

// see reads everything from a server that placement needs.
func (w *watcher) see(ctx context.Context, c comfyui.Server, s *server.Server) error {
	returned := s.Health != server.Answers
	who, err := c.Identify(ctx)
	if err != nil {
		return err
	}
	s.Version, s.OS, s.RAMTotal, s.RAMFree, s.Devices = who.Version.String(), who.OS, who.RAMTotal, who.RAMFree, nil
	s.Python, s.PyTorch = who.Python, cut(who.PyTorch)
	for _, d := range who.Devices {
		s.Devices = append(s.Devices, server.Device{
			Name: d.Name, Type: d.Type, Total: d.MemTotal, Free: d.MemFree, TorchTotal: d.TorchTotal, TorchFree: d.TorchFree,
		})
	}
	queue, err := c.Queue(ctx)
	if err != nil {
		return err
	}
	if err := w.count(ctx, s, queue); err != nil {
		return err
	}
	if err := w.updateClasses(ctx, c, s, returned); err != nil {
		return err
	}
	_, err = w.cancelOrphans(ctx, c, s.ID)
	return err
}

// count counts the prompts on the server that are not segments of this installation.
func (w *watcher) count(ctx context.Context, s *server.Server, q comfyui.Queue) error {
	ours, err := w.store.Orphans(ctx, s.ID)
	if err != nil {
		return err
	}
	for _, l := range s.Leases {
		ours = append(ours, l.Prompt(l.Attempt).String())
	}
	s.Running, s.Pending, s.Foreign = len(q.Running), len(q.Pending), 0
	for _, e := range slices.Concat(q.Running, q.Pending) {
		// Prompts of this installation are submitted under their own id. Such a prompt may have been placed since the
		// leases were read.
		if !slices.Contains(ours, string(e.ID)) && e.Client != string(e.ID) {
			s.Foreign++
		}
	}
	return nil
}

// updateClasses reads the classes for the first time, when the server returns, and when its files have changed.
func (w *watcher) updateClasses(ctx context.Context, c comfyui.Server, s *server.Server, returned bool) error {
	w.mu.Lock()
	seen := w.files[s.ID]
	w.mu.Unlock()
	switch {
	case seen.tooBig != nil && time.Since(seen.read) < classesEvery:
		return seen.tooBig
	case !returned && s.Digest != "" && time.Since(seen.at) < filesEvery:
		return nil
	}
	files, err := c.Models(ctx)
	if err != nil {
		return err
	}
	seen.at = time.Now()
	changed := files.Digest != seen.digest
	seen.digest = files.Digest
	w.saw(s.ID, seen)
	if !returned && s.Digest != "" && !changed && w.document(s.Digest) != nil && time.Since(seen.read) < classesEvery {
		return nil
	}
	known := s.Digest
	if w.document(known) == nil {
		known = ""
	}
	classes, err := c.Classes(ctx, known)
	if err == nil || fault.CodeOf(err) == fault.CodeTooLarge {
		w.saw(s.ID, seenFiles{seen.digest, seen.at, time.Now(), err})
	}
	if err != nil || classes.Digest == known {
		return err
	}
	body, err := EncodeClasses(classes)
	if err != nil {
		return err
	}
	if err := w.store.KeepClasses(ctx, classes.Digest, body); err != nil {
		return err
	}
	s.Digest = classes.Digest
	doc := remote.ParseDocument(classes.Digest, classes.Names, classes.Definitions)
	w.Pool.mu.Lock()
	defer w.Pool.mu.Unlock()
	w.documents[classes.Digest] = doc
	return nil
}

// saw records what was read of a server's files.
func (w *watcher) saw(id server.ID, seen seenFiles) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[id] = seen
}

// cancelOrphans cancels the prompts on a server that nobody waits for. It returns the number of those that still run: an interrupt
// takes effect between nodes or steps.
func (p *Pool) cancelOrphans(ctx context.Context, c comfyui.Server, id server.ID) (left int, err error) {
	prompts, err := p.store.Orphans(ctx, id)
	if err != nil {
		return 0, err
	}
	for _, prompt := range prompts {
		runs, err := c.Cancel(ctx, comfyui.PromptID(prompt))
		if err == nil && !runs {
			p.opts.Log.Info("orphaned prompt has ended", "server", id, "prompt", prompt)
			err = p.store.ForgetOrphan(ctx, id, prompt)
		} else {
			left++
		}
		if err != nil {
			return left, err
		}
	}
	return left, nil
}

// cancelWithin is how long the prompts of an ended run are canceled until none of them runs; probes continue. cancelEvery is the
// time between two attempts.
const (
	cancelWithin = 2 * time.Second
	cancelEvery  = 200 * time.Millisecond
)

// Orphan records that the prompt of a lease may still run although nobody waits for it. Watch cancels it. Its server gets no
// segments until it has ended.
func (p *Pool) Orphan(ctx context.Context, l server.Lease) error {
	err := p.store.Orphan(ctx, l)
	p.cancelSoon(l.Server)
	return err
}

func (p *Pool) cancelSoon(id server.ID) {
	select {
	case p.givenUp <- id:
	default: // a later probe cancels them
	}
}

// GiveUpRun gives up the leases of a run that has ended without success. Watch then cancels the run's prompts; those on
// servers that do not answer are cancelled at a later probe.
func (p *Pool) GiveUpRun(ctx context.Context, ref job.RunRef) error {
	servers, err := p.store.GiveUpRun(ctx, ref)
	for _, id := range servers {
		p.cancelSoon(id)
	}
	return err
}

func (p *Pool) cancelGivenUp(ctx context.Context, id server.ID) {
	c, _, err := p.Server(id)
	if err != nil {
		return // removed, or not known to this process yet
	}
	within, cancel := context.WithTimeout(ctx, cancelWithin)
	defer cancel()
	for within.Err() == nil {
		left, err := p.cancelOrphans(within, c, id)
		if err != nil && within.Err() == nil {
			p.opts.Log.Warn("prompt cancel failed; it will be retried", "server", id, "error", err)
			return
		}
		if left == 0 {
			p.Freed()
			return
		}
		_ = pause.For(within, cancelEvery) // the loop ends with it
	}
}

// storedClasses is the stored form of class definitions.
type storedClasses struct {
	Names       []string                   `json:"names"`
	Definitions map[string]json.RawMessage `json:"definitions"`
}

// EncodeClasses returns class definitions in their stored form.
func EncodeClasses(c comfyui.Classes) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := json.NewEncoder(w).Encode(storedClasses{c.Names, c.Definitions}); err != nil {
		return nil, fmt.Errorf("encode class definitions: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// maxClasses bounds class definitions in decompressed form.
const maxClasses = 256 << 20

// DecodeClasses reads class definitions in their stored form.
func DecodeClasses(digest string, body []byte) (*remote.Document, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("unpack class definitions: %w", err)
	}
	var kept storedClasses
	if err := json.NewDecoder(io.LimitReader(r, maxClasses)).Decode(&kept); err != nil {
		return nil, fmt.Errorf("read class definitions: %w", err)
	}
	return remote.ParseDocument(digest, kept.Names, kept.Definitions), nil
}
