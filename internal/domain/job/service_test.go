package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// store admits every job, or queues it.
type store struct {
	job.Store
	queues bool
}

func (s store) Submit(_ context.Context, n job.NewJob) (job.Admission, error) {
	out := job.Admission{Job: job.Job{ID: n.ID, Account: n.Account}}
	if !s.queues {
		out.Intents = []outbox.Intent{{Kind: outbox.StartRunGraph}}
	}
	return out, nil
}

// surroundings are an account without files, assets and limits.
type surroundings struct{ node.Files }

func (surroundings) ForAccount(string) node.Files                                  { return surroundings{} }
func (surroundings) ResolveAssets(context.Context, string, *graph.Graph) error     { return nil }
func (surroundings) Bounds(context.Context, string) (bounds job.Bounds, err error) { return }

func newService(t *testing.T, s store, graphs *job.Handover, notify func([]outbox.Intent)) *job.Service {
	t.Helper()
	classes, err := node.NewRegistry(&node.Class{
		Name: "Wait", Module: "nodes", OutputNode: true, Cost: func(node.Args, int64) time.Duration { return time.Minute },
		Run: func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil },
	})
	require.NoError(t, err)
	return job.NewService(job.Deps{
		Store: s, Validator: &graph.Validator{Classes: classes}, Files: surroundings{}, Assets: surroundings{}, Tiers: surroundings{},
		Blobs: mem.New(), Notify: notify, Graphs: graphs, Log: slog.New(slog.DiscardHandler),
	})
}

func TestAcceptedGraphIsHandedOverBeforeItsRunStarts(t *testing.T) {
	t.Parallel()
	graphs := graph.NewHandover[job.Fresh]()
	var notified bool
	sub := job.Submission{Account: "a", Prompt: json.RawMessage(`{"1":{"class_type":"Wait","inputs":{}}}`)}
	made, err := newService(t, store{}, graphs, func([]outbox.Intent) { notified = true }).Submit(t.Context(), sub)
	require.NoError(t, err)
	require.True(t, notified)
	g, fresh := graphs.Take(string(made.Job.ID))
	require.Same(t, made.Accepted.Graph, g)
	require.Equal(t, made.Job, fresh.Job)
	require.JSONEq(t, `{"prompt":`+string(sub.Prompt)+`}`, fresh.Document.Inline)
	require.WithinDuration(t, time.Now(), fresh.At, time.Minute)

	made, err = newService(t, store{queues: true}, graphs, func([]outbox.Intent) {}).Submit(t.Context(), sub)
	require.NoError(t, err)
	g, _ = graphs.Take(string(made.Job.ID))
	require.Nil(t, g, "a job that waits needs no plan yet")
}

// listed are files that cannot be listed while away is set, and that are none otherwise.
type listed struct {
	surroundings
	away error
}

func (l listed) ForAccount(string) node.Files                             { return l }
func (l listed) List(context.Context, node.Folder, int) ([]string, error) { return nil, l.away }

// A model file that is fetched when a job needs it can be chosen as a weight, and not as a file of the account.
func TestModelsThatAreFetchedCanBeChosen(t *testing.T) {
	t.Parallel()
	run := func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }
	classes, err := node.NewRegistry(
		&node.Class{Name: "Weight", OutputNode: true, Remote: true, Run: run, Inputs: []node.Input{
			{Name: "file", Type: node.Combo, Weights: "checkpoints"},
		}},
		&node.Class{Name: "File", OutputNode: true, Run: run, Inputs: []node.Input{
			{Name: "file", Type: node.Combo, Folder: node.FolderInput},
		}},
	)
	require.NoError(t, err)
	away := fault.New(fault.Unavailable, "", "the database is away")
	for name, c := range map[string]struct {
		class, file string
		away, want  error
		ok          bool
	}{
		"a weight":                 {class: "Weight", file: "m.safetensors", ok: true},
		"another weight":           {class: "Weight", file: "n.safetensors"},
		"a file":                   {class: "File", file: "checkpoints/m.safetensors"},
		"while none can be listed": {class: "Weight", file: "m.safetensors", away: away, want: away},
	} {
		p := newPast(t)
		p.Service.Validator, p.Service.Files = &graph.Validator{Classes: classes}, listed{away: c.away}
		p.Service.Fetchable = func(map[string]json.RawMessage) []uiworkflow.Model {
			return []uiworkflow.Model{{Name: "m.safetensors", Folder: "checkpoints"}}
		}
		_, err := p.Service.Submit(t.Context(), job.Submission{Account: "a", Prompt: fmt.Appendf(nil,
			`{"1":{"class_type":%q,"inputs":{"file":%q}}}`, c.class, c.file)})
		require.Equal(t, c.ok, err == nil, "%s: %v", name, err)
		if c.want != nil {
			require.ErrorIs(t, err, c.want, name)
		}
	}
}

// places are labels, of which an account may use some, and servers, which have none of them.
type places struct{ may []string }

func (p places) CheckLabels(_ context.Context, _ string, labels []string) error {
	if len(labels) == 0 {
		return errors.New("asked for nothing")
	}
	for _, l := range labels {
		if !slices.Contains(p.may, l) {
			return fault.New(fault.Denied, "", "not yours: %s", l)
		}
	}
	return nil
}

func (places) Check(_ *graph.Accepted, labels []string) error {
	return fault.New(fault.Unavailable, "", "no server has %v", labels)
}

func (places) Price(*graph.Accepted, []string) int64 { return 0 }

// A label that the account may not use is refused before anything is said of servers.
func TestLabelsAreTheAccountsBeforeTheyAreThoseOfServers(t *testing.T) {
	t.Parallel()
	for labels, says := range map[string]string{
		`["mine"]`: "no server has [mine]", `["theirs"]`: "not yours: theirs", `[]`: "no server has []",
	} {
		s := newService(t, store{}, nil, func([]outbox.Intent) {})
		s.Labels, s.Segments = places{[]string{"mine"}}, places{}
		_, err := s.Submit(t.Context(), job.Submission{
			Account: "a", Prompt: json.RawMessage(`{"1":{"class_type":"Wait","inputs":{}}}`),
			ExtraData: map[string]json.RawMessage{"millrace": json.RawMessage(`{"labels":` + labels + `}`)},
		})
		require.ErrorContains(t, err, says)
	}
}
