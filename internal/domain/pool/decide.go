package pool

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/server"
)

// Seen is what a decision depends on beside the state of the pool.
type Seen struct {
	Needs    int               // waiting segments that need a machine
	Work     time.Duration     // of a segment, on average; 0 = unknown
	Servers  map[string]Server // by the machine that registered it
	Listed   []string          // handles of the machines that exist
	Asked    bool              // Listed is known
	InFlight []string          // machines whose commands run
}

// Server is the server of a machine.
type Server struct {
	ID      server.ID
	Answers bool   // it can run segments
	Classes string // digest of its definitions
	Busy    bool
	Drained bool
	Stuck   bool      // it runs a prompt that does not end
	Used    time.Time // when its last segment ended
	SeenAt  time.Time // when it last answered
	Worn    bool      // it has grown beyond a limit of the pool
}

// Orders are what a decision wants: events to record at once, and then commands for machines.
type Orders struct {
	Events []any
	Start  []string    // run their start commands
	Drain  []server.ID // give these no segments
	Stop   []string    // run their stop commands
}

// Empty reports whether nothing is wanted.
func (o *Orders) Empty() bool {
	return len(o.Events)+len(o.Start)+len(o.Drain)+len(o.Stop) == 0
}

const (
	silence   = time.Minute     // a joined machine whose server does not answer for so long is lost
	listedIn  = 2 * time.Minute // a machine that has not joined, or was stopped, is not judged by the list earlier
	firstWork = time.Minute     // assumed duration of a segment
	firstBoot = time.Minute     // assumed time until a machine joins
	retryMost = 5 * time.Minute // between two starts after failures
	retryLow  = 5 * time.Second
	reserve   = 15 * time.Minute // of budget that a machine must have to be started
)

// decision is a decision that is being made.
type decision struct {
	State
	Seen
	Orders
	name string
	now  time.Time

	starting int      // machines that will join
	joined   []string // machines that may get segments, oldest first
}

// Decide returns what a pool wants now.
func (s State) Decide(name string, seen Seen, now time.Time) Orders {
	d := &decision{State: s, Seen: seen, name: name, now: now}
	d.State.Machines = slices.Clone(s.Machines)
	for _, m := range s.Machines {
		d.judge(m)
	}
	d.findUnknown()
	for _, m := range d.State.Machines {
		switch {
		case m.Phase == Lost:
			if at, ok := d.Servers[m.ID]; ok && !at.Drained {
				d.Drain = append(d.Drain, at.ID)
			}
			if !slices.Contains(d.InFlight, m.ID) {
				d.Stop = append(d.Stop, m.ID)
			}
		case m.Phase == Requested || m.Phase == Starting:
			d.starting++
		case m.Phase == Joined && !d.Servers[m.ID].Drained:
			d.joined = append(d.joined, m.ID)
		}
	}
	d.shrink()
	d.grow()
	return d.Orders
}

// record adds an event to the orders, and to the state that the rest of the decision sees.
func (d *decision) record(event any) {
	d.Events = append(d.Events, event)
	d.State = d.State.After(event, d.now)
}

// short returns a time without the units that are zero: 10m instead of 10m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// judge decides about one machine by its server and the list.
func (d *decision) judge(m Machine) {
	at, registered := d.Servers[m.ID]
	flies := slices.Contains(d.InFlight, m.ID)
	missing := d.Asked && m.Handle != "" && !slices.Contains(d.Listed, m.Handle) && !flies
	switch m.Phase {
	case Requested, Starting:
		switch {
		case registered && at.Answers && at.Classes != "":
			d.record(JoinedV1{Machine: m.ID, Server: at.ID, Classes: at.Classes})
		case d.now.Sub(m.RequestedAt) > d.Spec.Join && !flies:
			d.record(LostV1{Machine: m.ID, Failed: true, Cause: "it did not join within " + short(d.Spec.Join)})
		case missing && d.now.Sub(m.RequestedAt) > listedIn:
			d.record(LostV1{Machine: m.ID, Failed: true, Cause: "it ended before it joined"})
		case m.Phase == Requested && !flies:
			d.Start = append(d.Start, m.ID)
		}
	case Joined:
		switch {
		case !registered:
			d.record(LostV1{Machine: m.ID, Cause: "its server is not registered any more"})
		case at.Stuck:
			d.record(LostV1{Machine: m.ID, Cause: "its server runs a prompt that does not end"})
		case !at.Answers && (missing || d.now.Sub(at.SeenAt) > silence):
			d.record(LostV1{Machine: m.ID, Cause: "its server does not answer"})
		case at.Drained && !at.Busy && !flies:
			d.Stop = append(d.Stop, m.ID)
		}
	case Lost:
	}
}

// findUnknown records the machines that are listed and that nobody knows. While a start command runs, the id of its machine is not known.
func (d *decision) findUnknown() {
	for _, m := range d.State.Machines {
		if m.Phase == Requested || m.Handle == "" && slices.Contains(d.InFlight, m.ID) { // its server may answer before the command ends
			return
		}
	}
	for _, handle := range d.Listed {
		known := slices.ContainsFunc(d.State.Machines, func(m Machine) bool { return m.Handle == handle || m.ID == handle })
		ended := slices.ContainsFunc(d.State.Ended, func(e Ended) bool { return e.Handle == handle && d.now.Sub(e.At) < listedIn })
		if !known && !ended {
			d.record(FoundV1{Handle: handle})
		}
	}
}

// shrink drains machines that are not needed. A drained machine ends its segments, and is then stopped.
func (d *decision) shrink() {
	broke := d.Spec.Budget > 0 && d.SpentOn(d.now)+d.hourly(len(d.State.Machines), time.Minute) > d.Spec.Budget
	// The machine that has had no work for the longest time goes first; those that work go last.
	order := slices.Clone(d.joined)
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Or(compareBool(d.Servers[a].Busy, d.Servers[b].Busy), d.used(a).Compare(d.used(b)))
	})
	for _, id := range order {
		at := d.Servers[id]
		idle := !at.Busy && d.Needs == 0 && d.now.Sub(d.used(id)) >= d.Spec.Idle && len(d.joined) > d.Spec.Min
		if d.Removed || broke || at.Worn || idle || len(d.joined)+d.starting > d.Spec.Max {
			d.Drain = append(d.Drain, at.ID)
			d.joined = slices.DeleteFunc(d.joined, func(j string) bool { return j == id })
		}
	}
	if !d.Removed {
		return
	}
	for _, m := range d.State.Machines {
		if (m.Phase == Requested || m.Phase == Starting) && !slices.Contains(d.InFlight, m.ID) {
			d.Stop = append(d.Stop, m.ID)
		}
	}
	d.Start = nil
}

// used returns when a machine last worked, or joined.
func (d *decision) used(id string) time.Time {
	joined := d.Machine(id).JoinedAt
	if used := d.Servers[id].Used; used.After(joined) {
		return used
	}
	return joined
}

// grow requests the machines that are needed.
func (d *decision) grow() {
	if d.Paused || d.Removed || d.Failures > 0 && d.now.Sub(d.FailedAt) < retryIn(d.Failures) {
		return
	}
	idle := 0
	for _, id := range d.joined {
		if !d.Servers[id].Busy {
			idle++
		}
	}
	n, reason := d.wanted()-d.starting-idle, fmt.Sprintf("%d segments need a machine", d.Needs)
	running := d.starting + len(d.joined)
	if least := d.Spec.Min - running; n < least {
		n, reason = least, fmt.Sprintf("at least %d machines are to run", d.Spec.Min)
	}
	if n <= 0 && d.Classes == "" && running == 0 {
		n, reason = 1, "the classes of its machines are not known"
	}
	if d.Failures > 0 { // one at a time, until one joins
		n = min(n, 1-d.starting)
	}
	n = min(n, d.Spec.Max-len(d.State.Machines))
	for ; n > 0; n-- {
		if d.Spec.Budget > 0 && d.SpentOn(d.now)+d.hourly(len(d.State.Machines)+1, reserve) > d.Spec.Budget {
			return
		}
		id := fmt.Sprintf("%s-%d", d.name, d.Number+1)
		d.record(RequestedV1{Machine: id, Reason: reason})
		d.Start = append(d.Start, id)
	}
}

// wanted returns the machines that the waiting segments are worth: each should have as much to do as its start takes. A machine
// that has just joined is given time to do what it was started for before another one is started for it.
func (d *decision) wanted() int {
	boot := firstBoot
	if d.Boot > 0 {
		boot = time.Duration(d.Boot * float64(time.Second))
	}
	left := time.Duration(d.Needs) * cmp.Or(d.Work, firstWork)
	for _, id := range d.joined {
		left -= max(0, boot-d.now.Sub(d.Machine(id).JoinedAt))
	}
	if left <= 0 {
		return 0
	}
	return max(1, min(d.Needs, int(math.Ceil(left.Seconds()/max(boot, d.Spec.Wait).Seconds()))))
}

// hourly returns what machines cost in a time, in USD millionths.
func (d *decision) hourly(machines int, within time.Duration) int64 {
	return int64(float64(d.Spec.Price) * float64(machines) * within.Hours())
}

// retryIn returns the time between two starts after failures.
func retryIn(failures int) time.Duration { return min(retryLow<<min(failures-1, 10), retryMost) }

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
