package serverstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// registry is a store of servers and the log that it writes.
type registry struct {
	*serverstore.Store
	t    *testing.T
	pool *pgxpool.Pool
	log  *eventstore.Store
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	types := eventlog.NewRegistry()
	require.NoError(t, errors.Join(server.Register(types), job.Register(types)))
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	log := eventstore.New(pool, types, nil)
	return &registry{serverstore.New(pool, log), t, pool, log}
}

var by = server.By{Actor: "ana", Reason: "a test"}

func registration(t *testing.T, url string, expires time.Duration) server.Registration {
	t.Helper()
	r := server.Registration{URL: url, ExpiresIn: expires, By: by}
	require.NoError(t, r.Check())
	return r
}

// add registers a server that answers.
func (r *registry) add(url string) *server.Server {
	r.t.Helper()
	s, err := r.Register(r.t.Context(), registration(r.t, url, 0), nil)
	require.NoError(r.t, err)
	seen := time.Now().UTC()
	s.Health, s.SeenAt = server.Answers, &seen
	require.NoError(r.t, r.RecordProbe(r.t.Context(), s))
	return s
}

func wait(id job.ID, holder string) server.Wait {
	return server.Wait{
		Key: server.Key{Job: id, Run: 1, Unit: 3}, Account: "a", Since: time.Now().UTC(), Attempt: 1, Holder: holder,
		Models: []string{"m.safetensors"},
	}
}

// place gives every waiting segment the first server.
func (r *registry) place() []server.Lease {
	r.t.Helper()
	return r.round(server.Round{Holder: "first"})
}

// round gives every waiting segment the first server, in a round that brings something.
func (r *registry) round(with server.Round) []server.Lease {
	r.t.Helper()
	made, mine, err := r.Place(r.t.Context(), with, func(all []*server.Server, waiting []*server.Wait,
		_ map[string]time.Duration,
	) (placed []server.Placement, _ []server.Unplaced) {
		for _, w := range waiting {
			placed = append(placed, server.Placement{Wait: w, Server: all[0], Reason: "the first"})
		}
		return placed, nil
	})
	require.NoError(r.t, err)
	require.True(r.t, mine)
	return made
}

// queue has segments wait.
func (r *registry) queue(waits ...server.Wait) {
	r.t.Helper()
	_, _, err := r.Place(r.t.Context(), server.Round{Waits: waits},
		func([]*server.Server, []*server.Wait, map[string]time.Duration) ([]server.Placement, []server.Unplaced) {
			return nil, nil
		})
	require.NoError(r.t, err)
}

// lease has a segment wait and be placed.
func (r *registry) lease(id job.ID, holder string) server.Lease {
	r.t.Helper()
	made := r.round(server.Round{Holder: holder, Waits: []server.Wait{wait(id, holder)}})
	require.Len(r.t, made, 1)
	return made[0]
}

// ended are events of a segment's end.
func ended(id job.ID, node string) eventlog.Append {
	return eventlog.Append{
		Stream: id.Stream(), Account: "a", Expected: eventlog.AnyVersion, Meta: eventlog.Meta{Actor: "worker"},
		Events: []eventlog.Event{{
			ID: job.EventID(id, 1, node, 0, job.TypeNodeExecuted), Type: job.TypeNodeExecuted,
			Data: job.NodeExecutedV1{Run: 1, Node: node, Class: "KSampler"},
		}},
	}
}

func (r *registry) stream(id job.ID) []eventlog.Recorded {
	r.t.Helper()
	events, err := r.log.ReadStream(r.t.Context(), id.Stream(), 0, 100)
	require.NoError(r.t, err)
	return events
}

func newJob() job.ID { return job.ID(uuid.NewString()) }

func TestDriverThatLostItsLeaseRecordsNothing(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.add("http://one:8188")
	id := newJob()
	first := r.lease(id, "first")
	_, err := r.Record(t.Context(), first, ended(id, "1"), nil)
	require.NoError(t, err)

	second, err := r.Retake(t.Context(), first.Key, "second")
	require.NoError(t, err)
	require.Greater(t, second.Fence, first.Fence)
	for _, result := range []json.RawMessage{nil, json.RawMessage(`{"values":["of the first"]}`)} {
		_, err = r.Record(t.Context(), first, ended(id, "2"), result)
		require.Equal(t, fault.CodeSegmentLeaseLost, fault.CodeOf(err))
	}
	require.Len(t, r.stream(id), 1, "nothing of the driver that lost the lease was recorded")
	mine, err := r.Renew(t.Context(), first)
	require.NoError(t, err)
	require.False(t, mine)

	recorded, err := r.Record(t.Context(), second, ended(id, "2"), json.RawMessage(`{"values":["of the second"]}`))
	require.NoError(t, err)
	require.Len(t, recorded, 1)
	third, err := r.Retake(t.Context(), first.Key, "third")
	require.NoError(t, err)
	require.JSONEq(t, `{"values":["of the second"]}`, string(third.Result))
	all, err := r.Servers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"m.safetensors"}, all[0].Models, "the server has the models of the prompt that ended")
	require.Empty(t, all[0].Leases, "a segment that has ended takes no place")
}

func TestEventsThatWereRecordedBeforeAreNotRecordedWithAResult(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.add("http://one:8188")
	id := newJob()
	l := r.lease(id, "first")
	_, err := r.Record(t.Context(), l, ended(id, "1"), nil)
	require.NoError(t, err)
	both := ended(id, "1")
	both.Events = append(both.Events, ended(id, "2").Events...)
	_, err = r.Record(t.Context(), l, both, json.RawMessage(`{}`))
	require.ErrorIs(t, err, eventlog.ErrDuplicate)
	again, err := r.Retake(t.Context(), l.Key, "second")
	require.NoError(t, err)
	require.Nil(t, again.Result, "the lease goes on")
	_, err = r.Record(t.Context(), again, eventlog.Append{}, json.RawMessage(`{}`))
	require.NoError(t, err)
}

func TestLeaseOfARemovedServerIsLost(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	s := r.add("http://one:8188")
	id := newJob()
	l := r.lease(id, "first")
	require.NoError(t, r.Remove(t.Context(), s.ID, by))
	_, err := r.Record(t.Context(), l, ended(id, "1"), nil)
	require.Equal(t, fault.CodeSegmentLeaseLost, fault.CodeOf(err))
	_, err = r.Retake(t.Context(), l.Key, "first")
	require.True(t, fault.Is(err, fault.NotFound))
}

// A digest names one content, so that a body which is stored again replaces one that may be damaged.
func TestDamagedClassesAreStoredAgain(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	require.NoError(t, r.KeepClasses(t.Context(), "digest", []byte("damaged")))
	require.NoError(t, r.KeepClasses(t.Context(), "digest", []byte("classes")))
	body, err := r.Classes(t.Context(), "digest")
	require.NoError(t, err)
	require.Equal(t, "classes", string(body))
}

func TestClassesOfARemovedServerAreKept(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	s := r.add("http://one:8188")
	require.NoError(t, r.KeepClasses(t.Context(), "digest", []byte("classes")))
	s.Digest = "digest"
	require.NoError(t, r.RecordProbe(t.Context(), s))
	bodies, _, err := r.RemovedClasses(t.Context())
	require.NoError(t, err)
	require.Empty(t, bodies)

	_, err = r.pool.Exec(t.Context(), `update comfyui_classes set made_at = now() - interval '90 days'`)
	require.NoError(t, err)
	require.NoError(t, r.Remove(t.Context(), s.ID, by))
	require.NoError(t, r.ForgetClasses(t.Context()))
	bodies, order, err := r.RemovedClasses(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"digest": []byte("classes")}, bodies)
	require.Equal(t, []string{"digest"}, order)

	_, err = r.pool.Exec(t.Context(), `update comfyui_classes set made_at = now() - interval '31 days'`)
	require.NoError(t, err)
	require.NoError(t, r.ForgetClasses(t.Context()))
	bodies, _, err = r.RemovedClasses(t.Context())
	require.NoError(t, err)
	require.Empty(t, bodies)
}

func TestSegmentKeepsItsPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	id := newJob()
	early := wait(id, "first")
	early.Since = time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	r.queue(early)
	again := wait(id, "second")
	again.Attempt, again.Avoid = 2, []server.ID{"s1"}
	r.queue(again)
	older := wait(id, "third")
	r.queue(older)
	waiting, err := r.Waits(t.Context())
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	require.Equal(t, 2, waiting[0].Attempt, "the attempt does not fall")
	require.Equal(t, []server.ID{"s1"}, waiting[0].Avoid)
	require.Equal(t, early.Since, waiting[0].Since, "it waits since it began to")
	require.Equal(t, "third", waiting[0].Holder, "the driver that waits now is given the server, and not one that is gone")
	require.NoError(t, r.StopWaiting(t.Context(), early))
	waiting, err = r.Waits(t.Context())
	require.NoError(t, err)
	require.Empty(t, waiting)
}

func TestGivenUpPromptIsToBeCancelled(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	s := r.add("http://one:8188")
	l := r.lease(newJob(), "first")
	require.NoError(t, r.Orphan(t.Context(), l))
	canceledAt := func() *time.Time {
		all, err := r.Servers(t.Context())
		require.NoError(t, err)
		return all[0].CanceledAt
	}
	require.NotNil(t, canceledAt())
	require.NoError(t, r.Drop(t.Context(), l))
	orphans, err := r.Orphans(t.Context(), s.ID)
	require.NoError(t, err)
	require.Equal(t, []string{l.Prompt(1).String()}, orphans)
	require.NoError(t, r.Sweep(t.Context(), 0))
	require.NotNil(t, canceledAt(), "however long the prompt hangs")
	mine, err := r.Renew(t.Context(), l)
	require.NoError(t, err)
	require.False(t, mine)
	require.NoError(t, r.ForgetOrphan(t.Context(), s.ID, orphans[0]))
	require.Nil(t, canceledAt())
	orphans, err = r.Orphans(t.Context(), s.ID)
	require.NoError(t, err)
	require.Empty(t, orphans)
}

func TestTimeOnServersIsAddedUpWhereAccountsCompete(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	s := r.add("http://one:8188")
	l := r.lease(newJob(), "first")
	_, err := r.pool.Exec(t.Context(), `update comfyui_leases set since = now() - interval '400 seconds',
		until = now() - interval '100 seconds', result = '{}'`)
	require.NoError(t, err)
	ask := func() (used map[string]time.Duration) {
		_, _, err := r.Place(t.Context(), server.Round{},
			func(_ []*server.Server, _ []*server.Wait, served map[string]time.Duration) ([]server.Placement, []server.Unplaced) {
				used = served
				return nil, nil
			})
		require.NoError(t, err)
		return used
	}
	mine, other := wait(newJob(), "first"), wait(newJob(), "first")
	other.Account = "b"
	mine.Since, other.Since = time.Now().Add(-5*time.Minute), time.Now().Add(-200*time.Second)
	r.queue(mine)
	require.Nil(t, ask(), "nobody competes")
	r.queue(other)
	used := ask()
	require.InDelta(t, 100, used["a"].Seconds(), 30, "the time since both wait counts")
	require.Zero(t, used["b"])
	require.Equal(t, s.ID, l.Server)
}

func TestLoadingTimesAreKeptByServer(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	one, two := r.add("http://one:8188"), r.add("http://two:8188")
	require.NoError(t, r.Loaded(t.Context(), one.ID, []string{"m", "n"}, 2*time.Second))
	require.NoError(t, r.Loaded(t.Context(), two.ID, []string{"m"}, 9*time.Second))
	require.NoError(t, r.Loaded(t.Context(), one.ID, []string{"m"}, 3*time.Second))
	require.NoError(t, r.Loaded(t.Context(), server.NewID(), []string{"m"}, time.Second), "of a server that was removed")
	loads, err := r.Loads(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[server.ID]map[string]time.Duration{
		one.ID: {"m": 3 * time.Second, "n": 2 * time.Second}, two.ID: {"m": 9 * time.Second},
	}, loads)
}

func TestChangesByOperatorsAreEvents(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	s := r.add("http://one:8188")
	_, err := r.Register(t.Context(), registration(t, "http://one:8188", 0), nil)
	require.Equal(t, fault.CodeServerExists, fault.CodeOf(err))
	require.NoError(t, r.Drain(t.Context(), s.ID, true, by))
	require.NoError(t, r.Drain(t.Context(), s.ID, true, by))
	require.NoError(t, r.Drain(t.Context(), s.ID, false, by))
	require.NoError(t, r.Remove(t.Context(), s.ID, by))
	require.Error(t, r.Drain(t.Context(), s.ID, true, server.By{Actor: "ana"}), "without a reason")
	events, err := r.log.ReadStream(t.Context(), s.ID.Stream(), 0, 10)
	require.NoError(t, err)
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
		require.Equal(t, "ana", e.Meta.Actor)
		require.Equal(t, "a test", e.Meta.Reason)
	}
	require.Equal(t, []string{server.TypeRegistered, server.TypeDrained, server.TypeResumed, server.TypeRemoved}, types)
}

func TestRegistrationExpiresUnlessItIsRenewed(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	for _, url := range []string{"http://one:8188", "http://two:8188"} {
		_, err := r.Register(t.Context(), registration(t, url, time.Hour), nil)
		require.NoError(t, err)
	}
	_, err := r.pool.Exec(t.Context(), `update comfyui_servers set expires_at = now() - interval '1 second'`)
	require.NoError(t, err)
	_, err = r.Register(t.Context(), registration(t, "http://two:8188", time.Hour), nil)
	require.NoError(t, err)
	require.NoError(t, r.Expire(t.Context()))
	all, err := r.Servers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "http://two:8188", all[0].URL)
}

// A registration is decided again if its transaction has to be repeated. Here the first decision renews a server, which is
// removed before the second one: that registers another server, with an id of its own.
func TestRepeatedRegistrationTakesNoIDOfAnEarlierDecision(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	other := storetest.OpenPool(t, dsn)
	for _, sql := range []string{
		`create sequence updates`,
		`create function refuse_once() returns trigger language plpgsql as $$ begin
			if nextval('updates') = 1 then raise exception 'again' using errcode = 'MR001'; end if; return new; end $$`,
		`create trigger refuse_once before update on comfyui_servers for each row execute function refuse_once()`,
	} {
		_, err := other.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	config, err := pgxpool.ParseConfig(dsn)
	require.NoError(t, err)
	transactions := 0
	config.PrepareConn = func(ctx context.Context, _ *pgx.Conn) (bool, error) {
		if transactions++; transactions == 2 {
			_, err := other.Exec(ctx, `delete from comfyui_servers`)
			return true, err
		}
		return true, nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	types := eventlog.NewRegistry()
	require.NoError(t, server.Register(types))
	first, err := serverstore.New(other, eventstore.New(other, types, nil)).
		Register(t.Context(), registration(t, "http://one:8188", time.Hour), nil)
	require.NoError(t, err)
	second, err := serverstore.New(pool, eventstore.New(pool, types, nil)).
		Register(t.Context(), registration(t, "http://one:8188", time.Hour), nil)
	require.NoError(t, err)
	require.GreaterOrEqual(t, transactions, 2)
	require.NotEqual(t, first.ID, second.ID)
}

func TestSegmentWhoseOutputsAreCopiedTakesNoSlot(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.add("http://one:8188")
	l := r.lease(newJob(), "first")
	listed := func() server.Lease {
		all, err := r.Servers(t.Context())
		require.NoError(t, err)
		require.Len(t, all[0].Leases, 1, "it is listed as long as its driver needs the server")
		return all[0].Leases[0]
	}
	require.False(t, listed().Copying)
	lost := l
	lost.Fence--
	r.round(server.Round{Vacated: []server.Lease{lost}})
	require.False(t, listed().Copying, "only the driver that has the lease ends it")

	require.Empty(t, r.round(server.Round{Vacated: []server.Lease{l}}))
	require.True(t, listed().Copying)
	s, err := r.Server(t.Context(), string(l.Server))
	require.NoError(t, err)
	require.Equal(t, l.Models, s.Models, "the next segment is placed by the models of this one")

	again, err := r.Retake(t.Context(), l.Key, "second")
	require.NoError(t, err)
	require.False(t, again.Copying, "the next driver may have to send the prompt again")
}

func TestAbandonedWaitReleasesItsServer(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.add("http://one:8188")
	w := wait(newJob(), "first")
	made := r.round(server.Round{Holder: "first", Waits: []server.Wait{w}})
	require.Len(t, made, 1)
	other := w
	other.Holder = "second"
	require.NoError(t, r.StopWaiting(t.Context(), other))
	mine, err := r.Renew(t.Context(), made[0])
	require.NoError(t, err)
	require.True(t, mine, "it is another one's")
	require.NoError(t, r.StopWaiting(t.Context(), w))
	mine, err = r.Renew(t.Context(), made[0])
	require.NoError(t, err)
	require.False(t, mine)
}

// A process hears at once that another one gave a server to its segment.
func TestHolderIsNotifiedOfItsLease(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.add("http://one:8188")
	heard := make(chan struct{}, 10)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		serverstore.Listen(ctx, r.pool.Config().ConnString(), "second", func() { heard <- struct{}{} }, slog.New(slog.DiscardHandler))
	}()
	<-heard // it listens
	r.queue(wait(newJob(), "third"), wait(newJob(), "second"))
	require.Len(t, r.round(server.Round{Holder: "first"}), 2)
	<-heard
	r.queue(wait(newJob(), "second"))
	require.Len(t, r.round(server.Round{Holder: "second"}), 1)
	stop()
	<-ended
	require.Empty(t, heard, "what a process gives itself it knows")
}

func TestRoundThatAnotherProcessPreventsAddsItsWaits(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.add("http://one:8188")
	inside, end := make(chan struct{}), make(chan struct{})
	other := make(chan error, 1)
	go func() {
		_, _, err := r.Place(t.Context(), server.Round{Waits: []server.Wait{wait(newJob(), "other")}},
			func([]*server.Server, []*server.Wait, map[string]time.Duration) ([]server.Placement, []server.Unplaced) {
				close(inside)
				<-end
				return nil, nil
			})
		other <- err
	}()
	<-inside
	made, mine, err := r.Place(t.Context(), server.Round{Waits: []server.Wait{wait(newJob(), "first")}}, nil)
	require.NoError(t, err)
	require.False(t, mine)
	require.Empty(t, made)
	close(end)
	require.NoError(t, <-other)
	require.Len(t, r.place(), 2)
}

func TestServerOnWhichJobsFailRestsUntilOneSucceeds(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	s := r.add("http://one:8188")
	read := func() *server.Server {
		all, err := r.Servers(t.Context())
		require.NoError(t, err)
		return all[0]
	}
	for range 3 {
		require.NoError(t, r.RecordProbe(t.Context(), read())) // keeps what is counted
		require.Equal(t, server.Healthy, read().State())
		require.NoError(t, r.RecordOutcome(t.Context(), s.ID, server.Outcome{Job: newJob(), Problem: "broken"}))
	}
	require.NoError(t, r.RecordProbe(t.Context(), read()))
	require.Equal(t, server.Resting, read().State())
	require.Contains(t, read().Trouble(), "broken")
	require.NoError(t, r.RecordOutcome(t.Context(), s.ID, server.Outcome{}))
	require.Equal(t, server.Healthy, read().State())
	require.NoError(t, r.RecordOutcome(t.Context(), s.ID, server.Outcome{Job: newJob(), Problem: "disk full", Machine: true}))
	require.Equal(t, server.Resting, read().State(), "at once")
	require.NoError(t, r.Drain(t.Context(), s.ID, false, server.By{Actor: "ana", Reason: "a new disk"}))
	require.Equal(t, server.Healthy, read().State())

	var kinds []string
	events, err := r.log.ReadStream(t.Context(), s.ID.Stream(), 0, 100)
	require.NoError(t, err)
	for _, e := range events {
		kinds = append(kinds, e.Type)
	}
	require.Equal(t, []string{
		server.TypeRegistered, server.TypeRested, server.TypeRecovered, server.TypeRested, server.TypeResumed,
	}, kinds)
}

// Processes that start together register the servers of their configuration together: none of them fails. Of operators who
// register an address at the same time, one does.
func TestServersThatAreRegisteredAtOnce(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	for n := range 10 {
		for _, fixed := range []bool{true, false} {
			what := registration(t, fmt.Sprintf("http://10.0.%d.1:%d", n, 8188), 0)
			if what.Fixed = fixed; fixed {
				what.URL += "0"
			}
			errs := make([]error, 6)
			var group sync.WaitGroup
			for i := range errs {
				group.Go(func() { _, errs[i] = r.Register(t.Context(), what, nil) })
			}
			group.Wait()
			failed := 0
			for _, err := range errs {
				if err != nil {
					require.Equal(t, fault.CodeServerExists, fault.CodeOf(err))
					failed++
				}
			}
			if fixed {
				require.Zero(t, failed)
			} else {
				require.Equal(t, len(errs)-1, failed)
			}
		}
	}
	all, err := r.Servers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 20)
}

// A copy that was made again since it was read is not forgotten.
func TestCopyThatWasMadeAgainIsKept(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	s := r.add("http://gpu:8188")
	c := server.Copy{Target: s.URL, Folder: "checkpoints", Name: "m.safetensors", Size: 1}
	mine, err := r.ClaimCopy(t.Context(), c, "first")
	require.NoError(t, err)
	require.True(t, mine)
	read := func() []server.Copy {
		all, err := r.Copies(t.Context(), s.URL)
		require.NoError(t, err)
		return all
	}
	before := read()
	c.State, c.Brought = server.Ready, true
	require.NoError(t, r.EndCopy(t.Context(), c, "first", by, s.ID, server.TypeWeightBrought, server.WeightBroughtV1{Server: s.ID}))
	require.NoError(t, r.DropCopy(t.Context(), before[0]))
	require.Len(t, read(), 1)
	require.NoError(t, r.DropCopy(t.Context(), read()[0]))
	require.Empty(t, read())
}
