package server

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// firstLoad is how long loading a model is taken to last where it was not measured.
const firstLoad = 10 * time.Second

// Pool is what placement decides on: the servers, with the leases that count.
type Pool struct {
	Servers []*Server
	// Missing returns what a server lacks for a segment, "" for nothing. Servers whose classes are not known lack all.
	Missing func(s *Server, needs []Need) string
	// Load returns how long loading a model took before; 0 = not measured.
	Load func(model string) time.Duration
	Now  time.Time
}

// Placement gives a segment a server.
type Placement struct {
	Wait   *Wait
	Server *Server
	Reason string
}

// Unplaced says why a segment waits on, and how many are before it.
type Unplaced struct {
	Wait   *Wait
	Reason string
	Ahead  int
}

// Decide gives servers to segments: to the account that has the fewest running first, within an account in the order of
// its jobs. A server that has the models loaded goes before an idle one, for as long as loading takes.
func (p *Pool) Decide(waiting []*Wait) (placed []Placement, held []Unplaced) {
	busy, running := map[ID]int{}, map[string]int{}
	loaded := map[ID][]string{}
	for _, s := range p.Servers {
		busy[s.ID] = len(s.Leases)
		loaded[s.ID] = s.Models
		for _, l := range s.Leases {
			running[l.Account]++
			if len(l.Models) > 0 {
				loaded[s.ID] = l.Models
			}
		}
	}
	left := slices.Clone(waiting)
	for len(left) > 0 {
		at := next(left, running)
		w := left[at]
		left = slices.Delete(left, at, at+1)
		s, reason := p.choose(w, busy, loaded)
		if s == nil {
			held = append(held, Unplaced{Wait: w, Reason: reason, Ahead: len(held)})
			continue
		}
		busy[s.ID]++
		running[w.Account]++
		if len(w.Models) > 0 {
			loaded[s.ID] = w.Models
		}
		placed = append(placed, Placement{w, s, reason})
	}
	return placed, held
}

// next returns the segment whose turn it is.
func next(left []*Wait, running map[string]int) int {
	best := 0
	for i, w := range left {
		b := left[best]
		if cmp.Or(cmp.Compare(running[w.Account], running[b.Account]), cmp.Compare(w.Number, b.Number), w.Since.Compare(b.Since), cmp.Compare(w.Unit, b.Unit)) < 0 {
			best = i
		}
	}
	return best
}

// candidate is a server that could run a segment now.
type candidate struct {
	*Server
	warm  bool // has all models loaded
	blank bool // has none loaded
}

// choose returns the server for a segment and why, or why there is none now.
func (p *Pool) choose(w *Wait, busy map[ID]int, loaded map[ID][]string) (*Server, string) {
	able, reason := p.able(w)
	if len(able) == 0 {
		return nil, reason
	}
	var free []candidate
	warmBusy := false
	for _, s := range able {
		warm := len(w.Models) > 0 && contains(loaded[s.ID], w.Models)
		if busy[s.ID] >= s.Slots {
			warmBusy = warmBusy || warm
			continue
		}
		free = append(free, candidate{s, warm, len(loaded[s.ID]) == 0})
	}
	if len(free) == 0 {
		return nil, fmt.Sprintf("all %d servers that can run it are busy", len(able))
	}
	slices.SortStableFunc(free, func(a, b candidate) int { return a.compare(b, len(w.Models) > 0) })
	best := free[0]
	if wait := p.loading(w.Models); warmBusy && !best.warm && p.Now.Sub(w.Since) < wait {
		return nil, fmt.Sprintf("waits up to %s for a server that has its models loaded", wait)
	}
	return best.Server, best.reason(w, free, len(p.Servers))
}

// compare orders servers for a segment, the better one first.
func (c candidate) compare(d candidate, models bool) int {
	freeC, _ := c.Memory()
	freeD, _ := d.Memory()
	order := cmp.Or(first(c.Foreign == 0, d.Foreign == 0), cmp.Compare(c.Foreign, d.Foreign))
	if models {
		order = cmp.Or(order, first(c.warm, d.warm), first(c.blank, d.blank))
	}
	return cmp.Or(order, cmp.Compare(len(c.Leases), len(d.Leases)), cmp.Compare(freeD, freeC), cmp.Compare(c.ID, d.ID))
}

// first orders the one of which something is true before the other.
func first(a, b bool) int {
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
		text = fmt.Sprintf("nothing else can take it; %d prompts of others are before it", c.Foreign)
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

// able returns the servers that have what a segment needs, or why there is none.
func (p *Pool) able(w *Wait) (able []*Server, reason string) {
	var avoided []*Server
	reason = "no server is registered"
	for _, s := range p.Servers {
		if why := p.unable(s, w); why != "" {
			reason = why
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

// CanRun reports whether some server that answers has what a segment needs.
func (p *Pool) CanRun(w *Wait) bool {
	able, _ := p.able(w)
	return len(able) > 0
}

// unable returns why a server cannot run a segment, "" if it can.
func (p *Pool) unable(s *Server, w *Wait) string {
	_, total := s.Memory()
	switch {
	case s.Drained:
		return "server " + s.URL + " is draining"
	case s.Health != Answers:
		return "server " + s.URL + " is " + string(s.State())
	case slices.Contains(w.Refused, s.ID):
		return "server " + s.URL + " cannot run it"
	case !contains(s.Labels, w.Labels):
		return fmt.Sprintf("server %s does not have the labels %v", s.URL, w.Labels)
	case w.Memory > 0 && total <= w.Memory:
		return "server " + s.URL + " has no more memory than the one that had too little"
	}
	if lack := p.Missing(s, w.Needs); lack != "" {
		return "server " + s.URL + " does not have " + lack
	}
	return ""
}

// loading is how long loading the models takes.
func (p *Pool) loading(models []string) time.Duration {
	var total time.Duration
	for _, m := range models {
		d := p.Load(m)
		if d == 0 {
			d = firstLoad
		}
		total = max(total, d)
	}
	return total
}

// contains reports whether all has each of some.
func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
