package console

import (
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// Part is a part of a job's time. The parts of a job add up to all of it.
type Part struct {
	Name, What string // Name is one word, for colours
	Took       inspect.Millis
}

// The parts of the time of a job.
var partNames = []Part{
	{Name: "slot", What: "waited for a slot of the account"},
	{Name: "worker", What: "waited for a worker to begin"},
	{Name: "plan", What: "prepared: plan, cache, inputs"},
	{Name: "nodes", What: "ran nodes"},
	{Name: "place", What: "waited for a place among the account's calls of partner models"},
	{Name: "server", What: "taken by ComfyUI servers outside of nodes: upload, queue there, models, collection"},
	{Name: "wait", What: "waited for a ComfyUI server"},
	{Name: "between", What: "between nodes: values handed on, events recorded, the next task"},
	{Name: "end", What: "recorded the end"},
}

// period is a period in which something ran.
type period struct {
	from, to time.Time
	name     string
}

// Parts divides a job's time: each moment from the submission to the end belongs to one part.
func Parts(t inspect.Timeline) []Part {
	sums := map[string]time.Duration{"slot": t.WaitedSlot.Duration(), "worker": t.WaitedStart.Duration()}
	from := t.SubmittedAt.Add(t.WaitedSlot.Duration() + t.WaitedStart.Duration())
	busy := periods(t, from)
	for i, at := 0, from; ; i++ {
		if i == len(busy) {
			name := "end"
			if len(busy) == 0 {
				name = "plan"
			}
			sums[name] += max(0, t.Until.Sub(at))
			break
		}
		if gap := busy[i].from.Sub(at); gap > 0 {
			sums[gapName(t, i, busy[i].from)] += gap
			at = busy[i].from
		}
		if busy[i].to.After(at) {
			sums[busy[i].name] += busy[i].to.Sub(at)
			at = busy[i].to
		}
	}
	var parts []Part
	for _, p := range partNames {
		if p.Took = inspect.Millis(sums[p.Name]); p.Took > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// gapName names the period without activity before the stretch of index i, which begins at a time.
func gapName(t inspect.Timeline, i int, at time.Time) string {
	for _, s := range t.Servers {
		if s.Began.Equal(at) {
			return "wait"
		}
	}
	if i == 0 {
		return "plan"
	}
	return "between"
}

// periods returns the periods in which nodes ran, servers were occupied, or nodes waited to call partner models,
// without overlaps: of overlapping periods, the first in this order counts.
func periods(t inspect.Timeline, from time.Time) []period {
	var nodes, servers, places []period
	for _, n := range t.Nodes {
		if n.Took > 0 {
			called := n.Began.Add(min(n.Waited, n.Took).Duration())
			places = append(places, cutTo(period{n.Began, called, "place"}, from, t.Until))
			nodes = append(nodes, cutTo(period{called, n.Began.Add(n.Took.Duration()), "nodes"}, from, t.Until))
		}
	}
	for _, s := range t.Servers {
		servers = append(servers, cutTo(period{s.Began, s.Began.Add(s.Took.Duration()), "server"}, from, t.Until))
	}
	nodes = union(nodes)
	all := slices.Clone(nodes)
	for _, s := range union(servers) {
		all = append(all, subtract(s, nodes)...)
	}
	worked := union(slices.Clone(all))
	for _, s := range union(places) {
		all = append(all, subtract(s, worked)...)
	}
	all = slices.DeleteFunc(all, func(s period) bool { return !s.to.After(s.from) })
	slices.SortFunc(all, func(a, b period) int { return a.from.Compare(b.from) })
	return all
}

func cutTo(s period, from, to time.Time) period {
	if s.from.Before(from) {
		s.from = from
	}
	if s.to.After(to) {
		s.to = to
	}
	return s
}

// union joins adjacent stretches.
func union(all []period) []period {
	slices.SortFunc(all, func(a, b period) int { return a.from.Compare(b.from) })
	var out []period
	for _, s := range all {
		if n := len(out); n > 0 && !s.from.After(out[n-1].to) {
			if s.to.After(out[n-1].to) {
				out[n-1].to = s.to
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// subtract returns the parts of a stretch outside of others, which are in order.
func subtract(s period, others []period) []period {
	var left []period
	for _, o := range others {
		if !o.to.After(s.from) || !s.to.After(o.from) {
			continue
		}
		if o.from.After(s.from) {
			left = append(left, period{s.from, o.from, s.name})
		}
		s.from = o.to
	}
	return append(left, s)
}
