package weights_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/comfyui/weights"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// rig is a server with the node pack and a small disk, and the tables of package serverstore in memory.
type rig struct {
	placement.Store
	t       *testing.T
	root    string // folder of models
	server  server.Server
	blobs   *mem.Store
	weights []asset.Weight
	route   func(w http.ResponseWriter, r *http.Request) bool // serves a request in place of the server; nil = none

	mu      sync.Mutex // guards all below
	copies  []server.Copy
	holders map[string]string
	waits   []server.Waiting
	removed []string // by the events
	leases  []server.Lease
	clock   time.Time
}

const kib = 1 << 10

// newRig returns a rig with a disk of 1 MiB.
func newRig(t *testing.T, o sim.Options, route func(w http.ResponseWriter, r *http.Request) bool) *rig {
	t.Helper()
	r := &rig{t: t, root: t.TempDir(), blobs: mem.New(), route: route, holders: map[string]string{}, clock: time.Now().Add(-time.Hour)}
	if err := syscall.Mount("tmpfs", r.root, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(r.root, syscall.MNT_DETACH)) })
	require.NoError(t, os.Mkdir(filepath.Join(r.root, "checkpoints"), 0o700))
	o.Pack, o.Models = true, r.root
	program, err := sim.New(o)
	require.NoError(t, err)
	t.Cleanup(program.Close)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.route == nil || !r.route(w, req) {
			program.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(web.Close)
	r.server = server.Server{ID: "s", URL: web.URL, Health: server.Answers, Slots: 4}
	return r
}

// file is the path of a checkpoint.
func (r *rig) file(name string) string { return filepath.Join(r.root, "checkpoints", name) }

// add stores a weight.
func (r *rig) add(name string, size int) {
	r.t.Helper()
	content := bytes.Repeat([]byte(name), size/len(name)+1)[:size]
	stored, err := blob.Put(r.t.Context(), r.blobs, blob.Durable, bytes.NewReader(content))
	require.NoError(r.t, err)
	r.weights = append(r.weights, asset.Weight{
		ID: asset.ID(name), Account: "*", Folder: "checkpoints", Name: name, Hash: stored.Ref, Size: int64(size),
	})
}

// run brings weights as a process does, until the test ends.
func (r *rig) run(holder string) {
	r.t.Helper()
	millrace := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for _, one := range r.weights {
			if strings.HasSuffix(req.URL.Path, "/"+one.Name) {
				content, err := r.blobs.Open(req.Context(), one.Hash)
				if err == nil {
					http.ServeContent(w, req, "", time.Time{}, content)
				}
			}
		}
	}))
	classes, err := node.NewRegistry()
	require.NoError(r.t, err)
	log := slog.New(slog.DiscardHandler)
	dial := func(s *server.Server) (comfyui.Server, error) { return comfyui.New(s.URL, comfyui.Options{}) }
	pool := placement.New(r, dial, classes, holder, placement.Options{Home: func(string) string { return millrace.URL }, Log: log})
	_, err = pool.Refresh(r.t.Context())
	require.NoError(r.t, err)
	ctx, stop := context.WithCancel(r.t.Context())
	var all sync.WaitGroup
	all.Go(func() { pool.Run(ctx) })
	all.Go(func() { weights.Run(ctx, pool, r, r, r.blobs, weights.Options{Links: r, Log: log}) })
	r.t.Cleanup(func() {
		stop()
		all.Wait()
		millrace.Close()
	})
}

// need lets a segment wait that loads these checkpoints.
func (r *rig) need(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := server.Waiting{Wait: server.Wait{Since: time.Now(), Models: names}}
	for _, name := range names {
		w.Needs = append(w.Needs, server.Need{Class: "Loader", Choices: map[string]string{"ckpt_name": name}})
	}
	r.waits = append(r.waits, w)
}

// brought waits until the server has the checkpoints that a segment needs, which then no longer waits.
func (r *rig) brought(names ...string) {
	r.t.Helper()
	r.need(names...)
	r.await(names...)
}

func (r *rig) await(names ...string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, name := range names {
			if !slices.ContainsFunc(r.copies, func(c server.Copy) bool { return c.Name == name && c.State == server.Ready }) {
				return false
			}
		}
		r.waits = slices.DeleteFunc(r.waits, func(w server.Waiting) bool { return slices.Equal(w.Models, names) })
		return true
	}, time.Minute, 5*time.Millisecond, "%v are brought", names)
}

// found puts a weight on the server, where Millrace then finds it.
func (r *rig) found(name string) {
	r.t.Helper()
	at := slices.IndexFunc(r.weights, func(w asset.Weight) bool { return w.Name == name })
	content, err := r.blobs.Open(r.t.Context(), r.weights[at].Hash)
	require.NoError(r.t, err)
	raw, err := io.ReadAll(content)
	require.NoError(r.t, err)
	require.NoError(r.t, os.WriteFile(r.file(name), raw, 0o600))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copies = append(r.copies, server.Copy{
		Target: r.server.URL, Folder: "checkpoints", Name: name, Hash: r.weights[at].Hash, Size: r.weights[at].Size, State: server.Ready,
	})
}

// fails waits until a copy fails, and returns why.
func (r *rig) fails(name string) (problem string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, c := range r.copies {
			if c.Name == name && c.State == server.Failed {
				problem = c.Problem
			}
		}
		return problem != ""
	}, time.Minute, 5*time.Millisecond, "%s is not brought", name)
	return problem
}

// use lets a placed segment name checkpoints.
func (r *rig) use(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases = []server.Lease{{Models: names}}
}

// listed returns the checkpoints of the server, in order.
func (r *rig) listed() string {
	r.t.Helper()
	var names []string
	entries, err := os.ReadDir(filepath.Join(r.root, "checkpoints"))
	require.NoError(r.t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, "|")
}

// Servers, Loads and Classes are the part of placement.Store that the test needs. A digest names the checkpoints.

func (r *rig) Servers(context.Context) ([]*server.Server, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.server
	s.Digest, s.Leases = "|"+r.listed(), slices.Clone(r.leases)
	s.Copies = slices.DeleteFunc(slices.Clone(r.copies), func(c server.Copy) bool { return c.State == server.Ready })
	return []*server.Server{&s}, nil
}

func (r *rig) Loads(context.Context) (map[server.ID]map[string]time.Duration, error) { return nil, nil }

func (r *rig) Classes(_ context.Context, digest string) ([]byte, error) {
	options := strings.Split(strings.TrimPrefix(digest, "|"), "|")
	definition, err := json.Marshal(map[string]any{
		"input": map[string]any{"required": map[string]any{"ckpt_name": []any{options}}}, "output": []string{"MODEL"},
	})
	if err != nil {
		return nil, err
	}
	return placement.EncodeClasses(comfyui.Classes{
		Names:       []string{"Loader", "LosslessSaveImage"},
		Definitions: map[string]json.RawMessage{"Loader": definition, "LosslessSaveImage": definition},
	})
}

func (r *rig) Waits(context.Context) ([]server.Waiting, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.waits), nil
}

func (r *rig) Copies(context.Context, string) ([]server.Copy, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(slices.Values(r.copies), func(a, b server.Copy) int { return a.UsedAt.Compare(b.UsedAt) }), nil
}

func (r *rig) ClaimCopy(_ context.Context, c server.Copy, holder string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.copies, func(o server.Copy) bool { return o.Name == c.Name })
	if at >= 0 && r.copies[at].State != server.Failed { // a copy that no server lists is made again, but later than a test takes
		return false, nil
	}
	if at >= 0 {
		r.copies = slices.Delete(r.copies, at, at+1)
	}
	r.clock = r.clock.Add(time.Second)
	c.State, c.Since, c.UsedAt = server.Copying, r.clock, r.clock
	r.copies, r.holders[c.Name] = append(r.copies, c), holder
	return true, nil
}

func (r *rig) KeepCopy(_ context.Context, c server.Copy, holder string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holders[c.Name] == holder, nil
}

func (r *rig) EndCopy(_ context.Context, c server.Copy, holder string, _ server.By, _ server.ID, _ string, data any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range r.copies {
		if o.Name == c.Name && r.holders[c.Name] == holder {
			r.clock = r.clock.Add(time.Second)
			c.Since, c.UsedAt = r.clock, o.UsedAt
			r.copies[i] = c
		}
	}
	if e, ok := data.(server.WeightBroughtV1); ok {
		r.removed = append(r.removed, e.Removed...)
	}
	return nil
}

func (r *rig) UseCopies(context.Context, string, []string) error { return nil }

func (r *rig) DropCopy(_ context.Context, c server.Copy) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copies = slices.DeleteFunc(r.copies, func(o server.Copy) bool { return o.Name == c.Name && o.Since.Equal(c.Since) })
	return nil
}

// Weights implements weights.Weights.
func (r *rig) Weights(context.Context, []string) ([]asset.Weight, error) { return r.weights, nil }

// SignFor implements weights.Links.
func (r *rig) SignFor(_ time.Duration, _, _, filename, _ string) (string, time.Time) {
	return "/" + filename, time.Time{}
}
