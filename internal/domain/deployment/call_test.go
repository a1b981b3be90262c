package deployment_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// inbox takes submissions, or refuses them.
type inbox struct {
	taken   []job.Submission
	refusal error
	moves   int // submissions before which the versions move
}

func (i *inbox) Submit(_ context.Context, sub job.Submission) (job.Submitted, error) {
	i.taken = append(i.taken, sub)
	if len(i.taken) <= i.moves {
		return job.Submitted{}, deployment.ErrMoved
	}
	return job.Submitted{Job: job.Job{ID: "j"}}, i.refusal
}

func (noFiles) ForAccount(string) node.Files { return noFiles{} }

func (k *kept) Recent(string, string) (deployment.Deployment, bool) {
	if k.recent == nil {
		return deployment.Deployment{}, false
	}
	return *k.recent, true
}

// After pages through all deployments in the order in which they were made.
func (k *kept) After(_ context.Context, after deployment.ID, limit int) (page []deployment.Deployment, _ error) {
	k.pages.Add(1)
	for _, d := range k.all {
		if d.ID > after && len(page) < limit {
			page = append(page, d)
		}
	}
	return page, k.away
}

// newCalls returns a service whose calls come into an inbox. Its classes are Paint, which takes a size, Load, whose choice is a file of a
// server, and Ask, which calls a partner model.
func newCalls(t *testing.T) (filling, *inbox) {
	t.Helper()
	f, in := newFilling(t, graph.Limits{}), &inbox{}
	run := func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }
	classes, err := node.NewRegistry(
		&node.Class{Name: "Paint", OutputNode: true, Run: run, Inputs: []node.Input{{Name: "size", Type: node.Int}}},
		&node.Class{
			Name: "Load", OutputNode: true, Run: run, Inputs: []node.Input{{Name: "ckpt_name", Type: node.Combo, Options: []string{"a"}}},
		},
		&node.Class{Name: "Ask", OutputNode: true, Partner: true, Run: run},
		&node.Class{Name: "Unset", OutputNode: true, Lacks: []string{"SOME_KEY"}, Run: run},
	)
	require.NoError(t, err)
	f.Validator, f.Jobs, f.Files = &graph.Validator{Classes: classes}, in, noFiles{}
	return f, in
}

const sizedPaint = `{"1":{"class_type":"Paint","inputs":{"size":1}},"2":{"class_type":"Paint","inputs":{"size":1}}}`

func sized() callable.Schema {
	return callable.Schema{
		Inputs:  []callable.Input{{Name: "size", Kind: callable.Integer, Targets: []callable.Target{{Node: "2", Input: "size"}}}},
		Outputs: []callable.Output{{Name: "small", Node: "1"}, {Name: "large", Node: "2"}},
	}
}

// A call becomes a submission of the graph with its values, of its outputs, with what identifies the values as they were sent.
func TestACallBecomesASubmission(t *testing.T) {
	t.Parallel()
	f, in := newCalls(t)
	id := f.put("portrait", sizedPaint, sized())
	inputs := map[string]json.RawMessage{"size": json.RawMessage("24")}
	for version, routed := range map[int]bool{0: true, 1: false} {
		called, err := f.Call(t.Context(), deployment.Call{Deployment: "portrait", Version: version, Submission: job.Submission{
			Account: "acme", Inputs: inputs, IdempotencyKey: "k",
		}})
		require.NoError(t, err)
		require.Equal(t, 1, called.Version)
		sub := in.taken[len(in.taken)-1]
		require.JSONEq(t, `{"1":{"class_type":"Paint","inputs":{"size":1}},"2":{"class_type":"Paint","inputs":{"size":24}}}`, string(sub.Prompt))
		require.Equal(t, []string{"1", "2"}, sub.Targets)
		require.Equal(t, &job.Deployed{
			ID: string(id), Name: "portrait", Version: 1, Outputs: map[string]string{"1": "small", "2": "large"},
		}, sub.Deployment)
		require.Equal(t, routed, sub.RouteKey != "", "a call that names its version is not routed")
		require.Equal(t, deployment.Digest(inputs), sub.Asked)
	}
	_, err := f.blobs.Remove(t.Context(), f.store.all[0].Versions[0].Digest, time.Now().Add(time.Hour))
	require.NoError(t, err)
	_, err = f.Call(t.Context(), deployment.Call{Deployment: "portrait", Submission: job.Submission{Account: "acme", Inputs: inputs}})
	require.NoError(t, err, "the content of a version is read once")
	other := map[string]json.RawMessage{"size": json.RawMessage("25")}
	require.NotEqual(t, deployment.Digest(inputs), deployment.Digest(other), "other values are another call")
	_, err = f.Call(t.Context(), deployment.Call{Deployment: "portrait", Submission: job.Submission{Account: "globex", Inputs: inputs}})
	require.Equal(t, fault.CodeDeploymentNotFound, fault.CodeOf(err))
}

// brought is a store that notes the assets that calls bring.
type brought struct {
	asset.Store
	made []asset.New
}

func (b *brought) HasBytes(context.Context, string, blob.Ref) (bool, error) { return false, nil }

func (b *brought) Create(_ context.Context, n asset.New) (asset.Stored, error) {
	b.made = append(b.made, n)
	return asset.Stored{Asset: asset.Asset{ID: "made", Hash: n.Hash}}, nil
}

// A file that a call brings becomes an asset of the media type that its source declares, if that is one.
func TestAFileOfACallHasItsMediaType(t *testing.T) {
	t.Parallel()
	for declared, want := range map[string]string{
		"image/png": "image/png", "image/PNG; a=b": "image/png", "": "application/octet-stream", "no type/": "application/octet-stream",
	} {
		f, in := newCalls(t)
		store := &brought{}
		f.Assets = asset.NewService(store, f.blobs, asset.Options{})
		f.Fetch = func(context.Context, string) (io.ReadCloser, string, int64, error) {
			return io.NopCloser(strings.NewReader("x")), declared, -1, nil
		}
		f.put("portrait", sizedPaint, callable.Schema{
			Inputs:  []callable.Input{{Name: "photo", Kind: callable.Image, Targets: []callable.Target{{Node: "2", Input: "size"}}}},
			Outputs: []callable.Output{{Name: "large", Node: "2"}},
		})
		_, err := f.Call(t.Context(), deployment.Call{Deployment: "portrait", Submission: job.Submission{
			Account: "acme", Inputs: map[string]json.RawMessage{"photo": json.RawMessage(`"https://example.com/a.png"`)},
		}})
		require.NoError(t, err, declared)
		require.Len(t, in.taken, 1)
		require.Len(t, store.made, 1)
		require.Equal(t, want, store.made[0].ContentType)
	}
}

// What a version lacks is said in words, once each, and not in the words of a graph.
func TestWhatAVersionLacksIsNamed(t *testing.T) {
	t.Parallel()
	many := `{"0":{"class_type":"Gone0","inputs":{}}`
	for i := range 40 {
		many += fmt.Sprintf(`,"%d":{"class_type":"Gone%d","inputs":{}}`, i+1, i)
	}
	for name, c := range map[string]struct {
		graph string
		count int
		first string
	}{
		"nothing": {sizedPaint, 0, ""},
		"a version that does not call itself": {
			`{"1":{"class_type":"Deployment.portrait","inputs":{}}}`, 1, "the deployment portrait would call itself",
		},
		"a class": {`{"1":{"class_type":"Other","inputs":{}}}`, 1, "no server has the class Other"},
		"a class twice": {
			`{"1":{"class_type":"Other","inputs":{}},"2":{"class_type":"Other","inputs":{}}}`, 1, "no server has the class Other",
		},
		"many classes": {many + "}", 20, "no server has the class Gone0"},
		"a setting":    {`{"1":{"class_type":"Unset","inputs":{}}}`, 1, "the operator has not set SOME_KEY for the class Unset"},
		"a setting and a file": {
			`{"1":{"class_type":"Unset","inputs":{}},"2":{"class_type":"Load","inputs":{"ckpt_name":"b"}}}`, 1,
			"the operator has not set SOME_KEY for the class Unset",
		},
		"a class and a file": {
			`{"1":{"class_type":"Other","inputs":{}},"2":{"class_type":"Load","inputs":{"ckpt_name":"b"}}}`, 1, "no server has the class Other",
		},
		"a file": {`{"1":{"class_type":"Load","inputs":{"ckpt_name":"b"}}}`, 1, `no server offers "b" as ckpt_name of the class Load`},
		"a file, for one of its parts": {
			`{"1":{"class_type":"Load","inputs":{"ckpt_name":"b"}},"2":{"class_type":"Paint","inputs":{"size":1}}}`, 1,
			`no server offers "b" as ckpt_name of the class Load`,
		},
	} {
		f, _ := newCalls(t)
		var nodes map[string]any
		require.NoError(t, json.Unmarshal([]byte(c.graph), &nodes))
		schema := callable.Schema{}
		for _, id := range slices.Sorted(maps.Keys(nodes)) {
			schema.Outputs = append(schema.Outputs, callable.Output{Name: "o" + id, Node: id})
		}
		f.put("portrait", c.graph, schema)
		d, err := f.Find(t.Context(), "acme", "portrait")
		require.NoError(t, err)
		missing, err := f.Missing(t.Context(), d, 1)
		require.NoError(t, err, name)
		require.Len(t, missing, c.count, name)
		if c.count > 0 {
			require.Equal(t, c.first, missing[0], name)
		}
		_, err = f.Missing(t.Context(), d, 2)
		require.Error(t, err, "a version that does not exist")
	}
	f, _ := newCalls(t)
	f.put("portrait", sizedPaint, sized())
	f.Limits.MaxNodes = 1 // it was larger when the version was added
	d, err := f.Find(t.Context(), "acme", "portrait")
	require.NoError(t, err)
	missing, err := f.Missing(t.Context(), d, 1)
	require.NoError(t, err)
	require.Len(t, missing, 1)
	require.Contains(t, missing[0], "at most 1 are allowed")
}

// A call costs more than its run if its version uses partners, servers, or classes that are not known now.
func TestCallsOfPartnersAndServersAreSurcharged(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]bool{"Paint": false, "Ask": true, "Gone": true} {
		f, _ := newCalls(t)
		f.put("portrait", `{"1":{"class_type":"`+class+`","inputs":{}}}`, callable.Schema{})
		d, err := f.Find(t.Context(), "acme", "portrait")
		require.NoError(t, err)
		got, err := f.Surcharged(t.Context(), d, 1)
		require.NoError(t, err)
		require.Equal(t, want, got, class)
		_, err = f.Surcharged(t.Context(), d, 2)
		require.Error(t, err, "a version that does not exist")
	}
}

// A recorded call is repeated once in a run, for the hidden account, and never where a provider would be paid again.
func TestARecordedCallIsRepeated(t *testing.T) {
	t.Parallel()
	full := fault.New(fault.Exhausted, fault.CodeQueueFull, "the queue is full")
	for name, c := range map[string]struct {
		graph   string
		refusal error
		taken   int
		want    fault.Code
	}{
		"taken":        {sizedPaint, nil, 1, ""},
		"taken before": {sizedPaint, fault.New(fault.Conflict, fault.CodeDuplicateJob, "it is there"), 1, ""},
		"refused":      {sizedPaint, full, 1, fault.CodeQueueFull},
		"it would be paid for again": {
			`{"1":{"class_type":"Ask","inputs":{}},"2":{"class_type":"Paint","inputs":{"size":1}}}`, nil, 0, fault.CodeInvalidDeployment,
		},
	} {
		f, in := newCalls(t)
		in.refusal = c.refusal
		f.put("portrait", c.graph, sized())
		d, err := f.Find(t.Context(), "acme", "portrait")
		require.NoError(t, err)
		call := deployment.Recorded{Job: "first", Inputs: map[string]json.RawMessage{"size": json.RawMessage("24")}}
		err = f.Repeat(t.Context(), d, 1, "run", call, eventlog.By{Actor: "ops"})
		require.Equal(t, c.want, fault.CodeOf(err), name)
		require.Equal(t, c.want != "", err != nil, name)
		require.Len(t, in.taken, c.taken, name)
		for _, sub := range in.taken {
			require.Equal(t, account.Shadow("acme"), sub.Account)
			require.Equal(t, map[string]string{deployment.ShadowRun: "run", deployment.ShadowOf: "first"}, sub.Metadata)
		}
	}
}

// The comparison of definitions passes every deployment once, however many there are and whatever is wrong with one.
func TestEveryDeploymentIsCompared(t *testing.T) {
	t.Parallel()
	f, _ := newCalls(t)
	for i := range 250 {
		f.put(fmt.Sprintf("d%d", i), sizedPaint, sized())
		f.store.all[i].ID = deployment.ID(fmt.Sprintf("%036d", i))
	}
	require.NoError(t, f.NoteDrift(t.Context()))
	require.EqualValues(t, 3, f.store.pages.Load())
	require.Equal(t, 250, f.store.found)
	broken := uuid.New()
	f.store.all[7].Versions[0].Digest = [32]byte(append(broken[:], broken[:]...))
	require.ErrorContains(t, f.NoteDrift(t.Context()), string(f.store.all[7].ID))
	require.Equal(t, 500, f.store.found)
	f.store.away = fault.New(fault.Unavailable, "", "the database is away")
	require.ErrorIs(t, f.NoteDrift(t.Context()), f.store.away)
}

// Definitions are compared when classes change, and from time to time because another process may have missed it.
func TestDefinitionsAreComparedWhenClassesChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _ := newCalls(t)
		classes := f.Validator.Classes
		require.NoError(t, classes.Extend())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.WatchDrift(ctx, slog.New(slog.DiscardHandler)) }()
		for _, step := range []struct {
			after  time.Duration
			change bool
			want   int
		}{
			{3 * time.Second, false, 1},
			{9 * time.Minute, true, 1},
			{3 * time.Second, false, 2},
			{9 * time.Minute, false, 2},
			{2 * time.Minute, false, 3},
		} {
			time.Sleep(step.after) //nolint:forbidigo // of the bubble's clock
			synctest.Wait()
			require.EqualValues(t, step.want, f.store.pages.Load())
			if step.change {
				require.NoError(t, classes.Extend())
			}
		}
		stop()
		require.NoError(t, <-ended)
	})
}
