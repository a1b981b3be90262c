package doctor_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
)

// rack is a registry of servers. The digest of a server's classes consists of their names, joined by commas.
type rack struct {
	servers []*server.Server
	waits   []server.Waiting
}

func (r rack) Servers(context.Context) ([]*server.Server, error) { return r.servers, nil }
func (r rack) Waits(context.Context) ([]server.Waiting, error)   { return r.waits, nil }

// Classes gives every class one choice of checkpoints: a.safetensors.
func (r rack) Classes(_ context.Context, digest string) ([]byte, error) {
	if digest == "forgotten" {
		return nil, fault.New(fault.NotFound, "", "no class definitions")
	}
	if digest == "damaged" {
		return []byte("not compressed"), nil
	}
	names := strings.Split(digest, ",")
	definitions := map[string]any{}
	for _, name := range names {
		definitions[name] = map[string]any{
			"input":       map[string]any{"required": map[string]any{"ckpt_name": []any{[]string{"a.safetensors"}}}},
			"input_order": map[string]any{"required": []string{"ckpt_name"}},
			"output":      []string{"MODEL"}, "output_is_list": []bool{false}, "output_name": []string{"MODEL"}, "name": name, "display_name": name,
			"category": "x", "output_node": false,
		}
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := json.NewEncoder(w).Encode(map[string]any{"names": names, "definitions": definitions}); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

// one is a server that answers.
func one(url, classes string, change func(*server.Server)) *server.Server {
	seen := time.Now().Add(-time.Minute)
	s := &server.Server{ID: server.ID(url), URL: url, Slots: 1, Health: server.Answers, Digest: classes, SeenAt: &seen, Version: "0.33.0"}
	if change != nil {
		change(s)
	}
	return s
}

func away(s *server.Server) { s.Health, s.Problem = server.Absent, "connection refused" }

func refused(problem string) func(*server.Server) {
	return func(s *server.Server) { s.Health, s.Problem = server.Unusable, problem }
}

func waitFor(since time.Duration, class, choice string, labels ...string) server.Waiting {
	return server.Waiting{Reason: "because", Wait: server.Wait{
		Key: server.Key{Job: job.ID("j-" + class)}, Since: time.Now().Add(-since), Labels: labels,
		Needs: []server.Need{{Class: class, Choices: map[string]string{"ckpt_name": choice}}},
	}}
}

func TestDoctorReportsUnusableServers(t *testing.T) {
	t.Parallel()
	const good = "a.safetensors"
	for name, c := range map[string]struct {
		rack          rack
		check, status string
		says          []string
	}{
		"none": {rack{}, "servers", "ok", []string{"no server is registered"}},
		"all answer": {
			rack{servers: []*server.Server{one("http://a", "K", nil)}},
			"servers", "ok",
			[]string{"1 registered: 1 healthy"},
		},
		"one of two is away": {
			rack{servers: []*server.Server{one("http://a", "K", nil), one("http://b", "K", away)}},
			"servers", "warn",
			[]string{"http://b, last seen", "connection refused"},
		},
		"all are away": {rack{servers: []*server.Server{one("http://b", "K", away)}}, "servers", "fail", []string{"http://b"}},
		"an old version": {
			rack{servers: []*server.Server{one("http://b", "", refused("ComfyUI 0.2.1 is too old"))}},
			"refused servers", "warn",
			[]string{"http://b (version 0.33.0): ComfyUI 0.2.1 is too old"},
		},
		"a wrong certificate": {
			rack{servers: []*server.Server{one("https://b", "", refused("the certificate is for another name"))}},
			"refused servers", "warn",
			[]string{"certificate"},
		},
		"none is refused": {rack{servers: []*server.Server{one("http://a", "K", away)}}, "refused servers", "ok", nil},
		"a class only on one away": {
			rack{servers: []*server.Server{one("http://a", "K", nil), one("http://b", "K,Rare,SaveImage", away)}},
			"server classes", "warn",
			[]string{"1 classes", "Rare on http://b"},
		},
		"each class answers": {
			rack{servers: []*server.Server{one("http://a", "K,Rare", nil), one("http://b", "K,Rare", away)}},
			"server classes", "ok", nil,
		},
		"classes are not kept": {rack{servers: []*server.Server{one("http://b", "forgotten", away)}}, "server classes", "ok", nil},
		"classes of one are damaged": {
			rack{servers: []*server.Server{one("http://a", "K", nil), one("http://b", "damaged", nil)}},
			"server classes", "warn",
			[]string{"http://b: unpack class definitions"},
		},
		"a wait while classes of another are damaged": {
			rack{[]*server.Server{one("http://a", "K", nil), one("http://b", "damaged", nil)}, []server.Waiting{waitFor(time.Second, "K", good)}},
			"server queue", "ok",
			nil,
		},
		"nothing waits": {rack{}, "server queue", "ok", nil},
		"a wait for a busy server": {
			rack{[]*server.Server{one("http://a", "K", nil)}, []server.Waiting{waitFor(time.Second, "K", good)}},
			"server queue", "ok",
			[]string{"1 parts"},
		},
		"a long wait": {
			rack{[]*server.Server{one("http://a", "K", away)}, []server.Waiting{waitFor(time.Hour, "K", good)}},
			"server queue", "warn",
			[]string{"job j-K", "because"},
		},
		"a class that nobody has": {
			rack{[]*server.Server{one("http://a", "K", nil)}, []server.Waiting{waitFor(time.Second, "Gone", good)}},
			"server queue", "fail",
			[]string{"job j-Gone"},
		},
		"a choice that nobody has": {rack{
			[]*server.Server{one("http://a", "K", nil)},
			[]server.Waiting{waitFor(time.Second, "K", "b.safetensors")},
		}, "server queue", "fail", []string{"job j-K"}},
		"a label that nobody has": {rack{
			[]*server.Server{one("http://a", "K", nil)},
			[]server.Waiting{waitFor(time.Second, "K", good, "eu")},
		}, "server queue", "fail", nil},
		"a drained server is not all": {rack{
			[]*server.Server{one("http://a", "K", func(s *server.Server) { s.Drained = true })},
			[]server.Waiting{waitFor(time.Second, "K", good)},
		}, "server queue", "ok", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findings := doctor.RunChecks(t.Context(), doctor.ServerChecks(c.rack))
			require.Len(t, findings, 4)
			for _, f := range findings {
				require.Equal(t, f.Status == doctor.Healthy, f.Remedy == "", "a remedy for what is not well: %+v", f)
				if f.Check != c.check {
					continue
				}
				require.Equal(t, c.status, f.Status, f.Detail)
				for _, text := range c.says {
					require.Contains(t, f.Detail, text)
				}
			}
		})
	}
}
