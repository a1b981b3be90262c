package server

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// firstLoad is the assumed time of loading a model that was not measured.
const firstLoad = 10 * time.Second

// Pool is the input of placement: the servers and their current leases.
type Pool struct {
	Servers []*Server
	// Missing returns what a server lacks for a segment, or "". A server with unknown classes lacks everything.
	Missing func(s *Server, needs []Need) string
	// Load returns how long loading a model takes on a server; 0 = not measured.
	Load func(id ID, model string) time.Duration
	// Served is the time on servers that each account got while it competed with the accounts that wait now.
	Served map[string]time.Duration
	Now    time.Time
}

// Decide places waiting segments on servers, given the time on servers of each competing account. Pool.Decide
// implements it.
type Decide func(all []*Server, waiting []*Wait, served map[string]time.Duration) ([]Placement, []Unplaced)

// Placement is a segment and its server.
type Placement struct {
	Wait   *Wait
	Server *Server
	Reason string
}

// Unplaced is a segment that keeps waiting, the reason, and the number of segments before it.
type Unplaced struct {
	Wait   *Wait
	Reason string
	Ahead  int
}

// Decide places segments on servers. The account with the smallest share, by its weight, of slots on servers and then
// of time on them goes first; within an account, jobs go in their order. A server that has loaded the models is
// preferred to an idle one, for as long as loading takes.
func (p *Pool) Decide(waiting []*Wait) (placed []Placement, unplaced []Unplaced) {
	r := p.newRound(waiting)
	for w := r.next(); w != nil; w = r.next() {
		s, reason := r.choose(w)
		if s == nil {
			unplaced = append(unplaced, Unplaced{Wait: w, Reason: reason, Ahead: len(unplaced)})
			continue
		}
		r.assign(s, w)
		placed = append(placed, Placement{w, s, reason})
	}
	return placed, unplaced
}

// round is one run of Decide.
type round struct {
	*Pool
	queues []*queue
	busy   map[ID]int
	loaded map[ID][]string
}

// queue contains the waiting segments of an account, the next one first.
type queue struct {
	account string
	waits   []*Wait
	running int
	weight  float64
	served  time.Duration
}

func (p *Pool) newRound(waiting []*Wait) *round {
	r := &round{Pool: p, busy: map[ID]int{}, loaded: map[ID][]string{}}
	byAccount := map[string]*queue{}
	for _, w := range waiting {
		q := byAccount[w.Account]
		if q == nil {
			q = &queue{account: w.Account, served: p.Served[w.Account]}
			byAccount[w.Account] = q
			r.queues = append(r.queues, q)
		}
		q.waits = append(q.waits, w)
		q.weight = float64(max(w.Weight, 1)) // the latest weight: the account's tier may have changed
	}
	for _, q := range r.queues {
		slices.SortStableFunc(q.waits, func(a, b *Wait) int {
			return cmp.Or(cmp.Compare(a.Number, b.Number), a.Since.Compare(b.Since), cmp.Compare(a.Unit, b.Unit))
		})
	}
	for _, s := range p.Servers {
		r.busy[s.ID], r.loaded[s.ID] = 0, s.Models
		for _, l := range s.Leases {
			if l.Copying {
				continue
			}
			r.busy[s.ID]++
			if q := byAccount[l.Account]; q != nil {
				q.running++
			}
			if len(l.Models) > 0 {
				r.loaded[s.ID] = l.Models
			}
		}
	}
	return r
}

// next removes the next segment of the account whose turn it is, or returns nil if no segment is left.
func (r *round) next() *Wait {
	var best *queue
	for _, q := range r.queues {
		if len(q.waits) > 0 && (best == nil || q.compare(best) < 0) {
			best = q
		}
	}
	if best == nil {
		return nil
	}
	w := best.waits[0]
	best.waits = best.waits[1:]
	return w
}

// compare orders accounts; the account whose turn it is comes first.
func (q *queue) compare(o *queue) int {
	return cmp.Or(
		cmp.Compare(float64(q.running)/q.weight, float64(o.running)/o.weight),
		cmp.Compare(q.served.Seconds()/q.weight, o.served.Seconds()/o.weight),
		q.waits[0].Since.Compare(o.waits[0].Since), cmp.Compare(q.account, o.account))
}

// assign records that a server now runs a segment.
func (r *round) assign(s *Server, w *Wait) {
	r.busy[s.ID]++
	if len(w.Models) > 0 {
		r.loaded[s.ID] = w.Models
	}
	for _, q := range r.queues {
		if q.account == w.Account {
			q.running++
		}
	}
}

// candidate is a server that could run a segment now.
type candidate struct {
	*Server
	warm  bool // has loaded all models
	blank bool // has loaded no models
	busy  int  // occupied slots
}

// choose returns the server for a segment and the reason, or why it must wait.
func (r *round) choose(w *Wait) (*Server, string) {
	able, reason := r.candidates(w)
	if len(able) == 0 {
		return nil, reason
	}
	var free []candidate
	warmBusy, ownBusy := false, false // a busy server has loaded the models; a busy server has no foreign prompts
	for _, s := range able {
		warm := len(w.Models) > 0 && contains(r.loaded[s.ID], w.Models)
		if r.busy[s.ID] >= s.Slots || s.Failing != nil && s.Failing.Rests > 0 && r.busy[s.ID] > 0 {
			warmBusy, ownBusy = warmBusy || warm, ownBusy || s.Foreign == 0
			continue
		}
		free = append(free, candidate{s, warm, len(r.loaded[s.ID]) == 0, r.busy[s.ID]})
	}
	if len(free) == 0 {
		return nil, fmt.Sprintf("all %d servers that can run it are busy", len(able))
	}
	slices.SortStableFunc(free, func(a, b candidate) int { return a.compare(b, len(w.Models) > 0) })
	for _, c := range free {
		if reason = r.reasonToWait(w, c, warmBusy, ownBusy); reason == "" {
			return c.Server, c.reason(w, free, len(r.Servers))
		}
	}
	return nil, reason
}

// reasonToWait returns why a segment should wait instead of taking a free server, or "" if it should not.
func (r *round) reasonToWait(w *Wait, c candidate, warmBusy, ownBusy bool) string {
	switch {
	case c.Foreign > 0 && ownBusy:
		return fmt.Sprintf("server %s has %d foreign prompts in its queue; waits for a server without foreign prompts", c.URL, c.Foreign)
	case c.warm || !warmBusy:
		return ""
	}
	if wait := r.loading(c.ID, w.Models); r.Now.Sub(w.Since) < wait {
		return fmt.Sprintf("waits up to %s for a server that has its models loaded", wait)
	}
	if r.needsLoaded(c.Server) {
		return "waits for a server that has its models loaded; another segment waits for the models of server " + c.URL + ""
	}
	return ""
}

// needsLoaded reports whether a waiting segment has its models loaded on a server. That segment should get the server
// before a segment with other models, which would be loaded there and then replaced again.
func (r *round) needsLoaded(s *Server) bool {
	for _, q := range r.queues {
		for _, w := range q.waits {
			if len(w.Models) == 0 || !contains(r.loaded[s.ID], w.Models) {
				continue
			}
			if able, _ := r.candidates(w); slices.Contains(able, s) {
				return true
			}
		}
	}
	return false
}

// compare orders servers for a segment; the better one comes first.
func (c candidate) compare(d candidate, models bool) int {
	freeC, _ := c.Memory()
	freeD, _ := d.Memory()
	order := cmp.Or(trueFirst(c.Foreign == 0, d.Foreign == 0), cmp.Compare(c.Foreign, d.Foreign))
	if models {
		order = cmp.Or(order, trueFirst(c.warm, d.warm), trueFirst(c.blank, d.blank))
	}
	return cmp.Or(order, cmp.Compare(c.busy, d.busy), cmp.Compare(freeD, freeC), cmp.Compare(c.ID, d.ID))
}

// trueFirst orders a true value before a false one.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func (c candidate) reason(w *Wait, free []candidate, all int) string {
	text := "the only free server that can run it"
	switch {
	case c.warm:
		text = "has its models loaded"
	case c.Foreign > 0:
		text = fmt.Sprintf("no other server is free; %d foreign prompts are before it", c.Foreign)
	case len(free) > 1 && len(w.Models) > 0 && c.blank:
		text = "free, with no models loaded"
	case len(free) > 1:
		text = fmt.Sprintf("the best of %d free servers by waiting prompts, models and memory", len(free))
	case all == 1:
		text = "the only server"
	}
	if w.Cause != "" {
		text += "; " + w.Cause
	}
	return text
}

// candidates returns the servers that satisfy a segment's requirements, or why there is none.
func (p *Pool) candidates(w *Wait) (able []*Server, reason string) {
	var avoided []*Server
	reason, fits := "no server is registered", false
	for _, s := range p.Servers {
		if why := p.whyUnfit(s, w); why != "" {
			if !fits {
				reason = why
			}
			continue
		}
		if why := p.whyUnavailable(s); why != "" { // the reason of the server that comes closest
			reason, fits = why, true
			continue
		}
		if slices.Contains(w.Avoid, s.ID) {
			avoided = append(avoided, s)
			continue
		}
		able = append(able, s)
	}
	if len(able) == 0 {
		able = avoided
	}
	if only := slices.IndexFunc(able, func(s *Server) bool { return s.ID == w.Only }); only >= 0 {
		able = able[only : only+1]
	}
	return able, reason
}

// Able returns the servers that satisfy a segment's requirements and accept segments, also those that are busy.
func (p *Pool) Able(w *Wait) []*Server {
	able, _ := p.candidates(w)
	return able
}

// CanRun reports whether a server satisfies a segment's requirements, now or when it answers and accepts segments again.
func (p *Pool) CanRun(w *Wait) bool {
	return slices.ContainsFunc(p.Servers, func(s *Server) bool { return p.whyUnfit(s, w) == "" })
}

// whyUnavailable returns why a server accepts no segments now, or "".
func (p *Pool) whyUnavailable(s *Server) string {
	switch {
	case s.Drained:
		return "server " + s.URL + " is draining"
	case s.Health != Answers || s.Process.closed():
		return "server " + s.URL + " is " + string(s.State())
	case s.CanceledAt != nil:
		return "server " + s.URL + " still runs a canceled prompt"
	case s.Failing.resting(p.Now):
		return "server " + s.URL + " " + s.Failing.reason()
	}
	return ""
}

// whyUnfit returns why a server can never run a segment, or "".
func (p *Pool) whyUnfit(s *Server, w *Wait) string {
	_, total := s.Memory()
	switch {
	case slices.Contains(w.Refused, s.ID):
		return "server " + s.URL + " cannot run it"
	case !contains(s.Labels, w.Labels):
		return fmt.Sprintf("server %s does not have the labels %v", s.URL, w.Labels)
	case w.Memory > 0 && total <= w.Memory:
		return "server " + s.URL + " does not have more memory than the server that had too little"
	}
	if lack := p.Missing(s, w.Needs); lack != "" {
		return "server " + s.URL + " does not have " + lack
	}
	return ""
}

// loading returns how long loading the models takes on a server: the longest of their times.
func (p *Pool) loading(id ID, models []string) time.Duration {
	var total time.Duration
	for _, m := range models {
		d := p.Load(id, m)
		d = cmp.Or(d, firstLoad)
		total = max(total, d)
	}
	return total
}

// contains reports whether all contains each element of some.
func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
