package placement_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/sim/seeded"
)

// leaseFor is how long a lease, and a wait, lasts without a renewal, as in package serverstore.
const leaseFor = 30 * time.Second

// errStore is the failure of a statement. Whether it was carried out is not known.
var errStore = fault.New(fault.Unavailable, "", "the connection to the database broke")

// tables are the tables of package serverstore in memory, with its statements. Statements take a while and fail at random.
type tables struct {
	placement.Store
	t      *testing.T
	notify func(holder string)

	mu      sync.Mutex // guards all below
	random  *rand.Rand
	faulty  bool
	placing bool // a round is under way, in any process
	fence   int64
	servers []*server.Server
	waits   map[server.Key]*waitRow
	leases  map[server.Key]*server.Lease
}

type waitRow struct {
	server.Wait
	seen time.Time
}

// statement takes a while, and calls change as a whole unless it fails.
func (s *tables) statement(ctx context.Context, change func()) error {
	s.mu.Lock()
	takes, failing := seeded.Between(s.random, 0, 4*time.Millisecond), s.faulty && s.random.IntN(12) == 0
	if s.faulty && s.random.IntN(60) == 0 {
		takes = seeded.Between(s.random, time.Second, slowFor)
	}
	applied := !failing || s.random.IntN(2) == 0
	s.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if applied {
		change()
	}
	if failing {
		return errStore
	}
	return nil
}

func (s *tables) counted(l *server.Lease) bool { return l.Result == nil && time.Now().Before(l.Until) }

// picture returns copies of the servers, with their leases, and of the waits.
func (s *tables) picture() (all []*server.Server, waiting []*server.Wait) {
	for _, row := range s.servers {
		c := *row
		c.Leases = nil
		for _, l := range s.leases {
			if l.Server == c.ID && s.counted(l) {
				c.Leases = append(c.Leases, *l)
			}
		}
		all = append(all, &c)
	}
	for _, w := range s.waits {
		if time.Since(w.seen) < leaseFor {
			c := w.Wait
			waiting = append(waiting, &c)
		}
	}
	slices.SortFunc(waiting, func(a, b *server.Wait) int { return bytes.Compare([]byte(a.Job), []byte(b.Job)) })
	return all, waiting
}

// Place implements placement.Leases.
func (s *tables) Place(ctx context.Context, r server.Round, decide server.Decide) (made []server.Lease, mine bool, err error) {
	var all []*server.Server
	var waiting []*server.Wait
	err = s.statement(ctx, func() {
		for _, w := range r.Waits {
			if l := s.leases[w.Key]; l != nil && l.Fence > w.Fence {
				continue
			}
			row := &waitRow{w, time.Now()}
			if old := s.waits[w.Key]; old != nil && old.Attempt > w.Attempt {
				row.Wait = old.Wait
				row.Holder = w.Holder
			} else if old != nil {
				row.Since = old.Since
			}
			s.waits[w.Key] = row
		}
		for _, v := range r.Vacated {
			if l := s.leases[v.Key]; l != nil && l.Fence == v.Fence && l.Result == nil {
				l.Copying = true
				s.load(l)
			}
		}
		if mine = !s.placing; mine {
			s.placing = true
			all, waiting = s.picture()
		}
	})
	if !mine || err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.placing = s.placing && !mine
		return nil, false, err
	}
	placed, _ := decide(all, waiting, nil)
	s.check(placed)
	err = s.statement(ctx, func() {
		for _, p := range placed {
			if s.waits[p.Wait.Key] == nil {
				continue // it has left the queue
			}
			old := s.leases[p.Wait.Key]
			if old != nil && old.Fence > p.Wait.Fence {
				delete(s.waits, p.Wait.Key)
				continue // a driver has taken it over
			}
			if old != nil && old.Result != nil {
				s.t.Errorf("the result of segment %s is overwritten", p.Wait.Job)
			}
			s.fence++
			l := &server.Lease{
				Key: p.Wait.Key, Account: p.Wait.Account, Server: p.Server.ID, Attempt: p.Wait.Attempt, Fence: s.fence, Holder: p.Wait.Holder,
				Since: time.Now(), Until: time.Now().Add(leaseFor), Models: p.Wait.Models,
			}
			delete(s.waits, l.Key)
			s.leases[l.Key] = l
			made = append(made, *l)
			if l.Holder != r.Holder && (!s.faulty || s.random.IntN(3) > 0) {
				s.notify(l.Holder)
			}
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placing = false
	if err != nil {
		return nil, false, err
	}
	return made, true, nil
}

// check reports a server that a round gave more segments than it has slots, and one that cannot run its segment.
func (s *tables) check(placed []server.Placement) {
	given := map[server.ID]int{}
	for _, p := range placed {
		given[p.Server.ID]++
		busy := 0
		for _, l := range p.Server.Leases {
			if !l.Copying {
				busy++
			}
		}
		if busy+given[p.Server.ID] > p.Server.Slots || p.Server.Health != server.Answers || p.Server.Drained || !p.Server.Has(p.Wait.Labels) ||
			slices.Contains(p.Wait.Refused, p.Server.ID) {
			s.t.Errorf("segment %s was given to server %+v", p.Wait.Job, p.Server)
		}
	}
}

func (s *tables) load(l *server.Lease) {
	for _, row := range s.servers {
		if row.ID == l.Server && len(l.Models) > 0 {
			row.Models = l.Models
		}
	}
}

// KeepWaiting implements placement.Leases.
func (s *tables) KeepWaiting(ctx context.Context, holder string, keys []server.Key) (kept []server.Key, err error) {
	err = s.statement(ctx, func() {
		for _, k := range keys {
			if w := s.waits[k]; w != nil {
				w.seen, w.Holder = time.Now(), holder
				kept = append(kept, k)
			}
		}
	})
	return kept, err
}

// StopWaiting implements placement.Leases.
func (s *tables) StopWaiting(ctx context.Context, w server.Wait) error {
	return s.statement(ctx, func() {
		delete(s.waits, w.Key)
		if l := s.leases[w.Key]; l != nil && l.Attempt == w.Attempt && l.Holder == w.Holder && l.Result == nil {
			delete(s.leases, w.Key)
		}
	})
}

// OfSegments implements placement.Leases.
func (s *tables) OfSegments(ctx context.Context, keys []server.Key) (found []server.Lease, err error) {
	err = s.statement(ctx, func() {
		for _, k := range keys {
			if l := s.leases[k]; l != nil {
				found = append(found, *l)
			}
		}
	})
	return found, err
}

// Retake implements placement.Leases.
func (s *tables) Retake(ctx context.Context, k server.Key, holder string) (l server.Lease, err error) {
	none := false
	err = s.statement(ctx, func() {
		row := s.leases[k]
		if none = row == nil; none {
			return
		}
		s.fence++
		delete(s.waits, k)
		row.Fence, row.Holder, row.Until, row.Copying = s.fence, holder, time.Now().Add(leaseFor), false
		l = *row
	})
	if err == nil && none {
		err = fault.New(fault.NotFound, "", "the segment has no lease")
	}
	return l, err
}

// Renew implements placement.Leases.
func (s *tables) Renew(ctx context.Context, l server.Lease) (mine bool, err error) {
	err = s.statement(ctx, func() {
		if row := s.leases[l.Key]; row != nil && row.Fence == l.Fence {
			mine, row.Until = true, time.Now().Add(leaseFor)
		}
	})
	return mine, err
}

// Drop implements placement.Leases.
func (s *tables) Drop(ctx context.Context, l server.Lease) error {
	return s.statement(ctx, func() {
		if row := s.leases[l.Key]; row != nil && row.Fence == l.Fence {
			delete(s.leases, l.Key)
		}
	})
}

// errFenced refuses the result of a driver whose lease another one has.
var errFenced = errors.New("another driver has the lease")

// result ends a lease with a result, like Record.
func (s *tables) result(ctx context.Context, l server.Lease) error {
	fenced := false
	err := s.statement(ctx, func() {
		row := s.leases[l.Key]
		if fenced = row == nil || row.Fence != l.Fence; fenced {
			return
		}
		row.Result, row.Until = json.RawMessage(`{}`), time.Now()
		s.load(row)
	})
	if err == nil && fenced {
		err = errFenced
	}
	return err
}

// Servers implements placement.Store.
func (s *tables) Servers(ctx context.Context) (all []*server.Server, err error) {
	err = s.statement(ctx, func() { all, _ = s.picture() })
	return all, err
}

// Loads implements placement.Store.
func (s *tables) Loads(context.Context) (map[server.ID]map[string]time.Duration, error) {
	return nil, nil //nolint:nilnil // nothing was measured
}

// Classes implements placement.Store: definitions of no class.
func (s *tables) Classes(context.Context, string) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(`{"names":[],"definitions":{}}`))
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}
