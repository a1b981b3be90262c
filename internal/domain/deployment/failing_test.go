package deployment_test

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

type unsteadyStore struct {
	deployment.Store
	*faulttest.Calls
}

func (s unsteadyStore) Find(ctx context.Context, account, name string) (deployment.Deployment, error) {
	return faulttest.Try(s.Calls, "find", func() (deployment.Deployment, error) { return s.Store.Find(ctx, account, name) })
}

func (s unsteadyStore) List(ctx context.Context, account string) ([]deployment.Deployment, error) {
	return faulttest.Try(s.Calls, "list", func() ([]deployment.Deployment, error) { return s.Store.List(ctx, account) })
}

func (s unsteadyStore) After(ctx context.Context, after deployment.ID, limit int) ([]deployment.Deployment, error) {
	return faulttest.Try(s.Calls, "after", func() ([]deployment.Deployment, error) { return s.Store.After(ctx, after, limit) })
}

func (s unsteadyStore) Commit(ctx context.Context, c deployment.Change) error {
	return s.Do("commit", func() error { return s.Store.Commit(ctx, c) })
}

type unsteadyBlobs struct {
	blob.Store
	*faulttest.Calls
}

func (b unsteadyBlobs) Create(ctx context.Context, d blob.Durability) (blob.Writer, error) {
	return faulttest.Try(b.Calls, "create", func() (blob.Writer, error) { return b.Store.Create(ctx, d) })
}

func (b unsteadyBlobs) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	return faulttest.Try(b.Calls, "open", func() (blob.Reader, error) { return b.Store.Open(ctx, ref) })
}

func (b unsteadyBlobs) Stat(ctx context.Context, ref blob.Ref) (int64, error) {
	return faulttest.Try(b.Calls, "stat", func() (int64, error) { return b.Store.Stat(ctx, ref) })
}

// unsteadyRest are the jobs, keys, files and space of a service.
type unsteadyRest struct {
	asset.Store
	in *inbox
	*faulttest.Calls
}

func (r unsteadyRest) Submit(ctx context.Context, sub job.Submission) (job.Submitted, error) {
	return faulttest.Try(r.Calls, "submit", func() (job.Submitted, error) { return r.in.Submit(ctx, sub) })
}

func (r unsteadyRest) Check(context.Context, string, string, string) error {
	return r.Do("check", func() error { return nil })
}

func (r unsteadyRest) HasBytes(ctx context.Context, account string, ref blob.Ref) (bool, error) {
	return faulttest.Try(r.Calls, "has bytes", func() (bool, error) { return r.Store.HasBytes(ctx, account, ref) })
}

func (r unsteadyRest) Create(ctx context.Context, n asset.New) (asset.Stored, error) {
	return faulttest.Try(r.Calls, "create", func() (asset.Stored, error) { return r.Store.Create(ctx, n) })
}

func (r unsteadyRest) fetch(context.Context, string) (io.ReadCloser, string, int64, error) {
	content, err := faulttest.Try(r.Calls, "fetch", func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil })
	return content, "image/png", -1, err
}

func (r unsteadyRest) space(context.Context, string, int64) error {
	return r.Do("space", func() error { return nil })
}

// version adds a version to a deployment without the checks of Add.
func (f filling) version(name, graphOf string, schema callable.Schema) {
	f.t.Helper()
	f.put("spare", graphOf, schema)
	last := f.store.all[len(f.store.all)-1].Versions[0]
	f.store.all = f.store.all[:len(f.store.all)-1]
	for i := range f.store.all {
		if d := &f.store.all[i]; d.Name == name {
			last.Number = len(d.Versions) + 1
			d.Versions = append(slices.Clip(d.Versions), last)
		}
	}
}

const callsOther = `{"1":{"class_type":"Deployment.other","inputs":{}},"2":{"class_type":"Paint","inputs":{"size":1}}}`

// newWorld returns a service that has read nothing yet, over stores of which one call fails. The deployment portrait has three versions,
// of which the second takes a share, and the third calls the deployment other.
func newWorld(t *testing.T, c *faulttest.Calls) (filling, *inbox, *brought) {
	t.Helper()
	f, in := newCalls(t)
	store := &brought{}
	f.put("portrait", sizedPaint, sized())
	f.put("other", sizedPaint, callable.Schema{Outputs: []callable.Output{{Name: "o", Node: "1"}}})
	f.version("portrait", strings.Replace(sizedPaint, `"size":1`, `"size":2`, 1), pictured())
	f.version("portrait", callsOther, callable.Schema{Outputs: []callable.Output{{Name: "o", Node: "2"}}})
	f.store.all[0].Share = deployment.Share{Version: 2, Percent: 50}
	rest := unsteadyRest{store, in, c}
	deps := f.Deps
	deps.Store, deps.Blobs = unsteadyStore{f.store, c}, unsteadyBlobs{f.blobs, c}
	deps.Jobs, deps.Keys, deps.Fetch, deps.Space = rest, rest, rest.fetch, rest.space
	deps.Assets = asset.NewService(rest, deps.Blobs, asset.Options{})
	f.Service = deployment.NewService(deps)
	return f, in, store
}

func pictured() callable.Schema {
	return callable.Schema{
		Inputs:  []callable.Input{{Name: "photo", Kind: callable.Image, Targets: []callable.Target{{Node: "2", Input: "size"}}}},
		Outputs: []callable.Output{{Name: "large", Node: "2"}},
	}
}

var ada = eventlog.By{Actor: "ada", Reason: "because", RequestID: "r"}

// Whichever call of a store a command makes fails, the command fails with that error.
func TestEachCallOfAStoreOfDeploymentsMayFail(t *testing.T) {
	t.Parallel()
	photo := func(url string) job.Submission {
		return job.Submission{Account: "acme", IdempotencyKey: "k", Inputs: map[string]json.RawMessage{"photo": json.RawMessage(`"` + url + `"`)}}
	}
	size := map[string]json.RawMessage{"size": json.RawMessage("24")}
	added := func(ctx context.Context, f filling, name, graphOf string) error {
		content := deployment.Content{Graph: json.RawMessage(graphOf)}
		var err error
		content.Classes, err = callable.Digests(content.Graph, f.Validator.Classes)
		require.NoError(t, err)
		_, err = f.Add(ctx, "acme", name, content, ada)
		return err
	}
	of := func(f filling) deployment.Deployment { return f.store.all[0] }
	for name, c := range map[string]struct {
		do    func(context.Context, filling) error
		calls int
	}{
		"add a deployment": {func(ctx context.Context, f filling) error { return added(ctx, f, "new", `{}`) }, 4},
		"add a version":    {func(ctx context.Context, f filling) error { return added(ctx, f, "portrait", `{}`) }, 4},
		"add a caller":     {func(ctx context.Context, f filling) error { return added(ctx, f, "new", callsOther) }, 7},
		"promote": {func(ctx context.Context, f filling) error {
			_, err := f.Promote(ctx, deployment.Promotion{Account: "acme", Name: "portrait", Version: 3, Percent: 100, By: ada})
			return err
		}, 9},
		"end a share": {func(ctx context.Context, f filling) error {
			_, err := f.Promote(ctx, deployment.Promotion{Account: "acme", Name: "portrait", Version: 2, By: ada})
			return err
		}, 4},
		"roll back": {func(ctx context.Context, f filling) error {
			_, err := f.RollBack(ctx, "acme", "portrait", ada)
			return err
		}, 3},
		"stop": {func(ctx context.Context, f filling) error { _, err := f.Stop(ctx, "acme", "portrait", ada); return err }, 3},
		"start": {func(ctx context.Context, f filling) error {
			_, err := f.Start(ctx, "acme", "portrait", ada)
			return err
		}, 1},
		"delete": {func(ctx context.Context, f filling) error {
			_, err := f.Delete(ctx, "acme", "portrait", ada)
			return err
		}, 2},
		"find":      {func(ctx context.Context, f filling) error { _, err := f.Find(ctx, "acme", "portrait"); return err }, 1},
		"list":      {func(ctx context.Context, f filling) error { _, err := f.List(ctx, "acme"); return err }, 1},
		"content":   {func(ctx context.Context, f filling) error { _, err := f.Content(ctx, of(f), 1); return err }, 1},
		"schema":    {func(ctx context.Context, f filling) error { _, err := f.Schema(ctx, of(f), 1); return err }, 1},
		"diff":      {func(ctx context.Context, f filling) error { _, err := f.Diff(ctx, of(f), 1, 2); return err }, 2},
		"surcharge": {func(ctx context.Context, f filling) error { _, err := f.Surcharged(ctx, of(f), 1); return err }, 1},
		"missing":   {func(ctx context.Context, f filling) error { _, err := f.Missing(ctx, of(f), 3); return err }, 4},
		"check":     {func(ctx context.Context, f filling) error { return f.Check(ctx, of(f), 1, size, false) }, 1},
		"repeat": {func(ctx context.Context, f filling) error {
			return f.Repeat(ctx, of(f), 1, "run", deployment.Recorded{Inputs: size}, ada)
		}, 2},
		"call": {func(ctx context.Context, f filling) error {
			_, err := f.Call(ctx, deployment.Call{Deployment: "portrait", Version: 1, Submission: job.Submission{Account: "acme", Inputs: size}})
			return err
		}, 3},
		"call with data": {func(ctx context.Context, f filling) error {
			_, err := f.Call(ctx, deployment.Call{Deployment: "portrait", Version: 2, Submission: photo("data:image/png;base64,eA==")})
			return err
		}, 7},
		"call with an address": {func(ctx context.Context, f filling) error {
			_, err := f.Call(ctx, deployment.Call{Deployment: "portrait", Version: 2, Submission: photo("https://example.com/a.png")})
			return err
		}, 9},
		"fill": {func(ctx context.Context, f filling) error {
			_, err := f.FillGraph(ctx, job.Submission{Account: "acme", Prompt: json.RawMessage(callsOther)})
			return err
		}, 3},
		"fill with a deployment that is not there": {func(ctx context.Context, f filling) error {
			twice := `{"1":{"class_type":"Deployment.nobody","inputs":{}},"2":{"class_type":"Deployment.nobody","inputs":{}}}`
			_, err := f.FillGraph(ctx, job.Submission{Account: "acme", Prompt: json.RawMessage(twice)})
			return err
		}, 1},
		"derive": {func(ctx context.Context, f filling) error {
			_, err := f.Derive(ctx, "nobody", deployment.Source{
				Document: []byte(sizedPaint), Named: callable.Named{Inputs: []string{"size=2.size"}, Outputs: []string{"large=2"}},
			})
			return err
		}, 1},
		"classes": {func(ctx context.Context, f filling) error { _, err := f.Known(ctx, "nobody"); return err }, 1},
		"drift":   {func(ctx context.Context, f filling) error { return f.NoteDrift(ctx) }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steady := &faulttest.Calls{}
			f, _, _ := newWorld(t, steady)
			require.NoError(t, c.do(t.Context(), f))
			require.Len(t, steady.Made(), c.calls)
			for n := range c.calls {
				f, _, _ := newWorld(t, &faulttest.Calls{Fail: n + 1})
				require.ErrorIs(t, c.do(t.Context(), f), faulttest.ErrAway, "call %d of %d", n+1, c.calls)
			}
		})
	}
}
