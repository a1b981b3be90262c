package job

import (
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Fold applies one recorded event of the job's stream to the state before it and returns the state after it. It never
// fails on a decoded event: events of an earlier run, and unknown event types, only move the version. An event at or
// below the folded version changes nothing, so a repeated delivery is harmless.
func Fold(before Job, rec eventlog.Recorded, data any) Job {
	if rec.Version <= before.Version {
		return before
	}
	after := before
	after.Version, after.Position = rec.Version, rec.Position
	at := rec.RecordedAt.UTC()
	if !before.State.Final() {
		after.UpdatedAt = at
		after.apply(rec, data, at)
	}
	return after
}

func (j *Job) apply(rec eventlog.Recorded, data any, at time.Time) {
	switch e := j.Calls.Place(data).(type) {
	case SubmittedV1:
		j.submitted(rec, e, at)
	case AdmittedV1:
		j.State, j.Run, j.AdmittedAt = Running, e.Run, &at
	case StartedV1:
		if e.Run == j.Run {
			j.StartedAt, j.NodesTotal, j.Execution = &at, e.NodesTotal, e.Execution
		}
	case RequeuedV1:
		if e.Run == j.Run {
			j.Execution = "" // another execution may begin the run; recorded events do not change
		}
	case NodesCachedV1:
		if e.Run == j.Run {
			j.NodesDone += len(e.Nodes)
			if e.More {
				e.Nodes = append(slices.Clip(j.Cached), e.Nodes...)
			}
			j.Cached = e.Nodes
		}
	case SegmentWaitingV1, SegmentPlacedV1, SlotReleasedV1, SlotTakenV1:
		j.foldSegment(e)
	case NodeStartedV1, NodeExecutedV1, NodeFailedV1:
		j.foldNode(e)
	case CancelRequestedV1:
		j.State = Canceling
	case SucceededV1:
		j.end(Succeeded, at)
	case FailedV1:
		j.Error = &e.Failure
		j.end(Failed, at)
	case CanceledV1:
		j.Interrupted = e.At
		j.end(Canceled, at)
	case ExpiredV1:
		j.end(Expired, at)
	}
}

func (j *Job) submitted(rec eventlog.Recorded, e SubmittedV1, at time.Time) {
	id, _ := IDOfStream(rec.Stream)
	j.ID, j.Chosen, j.Account, j.State = id, e.PublicID, rec.Account, Queued
	j.Number, j.Surface, j.ClientID = e.Number, e.Surface, e.ClientID
	j.Targets, j.NodesTotal = e.Targets, e.NodesTotal
	j.Metadata, j.Origin, j.WorkflowID, j.SubmittedAt = e.Metadata, e.Origin, e.WorkflowID, at
	j.Deployment, j.Calls, j.InTurn = e.Deployment, e.Calls, e.InTurn
}

// foldNode applies an event of a node. It changes copies, so that the state before stays valid.
func (j *Job) foldNode(data any) {
	running := make(map[string]string, len(j.Running)+1)
	for id, class := range j.Running {
		running[id] = class
	}
	switch e := data.(type) {
	case NodeStartedV1:
		// A node whose end is recorded may run again, if its values were lost with its worker's memory. No second
		// end is recorded, so it would be listed as running until the job ends.
		if e.Run == j.Run && (e.Attempt < 2 || !slices.Contains(j.Executed, e.Node)) {
			running[e.Node] = e.Class
		}
	case NodeExecutedV1:
		if e.Run == j.Run {
			delete(running, e.Node)
			j.executed(e)
		}
	case NodeFailedV1:
		delete(running, e.Failure.Node)
		delete(running, e.Inner)
	}
	j.Running = running
}

func (j *Job) executed(e NodeExecutedV1) {
	if !e.Cached && !slices.Contains(j.Executed, e.Node) {
		j.Executed = append(slices.Clip(j.Executed), e.Node)
		if e.Within == nil || e.Within.Counts {
			j.NodesDone++
		}
	}
	if out, ok := e.Output(); ok {
		j.Outputs = append(slices.Clip(j.Outputs), out)
	}
}

// Output returns the UI output of the node, if it has one.
func (e NodeExecutedV1) Output() (out NodeOutput, ok bool) {
	out = NodeOutput{UI: e.UI, Files: e.Files, Within: e.Within, Reused: e.Cached && e.Within != nil}
	out.Node, out.Class = e.Within.Shown(e.Node, e.Class)
	return out, len(e.UI) > 0
}

func (j *Job) end(s State, at time.Time) {
	j.State, j.EndedAt, j.Running, j.Waiting = s, &at, nil, nil
}
