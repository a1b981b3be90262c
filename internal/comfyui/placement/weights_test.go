package placement_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// loader returns stored definitions of a loader with these checkpoints.
func loader(t *testing.T, checkpoints ...string) []byte {
	t.Helper()
	if checkpoints == nil {
		checkpoints = []string{}
	}
	raw, err := json.Marshal(map[string]any{
		"input": map[string]any{"required": map[string]any{"ckpt_name": []any{checkpoints}}}, "output": []string{"MODEL"},
	})
	require.NoError(t, err)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	require.NoError(t, json.NewEncoder(w).Encode(map[string]any{
		"names": []string{"Loader"}, "definitions": map[string]json.RawMessage{"Loader": raw},
	}))
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestWhichServerGetsAWeight(t *testing.T) {
	t.Parallel()
	busy := []server.Lease{{Models: []string{"other.safetensors"}}}
	one := func(id server.ID, digest string, change func(*server.Server)) *server.Server {
		s := &server.Server{ID: id, URL: "http://" + string(id), Health: server.Answers, Digest: digest, Slots: 1, ModelsFolder: "/models"}
		if change != nil {
			change(s)
		}
		return s
	}
	working := func(s *server.Server) { s.Leases = busy }
	unreached := func(s *server.Server) { s.ModelsFolder = "" }
	for name, c := range map[string]struct {
		servers []*server.Server
		waited  time.Duration
		want    server.ID // "" = none
	}{
		"no server has it":                           {[]*server.Server{one("a", "lacks", nil), one("b", "lacks", nil)}, 0, "a"},
		"one that is idle before one that is not":    {[]*server.Server{one("a", "lacks", working), one("b", "lacks", nil)}, 0, "b"},
		"a server has it":                            {[]*server.Server{one("a", "has", nil), one("b", "lacks", nil)}, time.Hour, ""},
		"the one that has it is busy":                {[]*server.Server{one("a", "has", working), one("b", "lacks", nil)}, time.Second, ""},
		"it is busy for long":                        {[]*server.Server{one("a", "has", working), one("b", "lacks", nil)}, time.Minute, "b"},
		"it is busy for long, and the other one too": {[]*server.Server{one("a", "has", working), one("b", "lacks", working)}, time.Minute, ""},
		"it lacks the class, too":                    {[]*server.Server{one("a", "none", nil)}, 0, ""},
		"its folder is not reached":                  {[]*server.Server{one("a", "lacks", unreached)}, 0, ""},
		"it drains":                                  {[]*server.Server{one("a", "lacks", func(s *server.Server) { s.Drained = true })}, 0, ""},
		"it is being brought": {[]*server.Server{one("a", "lacks", nil), one("b", "lacks", func(s *server.Server) {
			s.Copies = []server.Copy{{Folder: "checkpoints", Name: "new.safetensors", State: server.Copying}}
		})}, 0, ""},
		"it failed on one": {[]*server.Server{one("a", "lacks", func(s *server.Server) {
			s.Copies = []server.Copy{{Folder: "checkpoints", Name: "new.safetensors", State: server.Failed}}
		}), one("b", "lacks", nil)}, 0, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			classes, err := node.NewRegistry()
			require.NoError(t, err)
			store := &library{all: c.servers, bodies: map[string][]byte{
				"has": loader(t, "new.safetensors"), "lacks": loader(t), "none": stored(t, "Other"),
			}}
			pool := placement.New(store, nil, classes, "me", placement.Options{Log: slog.New(slog.DiscardHandler)})
			_, err = pool.Refresh(t.Context())
			require.NoError(t, err)
			wait := server.Waiting{Wait: server.Wait{
				Since: time.Now().Add(-c.waited),
				Needs: []server.Need{{Class: "Loader", Choices: map[string]string{"ckpt_name": "new.safetensors"}}},
			}}
			var got server.ID
			for _, w := range pool.Wanted([]server.Waiting{wait}, func(s *server.Server) bool { return s.ModelsFolder != "" }) {
				require.Empty(t, got, "a segment's weights are brought to one server")
				got = w.Server.ID
			}
			require.Equal(t, c.want, got)
		})
	}
}

// asking is a library whose rounds place nothing, and that passes on why segments wait.
type asking struct {
	library

	reasons chan string
}

func (s *asking) Place(_ context.Context, r server.Round, decide server.Decide) ([]server.Lease, bool, error) {
	for i := range r.Waits {
		_, unplaced := decide(s.all, []*server.Wait{&r.Waits[i]}, nil)
		s.reasons <- unplaced[0].Reason
	}
	return nil, true, nil
}

func (*asking) KeepWaiting(_ context.Context, _ string, keys []server.Key) ([]server.Key, error) {
	return keys, nil
}

// A segment says how far its weight is while this service fetches it, and while a server gets it.
func TestASegmentSaysHowFarItsWeightIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		copies      []server.Copy
		first, next string
	}{
		"it is fetched": {nil, "it is being fetched", "25% is fetched"},
		"a server gets it": {
			[]server.Copy{{Name: "new.safetensors", State: server.Copying, Size: 200, Done: 50}},
			"the weight new.safetensors is brought to server http://a:1: 25% of 200 B",
			"the weight new.safetensors is brought to server http://a:1: 25% of 200 B",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server.Server{ID: "a", URL: "http://a:1", Health: server.Answers, Digest: "lacks", Slots: 1, Copies: c.copies}
			store := &asking{library{all: []*server.Server{s}, bodies: map[string][]byte{"lacks": loader(t)}}, make(chan string, 2)}
			classes, err := node.NewRegistry()
			require.NoError(t, err)
			p := placement.New(store, nil, classes, "me", placement.Options{Log: slog.New(slog.DiscardHandler)})
			_, err = p.Refresh(t.Context())
			require.NoError(t, err)
			go p.Serve(t.Context())
			w := server.Wait{
				Key: server.Key{Job: "job", Run: 1}, Attempt: 1, Since: time.Now(), Fetching: "it is being fetched",
				Needs: []server.Need{{Class: "Loader", Choices: map[string]string{"ckpt_name": "new.safetensors"}}},
			}
			go p.Place(t.Context(), w, nil)
			require.Equal(t, c.first, <-store.reasons)
			p.Fetching(w.Key, "25% is fetched")
			require.Equal(t, c.next, <-store.reasons)
		})
	}
}

func TestWhichServersFetchWeights(t *testing.T) {
	t.Parallel()
	home := func(server string) string { return map[string]string{"http://near": "https://millrace"}[server] }
	for name, c := range map[string]struct {
		server server.Server
		home   func(string) string
		want   string
	}{
		"it has the node pack":              {server.Server{URL: "http://near", Digest: "pack"}, home, "https://millrace"},
		"it does not reach Millrace":        {server.Server{URL: "http://far", Digest: "pack"}, home, ""},
		"Millrace reaches its folder":       {server.Server{URL: "http://near", Digest: "pack", ModelsFolder: "/models"}, home, ""},
		"it lacks the node pack":            {server.Server{URL: "http://near", Digest: "none"}, home, ""},
		"its classes are not known":         {server.Server{URL: "http://near"}, home, ""},
		"the process knows no such address": {server.Server{URL: "http://near", Digest: "pack"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			classes, err := node.NewRegistry()
			require.NoError(t, err)
			store := &library{all: []*server.Server{&c.server}, bodies: map[string][]byte{
				"pack": stored(t, "LosslessSaveImage"), "none": stored(t, "Other"),
			}}
			pool := placement.New(store, nil, classes, "me", placement.Options{Home: c.home, Log: slog.New(slog.DiscardHandler)})
			_, err = pool.Refresh(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, pool.Home(&c.server))
		})
	}
}
