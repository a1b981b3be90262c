package job

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/credit"
)

// Event type names of segments, the parts of a graph that run on ComfyUI servers. They are stored.
const (
	TypeSegmentWaiting = "job.segment_waiting.v1"
	TypeSegmentPlaced  = "job.segment_placed.v1"
	TypeSegmentEnded   = "job.segment_ended.v1"
	TypeSlotReleased   = "job.slot_released.v1"
	TypeSlotTaken      = "job.slot_taken.v1"
)

// SegmentWaitingV1 records that a segment waits for a server, and why.
type SegmentWaitingV1 struct {
	Run     int    `json:"run"`
	Segment int    `json:"segment"` // unit of the plan
	Node    string `json:"node"`    // its first node
	Attempt int    `json:"attempt"`
	Reason  string `json:"reason"`
	Slot    bool   `json:"slot,omitempty"` // it waits for a slot of the account; so may nodes that need no server
}

// SlotReleasedV1 records that a job gave its slot back while it waits for a server.
type SlotReleasedV1 struct {
	Run int `json:"run"`
}

// SlotTakenV1 records that a job has a slot again, because a server is free or nodes that need none can run.
type SlotTakenV1 struct {
	Run int `json:"run"`
}

// SegmentPlacedV1 records the server of a segment and the reason for the choice.
type SegmentPlacedV1 struct {
	Run     int      `json:"run"`
	Segment int      `json:"segment"`
	Nodes   []string `json:"nodes"` // the first SegmentNodes nodes
	Count   int      `json:"count"` // number of its nodes
	Attempt int      `json:"attempt"`
	Server  string   `json:"server"` // its id
	URL     string   `json:"url"`
	Prompt  string   `json:"prompt"` // id of the prompt on the server
	Fence   int64    `json:"fence"`
	Reason  string   `json:"reason"`
}

// SegmentNodes bounds the nodes that a SegmentPlacedV1 names.
const SegmentNodes = 50

// SegmentEndedV1 records that an attempt to run a segment on a server ended.
type SegmentEndedV1 struct {
	Run     int    `json:"run"`
	Segment int    `json:"segment"`
	Node    string `json:"node"` // its first node
	Attempt int    `json:"attempt"`
	Server  string `json:"server"`
	URL     string `json:"url"`
	Millis  int64  `json:"millis"`  // during which the server was leased
	Outcome string `json:"outcome"` // one of the Segment… outcomes
	Problem string `json:"problem,omitempty"`
	Cause   Cause  `json:"cause,omitempty"`         // why it was given up
	Ran     string `json:"ran,omitempty"`           // the node that ran when it was given up
	Price   int64  `json:"second_micros,omitempty"` // price of a second on the server, in USD millionths
}

// Cost returns the cost of the attempt in USD millionths, at most most per second. An attempt that was given up is
// free, because another one follows.
func (e SegmentEndedV1) Cost(most int64) int64 {
	if e.Outcome == SegmentGivenUp {
		return 0
	}
	cost := float64(max(e.Millis, 0)) * float64(min(e.Price, most)) / 1000
	return int64(min(cost, float64(credit.MaxAmount)))
}

// The outcomes of a segment on a server.
const (
	SegmentDone     = "done"
	SegmentFailed   = "failed"
	SegmentCanceled = "canceled"
	SegmentGivenUp  = "given_up" // another attempt follows
)

// Cause is the kind of reason for which an attempt to run a segment was given up. Each bounds the attempts in its own way.
type Cause string

// The causes.
const (
	NotBegun      Cause = "not_begun"      // the prompt waited in the server's queue for the node's time limit; no attempt
	ServerLost    Cause = "server_lost"    // the server is away, or has forgotten the prompt
	MachineFailed Cause = "machine_failed" // a disk or a device of the server failed
	NodeHung      Cause = "node_hung"      // a node sent no sign of progress within its time limit
	NoMemory      Cause = "no_memory"
	OutputRefused Cause = "output_refused" // an output has a name that leads out of its folder
	PromptRefused Cause = "prompt_refused"
	FileMissing   Cause = "file_missing" // a file that the server named is not there
	Interrupted   Cause = "interrupted"  // somebody else interrupted the prompt
)

// foldSegment applies an event of a segment: it updates the reasons why the job waits for servers.
func (j *Job) foldSegment(data any) {
	switch e := data.(type) {
	case SegmentWaitingV1:
		if e.Run == j.Run {
			j.Waiting = append(without(j.Waiting, e.Segment), SegmentWait{Segment: e.Segment, Node: e.Node, Reason: e.Reason, Slot: e.Slot})
		}
	case SlotTakenV1:
		j.endSlotWaits(e.Run)
	case SlotReleasedV1: // the server of the segment that waited for a slot is gone again
		j.endSlotWaits(e.Run)
	case SegmentPlacedV1:
		if e.Run == j.Run {
			j.Waiting = without(j.Waiting, e.Segment)
		}
	}
}

func (j *Job) endSlotWaits(run int) {
	if run == j.Run {
		j.Waiting = waitsExcept(j.Waiting, func(w SegmentWait) bool { return w.Slot })
	}
}

// SegmentWait is the reason why a segment waits for a server, or for a slot with which it may run on its server.
type SegmentWait struct {
	Segment int    `json:"segment"`
	Node    string `json:"node"`
	Reason  string `json:"reason"`
	Slot    bool   `json:"slot,omitempty"` // it waits for a slot of the account
}

// without returns a copy without the waits of a segment, or nil if it would be empty.
func without(waits []SegmentWait, segment int) []SegmentWait {
	return waitsExcept(waits, func(w SegmentWait) bool { return w.Segment == segment })
}

func waitsExcept(waits []SegmentWait, remove func(SegmentWait) bool) []SegmentWait {
	left := slices.DeleteFunc(slices.Clone(waits), remove)
	if len(left) == 0 {
		return nil
	}
	return left
}
