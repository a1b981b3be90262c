package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/api/console/previews"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// Sizes of a drawing in pixels.
const (
	boxWidth, boxHeight = 176, 52
	gapX, gapY          = 56, 20
	margin              = 16
)

// maxDrawn bounds the drawn nodes: a larger picture shows nothing more than a table.
const maxDrawn = 300

// Drawing is a graph laid out from left to right: every node is to the right of its inputs.
type Drawing struct {
	Width, Height int
	Nodes         []DrawnNode
	Links         []DrawnLink
	TooLarge      bool // the graph is too large to be drawn
}

// DrawnNode is a box.
type DrawnNode struct {
	X, Y      int
	ID, Title string // shortened to fit
	Whole     string // id
	Full      string // the full text, with the class
	State     string // state of inspect.NodeSpan, or waiting, or not run
	Took      string
	Thumb     string // id of an output picture, or ""
	Preview   string // distinguishes the previews of a running node, or ""
}

// DrawnLink is a curve between two boxes, as an SVG path.
type DrawnLink struct {
	Path   string
	Active bool // its value has been computed
}

// States of a node without a span.
const (
	nodeWaiting = "waiting"
	nodeUnused  = "not run"
)

// perBand bounds the columns of a band: a long chain continues in a band below, so that the drawing fits a window.
const perBand = 8

// Show puts pictures of nodes on their boxes, by the ids of nodes.
func (d *Drawing) Show(thumbs map[string]string) {
	for i := range d.Nodes {
		d.Nodes[i].Thumb = thumbs[d.Nodes[i].Whole]
	}
}

// ShowNow puts the preview of a running node on its box; p may be nil.
func (d *Drawing) ShowNow(p *previews.Preview) {
	for i := range d.Nodes {
		if p != nil && d.Nodes[i].Whole == p.Node {
			d.Nodes[i].Preview = p.Seen
		}
	}
}

// Draw lays a graph out, and colours its nodes by their states.
func Draw(g *graph.Graph, t inspect.Timeline) Drawing {
	if len(g.Nodes) > maxDrawn {
		return Drawing{TooLarge: true}
	}
	spans := map[string]inspect.NodeSpan{}
	for _, s := range t.Nodes {
		if s.Run == t.Run {
			spans[s.Node] = s
		}
	}
	p := newPlacement(g)
	d := Drawing{Nodes: make([]DrawnNode, len(g.Nodes))}
	for i, n := range g.Nodes {
		state, took := stateOf(spans, n.ID, t.State)
		x, y := p.at(i)
		title := n.Title
		title = cmp.Or(title, n.Class)
		d.Nodes[i] = DrawnNode{
			X: x, Y: y, ID: clip(n.ID, 10), Whole: n.ID, Title: clip(title, 24), State: state, Took: took,
			Full: fmt.Sprintf("%s · %s · %s · %s", n.ID, title, n.Class, state),
		}
		d.Width, d.Height = max(d.Width, x+boxWidth+margin), max(d.Height, y+boxHeight+margin)
	}
	for i := range g.Nodes {
		for slot, from := range p.reads[i] {
			d.Links = append(d.Links, link(d.Nodes[from], d.Nodes[i], slot, len(p.reads[i])))
		}
	}
	return d
}

func stateOf(spans map[string]inspect.NodeSpan, id string, state job.State) (word, took string) {
	s, ok := spans[id]
	switch {
	case ok && s.State == inspect.NodeCached:
		return s.State, ""
	case ok:
		return s.State, inspect.Span(s.Took.Duration())
	case state.Final():
		return nodeUnused, ""
	default:
		return nodeWaiting, ""
	}
}

func link(from, to DrawnNode, slot, slots int) DrawnLink {
	x1, y1 := from.X+boxWidth, from.Y+boxHeight/2
	if to.X <= from.X { // the target is in a band below
		x1, y1 = from.X+boxWidth/2, from.Y+boxHeight
		x2, y2 := to.X+boxWidth/2, to.Y
		if y2 <= y1 {
			y2 = to.Y + boxHeight/2
		}
		bend := max((y2-y1)/2, 12)
		return DrawnLink{
			Path:   fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1, y1+bend, x2, y2-bend, x2, y2),
			Active: from.State == inspect.NodeExecuted || from.State == inspect.NodeCached,
		}
	}
	x2, y2 := to.X, to.Y+boxHeight*(slot+1)/(slots+1)
	bend := max((x2-x1)/2, 24)
	return DrawnLink{
		Path:   fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2),
		Active: from.State == inspect.NodeExecuted || from.State == inspect.NodeCached,
	}
}

// clip shortens text to n characters.
func clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// placement gives every node a column to the right of its inputs, and a row near them.
type placement struct {
	reads  [][]int // by node: the nodes that it reads, without duplicates
	column []int
	row    []int
	above  []int // by band: the rows of the bands above it
}

func newPlacement(g *graph.Graph) *placement {
	p := &placement{reads: make([][]int, len(g.Nodes)), column: make([]int, len(g.Nodes)), row: make([]int, len(g.Nodes))}
	index := make(map[string]int, len(g.Nodes))
	for i, n := range g.Nodes {
		index[n.ID] = i
	}
	for i, n := range g.Nodes {
		for _, in := range n.Inputs {
			if from, ok := source(in.Value, index); ok && !slices.Contains(p.reads[i], from) {
				p.reads[i] = append(p.reads[i], from)
			}
		}
	}
	for range g.Nodes { // at most one round for each node of the longest chain; accepted graphs have no cycles
		moved := false
		for i, reads := range p.reads {
			for _, from := range reads {
				if p.column[i] <= p.column[from] && p.column[from]+1 < len(g.Nodes) {
					p.column[i], moved = p.column[from]+1, true
				}
			}
		}
		if !moved {
			break
		}
	}
	p.arrange()
	return p
}

// source returns the node to which a link [id, slot] leads.
func source(value any, index map[string]int) (int, bool) {
	list, ok := value.([]any)
	if !ok || len(list) != 2 {
		return 0, false
	}
	id, isID := list[0].(string)
	if _, isSlot := list[1].(json.Number); !isID || !isSlot {
		return 0, false
	}
	i, ok := index[id]
	return i, ok
}

// arrange orders each column by the middle rows of its nodes' inputs, so that few links cross.
func (p *placement) arrange() {
	columns := map[int][]int{}
	last := 0
	for i, c := range p.column {
		columns[c] = append(columns[c], i)
		last = max(last, c)
	}
	for c := 0; c <= last; c++ {
		nodes := columns[c]
		slices.SortStableFunc(nodes, func(a, b int) int { return p.middle(a) - p.middle(b) })
		for row, i := range nodes {
			p.row[i] = row
		}
		for len(p.above) <= c/perBand+1 {
			p.above = append(p.above, 0)
		}
		p.above[c/perBand+1] = max(p.above[c/perBand+1], len(nodes))
	}
	for band := 1; band < len(p.above); band++ {
		p.above[band] += p.above[band-1]
	}
}

// middle returns a hundred times the average row of a node's inputs.
func (p *placement) middle(i int) int {
	if len(p.reads[i]) == 0 {
		return 0
	}
	sum := 0
	for _, from := range p.reads[i] {
		sum += 100 * p.row[from]
	}
	return sum / len(p.reads[i])
}

func (p *placement) at(i int) (x, y int) {
	band := p.column[i] / perBand
	return margin + p.column[i]%perBand*(boxWidth+gapX), margin + (p.above[band]+p.row[i])*(boxHeight+gapY) + band*gapY
}

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
