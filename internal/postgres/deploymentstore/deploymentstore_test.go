package deploymentstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/deploymentstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

const acme = "acme"

var by = eventlog.By{Actor: "ada", Reason: "a test"}

// fixture is a service over an empty database.
type fixture struct {
	*deployment.Service
	pool   *pgxpool.Pool
	events *eventstore.Store
	types  *eventlog.Registry
	jobs   *jobstore.Store
	store  *deploymentstore.Store
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	types, err := eventtypes.Registry()
	require.NoError(t, err)
	classes, err := standard.Registry(nil)
	require.NoError(t, err)
	events := eventstore.New(pool, types, nil)
	store := deploymentstore.New(pool, events)
	return fixture{
		deployment.NewService(deployment.Deps{
			Store: store, Blobs: mem.New(), Validator: &graph.Validator{Classes: classes}, Files: noFiles{},
		}), pool, events, types, jobstore.New(pool, events), store,
	}
}

// noFiles are the files of accounts that have none.
type noFiles struct{}

func (noFiles) ForAccount(string) node.Files { return nil }

// content returns a content that differs from others by n.
func content(n int) deployment.Content {
	return deployment.Content{
		Graph: fmt.Appendf(nil, `{"1":{"class_type":"EmptyImage","inputs":{"width":%d,"height":8,"batch_size":1,"color":0}},
			"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"x"}}}`, n+1),
		Schema: callable.Schema{Outputs: []callable.Output{{Name: "picture", Kind: callable.Image, Node: "2"}}},
	}
}

func (f fixture) add(t *testing.T, name string, n int) deployment.Added {
	t.Helper()
	added, err := f.Add(t.Context(), acme, name, content(n), by)
	require.NoError(t, err)
	return added
}

// call records a call of a deployment on a version.
func (f fixture) call(t *testing.T, d deployment.Deployment, version int, key string) error {
	t.Helper()
	_, err := f.jobs.Submit(t.Context(), job.NewJob{
		ID: job.NewID(), Account: acme, Bounds: job.Bounds{Slots: 1, QueueDepth: 1 << 20}, RouteKey: key, Operation: "jobs",
		Submitted: job.SubmittedV1{
			Surface: job.SurfaceV2, Document: job.Document{Inline: "{}"},
			Deployment: &job.Deployed{ID: string(d.ID), Name: d.Name, Version: version},
		},
	})
	return err
}

func TestLifeOfADeployment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	first := f.add(t, "portrait", 1)
	require.True(t, first.Created)
	require.Equal(t, 1, first.Deployment.Live)
	d := first.Deployment
	second := f.add(t, "portrait", 2)
	require.Equal(t, 2, second.Version.Number)
	require.Equal(t, 1, second.Deployment.Live, "a later version answers nothing yet")
	again := f.add(t, "portrait", 1)
	require.True(t, again.Same)
	require.Equal(t, 1, again.Version.Number)
	require.Equal(t, second.Deployment.Revision, again.Deployment.Revision, "nothing was recorded")

	byID, err := f.Find(ctx, acme, string(d.ID))
	require.NoError(t, err)
	require.Equal(t, "portrait", byID.Name)
	for _, name := range []string{"portrait", string(d.ID)} {
		_, err = f.Find(ctx, "other", name)
		require.Equal(t, fault.CodeDeploymentNotFound, fault.CodeOf(err))
	}

	promote := func(version, percent int) deployment.Deployment {
		t.Helper()
		d, err := f.Promote(ctx, deployment.Promotion{Account: acme, Name: "portrait", Version: version, Percent: percent, By: by})
		require.NoError(t, err)
		return d
	}
	require.Equal(t, deployment.Share{Version: 2, Percent: 10}, promote(2, 10).Share)
	require.Equal(t, 2, promote(2, 100).Live)
	d, err = f.RollBack(ctx, acme, "portrait", by)
	require.NoError(t, err)
	require.Equal(t, 1, d.Live)
	_, err = f.RollBack(ctx, acme, "portrait", by)
	require.True(t, fault.Is(err, fault.Conflict), err)
	_, err = f.Promote(ctx, deployment.Promotion{Account: acme, Name: "portrait", Version: 3, Percent: 100, By: by})
	require.Equal(t, fault.CodeVersionNotFound, fault.CodeOf(err))

	require.NoError(t, f.call(t, d, 1, "k"))
	_, err = f.Stop(ctx, acme, "portrait", by)
	require.NoError(t, err)
	require.Equal(t, fault.CodeDeploymentStopped, fault.CodeOf(f.call(t, d, 1, "k")))
	_, err = f.Start(ctx, acme, "portrait", by)
	require.NoError(t, err)
	require.ErrorIs(t, f.call(t, d, 2, "k"), deployment.ErrMoved)
	d, err = f.Delete(ctx, acme, "portrait", by)
	require.NoError(t, err)
	require.Equal(t, deployment.Deleted, d.State)
	require.Equal(t, fault.CodeDeploymentNotFound, fault.CodeOf(f.call(t, d, 1, "k")))

	reborn := f.add(t, "portrait", 1)
	require.True(t, reborn.Created, "the name of a deleted deployment is free")
	require.NotEqual(t, d.ID, reborn.Deployment.ID)
	all, err := f.List(ctx, acme)
	require.NoError(t, err)
	require.Len(t, all, 1)

	recorded, err := eventlog.Collect(eventlog.Read(ctx, f.events, d.ID.Stream(), 0))
	require.NoError(t, err)
	for _, rec := range recorded {
		require.Equal(t, eventlog.Meta{Actor: "ada", Reason: "a test"}, rec.Meta)
	}
	fresh, err := eventlog.Fold(f.types, eventlog.All(recorded), deployment.Deployment{}, deployment.Fold)
	require.NoError(t, err)
	require.Equal(t, deployment.Deleted, fresh.State)
}

// The blobs of versions are kept as long as their deployment.
func TestContentsOfVersionsAreNotCollected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	added := f.add(t, "portrait", 1)
	files := assetstore.New(f.pool, f.events)
	needed, err := files.Referenced(t.Context(), []blob.Ref{added.Version.Digest})
	require.NoError(t, err)
	require.True(t, needed[added.Version.Digest])
	_, err = f.Delete(t.Context(), acme, "portrait", by)
	require.NoError(t, err)
	needed, err = files.Referenced(t.Context(), []blob.Ref{added.Version.Digest})
	require.NoError(t, err)
	require.Empty(t, needed)
}

// Commands at the same time are decided one after another: each is recorded, and none gets lost.
func TestCommandsAtTheSameTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var group sync.WaitGroup
	var created, failed atomic.Int32
	for n := range 5 {
		group.Go(func() {
			added, err := f.Add(t.Context(), acme, "portrait", content(n), by)
			if err != nil {
				failed.Add(1)
			}
			if added.Created {
				created.Add(1)
			}
		})
	}
	group.Wait()
	require.Zero(t, failed.Load())
	require.EqualValues(t, 1, created.Load())
	for range 2 {
		for version := range 2 {
			group.Go(func() {
				p := deployment.Promotion{Account: acme, Name: "portrait", Version: version + 1, Percent: 100, By: by}
				if _, err := f.Promote(t.Context(), p); err != nil {
					failed.Add(1)
				}
			})
		}
	}
	group.Wait()
	require.Zero(t, failed.Load())
	d, err := f.Find(t.Context(), acme, "portrait")
	require.NoError(t, err)
	require.Len(t, d.Versions, 5)
	another := deploymentstore.New(f.pool, f.events) // of a process that remembers nothing
	same, err := another.Find(t.Context(), acme, "portrait")
	require.NoError(t, err)
	require.Equal(t, same, d)
}

// While versions are promoted, shared and rolled back, every call that is recorded runs on a version that answered at its place in
// the log.
func TestCallsRunOnVersionsThatAnswer(t *testing.T) {
	t.Parallel()
	const changes, callers, callsPerChange = 100, 4, 3
	f := newFixture(t)
	for n := range 3 {
		f.add(t, "portrait", n)
	}
	var group sync.WaitGroup
	done, called := make(chan struct{}), make(chan struct{})
	var moved, failed atomic.Int32
	for range callers {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				case called <- struct{}{}:
				}
				key := uuid.NewString()
				d, _ := f.store.Recent(acme, "portrait")
				err := f.call(t, d, d.Of(key), key)
				for errors.Is(err, deployment.ErrMoved) {
					moved.Add(1)
					if d, err = f.Find(t.Context(), acme, "portrait"); err == nil {
						err = f.call(t, d, d.Of(key), key)
					}
				}
				if err != nil {
					failed.Add(1)
				}
			}
		})
	}
	for n := range changes {
		for range callsPerChange {
			<-called
		}
		var err error
		p := deployment.Promotion{Account: acme, Name: "portrait", Version: n/3%3 + 1, Percent: 100, By: by}
		switch n % 3 {
		case 1:
			p.Version, p.Percent = p.Version%3+1, 30
			_, err = f.Promote(t.Context(), p)
		case 2:
			_, err = f.RollBack(t.Context(), acme, "portrait", by)
		default:
			_, err = f.Promote(t.Context(), p)
		}
		require.NoError(t, err)
	}
	close(done)
	group.Wait()
	require.Zero(t, failed.Load())
	f.judge(t)
	t.Logf("%d calls were prepared for a version that no longer answered", moved.Load())
}

// judge compares the version of every call with those that answered at its place in the log.
func (f fixture) judge(t *testing.T) {
	t.Helper()
	head, err := f.events.Head(t.Context())
	require.NoError(t, err)
	var d deployment.Deployment
	calls := map[int]int{}
	for after := int64(0); after < head; {
		page, err := eventstore.ReadLog(t.Context(), f.pool, after, head, 500)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, rec := range page {
			after = rec.Position
			data, err := f.types.DecodeKnown(rec)
			require.NoError(t, err)
			if _, ok := deployment.IDOfStream(rec.Stream); ok {
				d = deployment.Fold(d, rec, data)
			}
			if made, ok := data.(job.SubmittedV1); ok {
				require.Contains(t, []int{d.Live, d.Share.Version}, made.Deployment.Version, "at position %d", rec.Position)
				calls[made.Deployment.Version]++
			}
		}
	}
	t.Logf("calls by version: %v", calls)
	require.Greater(t, min(calls[1], calls[2], calls[3]), 20)
}

func TestDriftIsRecordedOnceAndWithdrawn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }
	first := &node.Class{Name: "Paint", Run: run, Inputs: []node.Input{{Name: "size", Type: node.Int}}}
	other := &node.Class{Name: "Paint", Run: run, Inputs: []node.Input{{Name: "size", Type: node.Int}, {Name: "ink", Type: node.Int}}}
	registry := func(c ...*node.Class) *node.Registry {
		r, err := node.NewRegistry(c...)
		require.NoError(t, err)
		return r
	}
	prompt := json.RawMessage(`{"1":{"class_type":"Paint","inputs":{"size":1}}}`)
	digests, err := callable.Digests(prompt, registry(first))
	require.NoError(t, err)
	_, err = f.Add(t.Context(), acme, "portrait", deployment.Content{Graph: prompt, Classes: digests}, by)
	require.NoError(t, err)
	for i, step := range []struct {
		now     *node.Registry
		drifted []string
		events  int64
	}{
		{registry(first), nil, 3},
		{registry(other), []string{"Paint"}, 4},
		{registry(other), []string{"Paint"}, 4},
		{registry(), []string{"Paint"}, 4},
		{registry(first), nil, 5},
	} {
		f.Validator.Classes = step.now
		require.NoError(t, f.NoteDrift(t.Context()))
		d, err := f.Find(t.Context(), acme, "portrait")
		require.NoError(t, err)
		v, _ := d.Version(1)
		require.Equal(t, step.drifted, v.Drifted, i)
		require.Equal(t, step.events, d.Revision, i)
		found, err := f.store.Drifted(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, found, len(step.drifted), i)
	}

	// A version that answers no more keeps its mark only as long as its classes differ. Deployments that cannot be read do not matter.
	for i := range 6 {
		unreadable := deployment.Content{Graph: prompt, Classes: map[string]string{"Paint": fmt.Sprint(i)}}
		made, err := f.Add(t.Context(), acme, fmt.Sprint("unreadable-", i), unreadable, by)
		require.NoError(t, err)
		removed, err := f.Blobs.Remove(t.Context(), made.Version.Digest, time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.True(t, removed)
	}
	note := func(now *node.Registry) (drifted []string) {
		f.Validator.Classes = now
		require.ErrorContains(t, f.NoteDrift(t.Context()), "6 deployments; the first is deployment ")
		d, err := f.Find(t.Context(), acme, "portrait")
		require.NoError(t, err)
		v, _ := d.Version(1)
		return v.Drifted
	}
	require.Equal(t, []string{"Paint"}, note(registry(other)))
	f.add(t, "portrait", 2)
	_, err = f.Promote(t.Context(), deployment.Promotion{Account: acme, Name: "portrait", Version: 2, Percent: 100, Force: true, By: by})
	require.NoError(t, err)
	require.Equal(t, []string{"Paint"}, note(registry(other)))
	require.Nil(t, note(registry(first)))
	require.Nil(t, note(registry(other)), "it answers nothing, and was not marked")
}

// accepting accepts every submission and counts them.
type accepting struct{ submitted atomic.Int64 }

func (a *accepting) Submit(context.Context, job.Submission) (job.Submitted, error) {
	a.submitted.Add(1)
	return job.Submitted{}, nil
}

func TestAStrictVersionRefusesChangedDefinitions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	jobs := &accepting{}
	f.Jobs = jobs
	registry := func(inputs ...string) *node.Registry {
		c := &node.Class{Name: "Paint", Run: func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }}
		for _, name := range inputs {
			c.Inputs = append(c.Inputs, node.Input{Name: name, Type: node.Int})
		}
		r, err := node.NewRegistry(c)
		require.NoError(t, err)
		return r
	}
	prompt := json.RawMessage(`{"1":{"class_type":"Paint","inputs":{"size":1}}}`)
	digests, err := callable.Digests(prompt, registry("size"))
	require.NoError(t, err)
	for name, pin := range map[string]deployment.Pin{"strict": deployment.PinStrict, "lenient": deployment.PinWarn} {
		_, err = f.Add(t.Context(), acme, name, deployment.Content{Graph: prompt, Classes: digests, Pin: pin}, by)
		require.NoError(t, err)
	}
	call := func(name string) error {
		_, err := f.Call(t.Context(), deployment.Call{Deployment: name, Submission: job.Submission{Account: acme}})
		return err
	}
	f.Validator.Classes = registry("size")
	require.NoError(t, call("strict"))
	f.Validator.Classes = registry("size", "ink")
	err = call("strict")
	require.Equal(t, fault.CodeDeploymentNotReady, fault.CodeOf(err))
	require.ErrorContains(t, err, "Paint")
	require.NoError(t, call("lenient"), "without the pin, calls are answered")
	f.Validator.Classes = registry("size")
	require.NoError(t, call("strict"))
	require.EqualValues(t, 3, jobs.submitted.Load())
}

func TestAnAccountHasABoundedNumberOfDeployments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.add(t, "first", 1).Deployment
	_, err := f.pool.Exec(t.Context(), `insert into deployments (id, account, name, revision, state, live, share, percent, salt)
		select gen_random_uuid(), account, 'copy' || n, revision, state, live, share, percent, salt
		from deployments, generate_series(3, $2) n where id = $1`, string(first.ID), deployment.MaxDeployments)
	require.NoError(t, err)
	var made, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 8 { // side by side, and there is room for one
		group.Go(func() {
			switch _, err := f.Add(t.Context(), acme, fmt.Sprintf("one-more-%d", i), content(i), by); {
			case err == nil:
				made.Add(1)
			case fault.Is(err, fault.Exhausted):
				refused.Add(1)
			default:
				t.Errorf("add: %v", err)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, made.Load())
	require.EqualValues(t, 7, refused.Load())
	_, err = f.Add(t.Context(), acme, "first", content(9), by)
	require.NoError(t, err, "a version of a deployment that exists")
}
