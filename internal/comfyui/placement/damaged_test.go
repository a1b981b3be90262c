package placement_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// library stores class definitions of servers. Each server has one class, named as its digest.
type library struct {
	table
	all []*server.Server

	mu       sync.Mutex // guards all below
	bodies   map[string][]byte
	broken   error // of every read of definitions
	problems []string
}

func (l *library) Servers(context.Context) ([]*server.Server, error) { return l.all, nil }

func (l *library) Classes(_ context.Context, digest string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bodies[digest], l.broken
}

func (l *library) KeepClasses(_ context.Context, digest string, body []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bodies[digest] = body
	return nil
}

func (l *library) RemovedClasses(context.Context) (map[string][]byte, []string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bodies, []string{"Damaged", "Sound"}, nil
}

func (l *library) Claim(context.Context, time.Duration) (due []server.ID, _ error) {
	for _, s := range l.all {
		due = append(due, s.ID)
	}
	return due, nil
}

func (l *library) RecordProbe(_ context.Context, s *server.Server) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.ID == "damaged" {
		l.problems = append(l.problems, s.Problem)
	}
	return nil
}

func (l *library) Orphans(context.Context, server.ID) ([]string, error) { return nil, nil }

func (l *library) lastProblem() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.problems[len(l.problems)-1]
}

func definition(t *testing.T, name string) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"input": map[string]any{"required": map[string]any{}}, "output": []string{"IMAGE"}, "output_is_list": []bool{false},
		"output_name": []string{"IMAGE"}, "name": name, "display_name": name, "category": "x", "output_node": false,
	})
	require.NoError(t, err)
	return raw
}

func stored(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	require.NoError(t, json.NewEncoder(w).Encode(map[string]any{
		"names": []string{name}, "definitions": map[string]json.RawMessage{name: definition(t, name)},
	}))
	require.NoError(t, w.Close())
	return b.Bytes()
}

func newLibrary(t *testing.T) (*library, *node.Registry) {
	t.Helper()
	classes, err := node.NewRegistry()
	require.NoError(t, err)
	return &library{
		all: []*server.Server{
			{ID: "damaged", URL: "http://damaged", Health: server.Answers, Digest: "Damaged"},
			{ID: "sound", URL: "http://sound", Health: server.Answers, Digest: "Sound"},
		},
		bodies: map[string][]byte{"Damaged": stored(t, "Damaged")[:20], "Sound": stored(t, "Sound")},
	}, classes
}

// machine is a server that answers, with one class.
type machine struct {
	comfyui.Server
	t     *testing.T
	class string
	err   error // of a read of its definitions
}

func (m machine) Identify(context.Context) (comfyui.Identity, error) { return comfyui.Identity{}, nil }
func (m machine) Queue(context.Context) (comfyui.Queue, error)       { return comfyui.Queue{}, nil }
func (m machine) Models(context.Context) (comfyui.Models, error)     { return comfyui.Models{}, nil }

func (m machine) Classes(context.Context, string) (comfyui.Classes, error) {
	return comfyui.Classes{
		Digest: m.class, Names: []string{m.class}, Definitions: map[string]json.RawMessage{m.class: definition(m.t, m.class)},
	}, m.err
}

func has(classes *node.Registry, name string) bool {
	_, found := classes.Lookup(name)
	return found
}

// Definitions that cannot be read cost the classes of their server only, until a probe has read them from the server again.
func TestDamagedDefinitionsCostOneServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, classes := newLibrary(t)
		dial := func(s *server.Server) (comfyui.Server, error) { return machine{t: t, class: s.Digest}, nil }
		pool := placement.New(store, dial, classes, "me", placement.Options{Log: slog.New(slog.DiscardHandler)})
		n, err := pool.Refresh(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.True(t, has(classes, "Sound"))
		require.False(t, has(classes, "Damaged"))
		require.NotNil(t, pool.Offers("sound"))

		ctx, stop := context.WithCancel(t.Context())
		go pool.Run(ctx)
		go pool.Watch(ctx)
		time.Sleep(10 * time.Second) //nolint:forbidigo // of the bubble's clock
		require.True(t, has(classes, "Damaged"), "a probe has read them from the server")
		body, err := store.Classes(t.Context(), "Damaged")
		require.NoError(t, err)
		_, err = placement.DecodeClasses("Damaged", body)
		require.NoError(t, err, "other processes can read them")
		require.Empty(t, store.lastProblem())
		stop()
		synctest.Wait()
	})
}

// While the server does not give its definitions, its row says that the stored ones cannot be read.
func TestDamagedDefinitionsAreNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, classes := newLibrary(t)
		silent := fault.New(fault.Unavailable, "", "it reads its files")
		dial := func(s *server.Server) (comfyui.Server, error) {
			return machine{t: t, class: s.Digest, err: silent}, nil
		}
		pool := placement.New(store, dial, classes, "me", placement.Options{Log: slog.New(slog.DiscardHandler)})
		_, err := pool.Refresh(t.Context())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		go pool.Watch(ctx)
		time.Sleep(5 * time.Second) //nolint:forbidigo // of the bubble's clock
		require.Contains(t, store.lastProblem(), "its stored class definitions cannot be read")
		stop()
		synctest.Wait()
	})
}

// A database that does not answer is not a damaged document: the view stays as it was, and is read again.
func TestDatabaseThatDoesNotAnswerIsNotDamage(t *testing.T) {
	t.Parallel()
	store, classes := newLibrary(t)
	store.broken = errStore
	pool := placement.New(store, nil, classes, "me", placement.Options{Log: slog.New(slog.DiscardHandler)})
	_, err := pool.Refresh(t.Context())
	require.ErrorIs(t, err, errStore)
	store.broken = nil
	_, err = pool.Refresh(t.Context())
	require.NoError(t, err)
	require.True(t, has(classes, "Sound"), "it is read at once")
}

// Definitions of a removed server that cannot be read do not fail the jobs that need those of another one.
func TestDamagedDefinitionsOfARemovedServerAreSkipped(t *testing.T) {
	t.Parallel()
	store, classes := newLibrary(t)
	pool := placement.New(store, nil, classes, "me", placement.Options{Log: slog.New(slog.DiscardHandler)})
	all, err := pool.WithRemoved(t.Context(), classes)
	require.NoError(t, err)
	require.True(t, has(all, "Sound"))
}
