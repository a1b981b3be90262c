package placement_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/sim/seeded"
)

const (
	faultsFor = time.Minute      // how long statements fail and servers go away
	slowFor   = 40 * time.Second // how long a statement may take until then
	idleFor   = 20 * time.Second // how long a server may be idle while a segment waits that it can run: longer than any load
	endWithin = 20 * time.Minute // by then every segment has run
)

// farm is a simulation: processes with drivers, servers, and the tables that they share.
type farm struct {
	t      *testing.T
	tables *tables
	pools  []*placement.Pool

	mu     sync.Mutex // guards all below
	random *rand.Rand
	given  map[int64]string // the driver that got the lease with a fence
	runs   map[server.Key]int
	done   map[server.Key]bool
}

func (f *farm) between(least, most time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return seeded.Between(f.random, least, most)
}

func (f *farm) oneIn(n int) bool { return f.chance(n) == 0 }

func (f *farm) chance(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(n)
}

// segment is a segment with the drivers that run it, one after the other.
type segment struct {
	*farm
	wait    server.Wait
	cancels bool // its job is cancelled while it waits or runs
	driver  int
}

// run drives the segment until it has ended, each time as another driver in any process. Drivers fail, and are lost.
func (s *segment) run(ctx context.Context) {
	for !s.drive(ctx) {
		s.driver++
		pause(ctx, s.between(time.Millisecond, 3*time.Second)) // the activity is tried again
		if ctx.Err() != nil {
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// drive is one driver of the segment. It reports whether the segment has ended.
func (s *segment) drive(ctx context.Context) bool {
	n := s.chance(len(s.pools))
	p, holder := s.pools[n], fmt.Sprintf("process-%d", n)
	if s.tables.quiet() { // no fault: a driver is never lost
		return s.with(ctx, p, holder)
	}
	lost, cancel := context.WithTimeout(ctx, s.between(time.Second, 90*time.Second))
	defer cancel()
	return s.with(lost, p, holder)
}

func (s *segment) with(ctx context.Context, p *placement.Pool, holder string) bool {
	w := s.wait
	l, err := s.tables.Retake(ctx, w.Key, holder)
	if err == nil {
		w.Attempt = l.Attempt
	}
	if fault.Is(err, fault.NotFound) {
		l, err = s.place(ctx, p, w, nil)
	}
	for err == nil {
		if l.Result != nil {
			s.end()
			return true
		}
		s.got(l)
		var again bool
		again, err = s.attempt(ctx, p, l)
		if err != nil || !again {
			break
		}
		w.Attempt, w.Fence = l.Attempt+1, l.Fence
		if s.oneIn(2) {
			w.Avoid = append(w.Avoid, l.Server)
		}
		failed := l
		l, err = s.place(ctx, p, w, func() error { return s.tables.Drop(ctx, failed) })
	}
	if s.cancels && s.oneIn(3) && ctx.Err() == nil {
		w.Holder = holder
		if s.leave(ctx, p, w) {
			s.end()
			return true
		}
	}
	return err == nil && l.Result != nil || s.ended()
}

// leave takes the segment of a cancelled job out of the queue and gives its lease up.
func (s *segment) leave(ctx context.Context, p *placement.Pool, w server.Wait) bool {
	l, err := s.tables.Retake(ctx, w.Key, w.Holder)
	if err == nil {
		return s.tables.Drop(ctx, l) == nil
	}
	return fault.Is(err, fault.NotFound) && p.EndWait(ctx, w) == nil
}

func (s *segment) place(ctx context.Context, p *placement.Pool, w server.Wait, queued func() error) (server.Lease, error) {
	if s.oneIn(4) {
		l, err := p.PlaceNow(ctx, w, queued)
		if !errors.Is(err, placement.ErrNoneFree) {
			return l, err
		}
		queued = nil
	}
	return p.Place(ctx, w, queued)
}

// got notes that a driver got a lease. No other driver may have got it.
func (s *segment) got(l server.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := fmt.Sprintf("driver %d of %s", s.driver, l.Job)
	if other := s.given[l.Fence]; other != "" {
		s.t.Errorf("%s and %s have the same lease", name, other)
	}
	if s.done[l.Key] {
		s.t.Errorf("%s runs a segment that has ended", name)
	}
	s.given[l.Fence] = name
	s.runs[l.Key]++
}

func (s *segment) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[s.wait.Key] = true
}

func (s *segment) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[s.wait.Key]
}

// attempt runs the segment under a lease. It reports whether another attempt must follow.
func (s *segment) attempt(ctx context.Context, p *placement.Pool, l server.Lease) (again bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for ctx.Err() == nil {
			pause(ctx, 5*time.Second)
			if mine, err := s.tables.Renew(ctx, l); err == nil && !mine {
				stop()
			}
		}
	}()
	pause(ctx, s.between(10*time.Millisecond, 20*time.Second))
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case !s.tables.quiet() && s.oneIn(4):
		return true, nil
	}
	p.Vacate(l)
	pause(ctx, s.between(time.Millisecond, 2*time.Second)) // the outputs are copied
	if err := s.tables.result(ctx, l); err != nil {
		return false, err
	}
	s.end()
	p.Freed()
	return false, nil
}

// quiet reports whether the faults are over.
func (s *tables) quiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.faulty
}

// trouble changes servers at random until the faults end; then all of them work.
func (f *farm) trouble(ctx context.Context) {
	until := time.Now().Add(faultsFor)
	for time.Now().Before(until) && ctx.Err() == nil {
		pause(ctx, f.between(time.Millisecond, 5*time.Second))
		n, what := f.chance(len(f.tables.servers)), f.chance(6)
		f.tables.mu.Lock()
		s := f.tables.servers[n]
		switch what {
		case 0:
			s.Health = server.Absent
		case 1:
			s.Drained = !s.Drained
		case 2:
			s.Foreign = 1 - s.Foreign
		case 3:
			s.Failing = &server.Failing{Rests: 1, Until: time.Now().Add(5 * time.Second)}
		default:
			s.Health, s.Failing = server.Answers, nil
		}
		f.tables.mu.Unlock()
	}
	f.tables.mu.Lock()
	defer f.tables.mu.Unlock()
	f.tables.faulty = false
	for _, s := range f.tables.servers {
		s.Health, s.Drained, s.Foreign, s.Failing = server.Answers, false, 0, nil
	}
}

// watchIdle reports a server that stays idle although a segment waits that it can run.
func (f *farm) watchIdle(ctx context.Context) {
	busy, settled := map[server.ID]time.Time{}, time.Now().Add(faultsFor+slowFor)
	for ctx.Err() == nil {
		pause(ctx, time.Second)
		f.tables.mu.Lock()
		all, waiting := f.tables.picture()
		f.tables.mu.Unlock()
		for _, s := range all {
			if time.Now().Before(settled) || slices.ContainsFunc(s.Leases, func(l server.Lease) bool { return !l.Copying }) {
				busy[s.ID] = time.Now()
			}
			for _, w := range waiting {
				if time.Since(busy[s.ID]) > idleFor && time.Since(w.Since) > idleFor && s.Has(w.Labels) && !slices.Contains(w.Avoid, s.ID) {
					f.t.Errorf("segment %+v waits although server %+v is idle since %s; it is %s", w, s, busy[s.ID], time.Now())
					return
				}
			}
		}
	}
}

// Segments of several processes share servers that go away, over a database whose statements are slow, fail, and fail after they
// were carried out, while drivers are lost. No lease is had twice, no server has more segments than slots, and every segment ends.
func TestSimulatedPlacement(t *testing.T) {
	t.Parallel()
	seeded.Run(t, func(t *testing.T, random *rand.Rand) {
		ctx, stop := context.WithTimeout(t.Context(), endWithin)
		f := &farm{
			t: t, random: rand.New(rand.NewPCG(random.Uint64(), 0)),
			given: map[int64]string{}, runs: map[server.Key]int{}, done: map[server.Key]bool{},
		}
		f.tables = &tables{
			t: t, random: rand.New(rand.NewPCG(random.Uint64(), 0)), faulty: true,
			waits: map[server.Key]*waitRow{}, leases: map[server.Key]*server.Lease{},
			notify: func(holder string) { f.pools[holder[len(holder)-1]-'0'].Granted() },
		}
		for n := range 1 + random.IntN(4) {
			f.tables.servers = append(f.tables.servers, &server.Server{
				ID: server.ID(fmt.Sprintf("s%d", n)), Slots: 1 + random.IntN(2), Health: server.Answers, Digest: "d",
				Labels: []string{"all", fmt.Sprint(n)},
			})
		}
		var background, segments sync.WaitGroup
		for n := range 1 + random.IntN(3) {
			classes, err := node.NewRegistry()
			require.NoError(t, err)
			p := placement.New(f.tables, nil, classes, fmt.Sprintf("process-%d", n), placement.Options{Log: slog.New(slog.DiscardHandler)})
			f.pools = append(f.pools, p)
			background.Go(func() { p.Run(ctx) })
			background.Go(func() { p.Serve(ctx) })
		}
		background.Go(func() { f.trouble(ctx) })
		background.Go(func() { f.watchIdle(ctx) })
		count := 1 + random.IntN(25)
		for n := range count {
			s := &segment{farm: f, cancels: random.IntN(5) == 0, wait: server.Wait{
				Key: server.Key{Job: job.ID(fmt.Sprintf("job-%02d", n)), Run: 1}, Account: string(rune('a' + random.IntN(3))), Attempt: 1,
				Labels: [][]string{{"all"}, {"all"}, {fmt.Sprint(random.IntN(len(f.tables.servers)))}}[random.IntN(3)],
			}}
			if random.IntN(3) > 0 {
				s.wait.Models = []string{string(rune('m' + random.IntN(3)))}
			}
			after := seeded.Between(random, 0, 3*time.Minute)
			segments.Go(func() {
				pause(ctx, after)
				s.wait.Since = time.Now()
				s.run(ctx)
			})
		}
		segments.Wait()
		if n := len(f.done); n < count {
			t.Errorf("%d of %d segments have not ended: %v", count-n, count, f.tables.waits)
		}
		stop()
		background.Wait()
		synctest.Wait()
	})
}

// A wait whose row is lost, as by a restored database, is added again. One whose segment another driver has ends.
func TestWaitOutsideOfTheQueueIsRepaired(t *testing.T) {
	t.Parallel()
	for name, takenOver := range map[string]bool{"the row is lost": false, "another driver has the segment": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &tables{t: t, random: rand.New(rand.NewPCG(1, 0)), waits: map[server.Key]*waitRow{}, leases: map[server.Key]*server.Lease{}}
				classes, err := node.NewRegistry()
				require.NoError(t, err)
				p := placement.New(s, nil, classes, "me", placement.Options{Log: slog.New(slog.DiscardHandler)})
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				go p.Run(ctx)
				go p.Serve(ctx)
				w := server.Wait{Key: server.Key{Job: "job", Run: 1}, Account: "a", Attempt: 1, Since: time.Now()}
				placed := make(chan error, 1)
				go func() {
					_, err := p.Place(ctx, w, nil)
					placed <- err
				}()
				pause(ctx, time.Second)
				s.mu.Lock()
				require.Len(t, s.waits, 1)
				clear(s.waits)
				if takenOver {
					s.leases[w.Key] = &server.Lease{Key: w.Key, Attempt: 1, Holder: "other", Until: time.Now().Add(leaseFor)}
				} else {
					s.servers = []*server.Server{{ID: "s", Slots: 1, Health: server.Answers, Digest: "d"}}
				}
				s.mu.Unlock()
				err = <-placed
				require.NoError(t, ctx.Err(), "it waits for ever")
				if takenOver {
					require.Equal(t, fault.CodeLeaseTakenOver, fault.CodeOf(err))
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}
