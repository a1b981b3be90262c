package stream

import (
	"fmt"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Progress is the Progress object of the v2 API's events. Within a job, Value never decreases.
type Progress struct {
	Value            float64 `json:"value"` // 0..1
	NodesDone        int     `json:"nodes_done"`
	NodesTotal       int     `json:"nodes_total"`
	CurrentNode      *string `json:"current_node"`
	CurrentNodeClass *string `json:"current_node_class"`
	Step             *int    `json:"step"`
	Steps            *int    `json:"steps"`
	Message          *string `json:"message"`
	Waiting          *string `json:"waiting,omitempty"` // why the node pauses, such as an outage
}

// Step is the progress within one node.
type Step struct {
	Value, Max int
	Waiting    string // why the node pauses, "" = it runs
}

// ProgressOf returns the progress of a job from its folded state and the known steps of its running nodes. current
// names the node to show, "" = any running node. The progress of a job without a slot is nil.
func ProgressOf(j job.Job, current string, steps map[string]Step) *Progress {
	if j.AdmittedAt == nil {
		return nil
	}
	p := &Progress{NodesDone: j.NodesDone, NodesTotal: max(j.NodesTotal, j.NodesDone)}
	if j.State == job.Succeeded {
		p.NodesDone, p.Value = p.NodesTotal, 1
		return p
	}
	p.showNode(j, current, steps)
	p.Value = fraction(j, steps, p.NodesTotal)
	return p
}

func (p *Progress) showNode(j job.Job, current string, steps map[string]Step) {
	class, runs := j.Running[current]
	if !runs {
		current, class = firstRunning(j.Running)
	}
	if current == "" {
		return
	}
	step := steps[current]
	if caller, inside := j.Calls.Of(current); inside {
		current, class = caller.Node, caller.Class
	}
	message := class
	switch s := step; {
	case s.Waiting != "":
		p.Waiting = &s.Waiting
		message = class + " waits: " + s.Waiting
	case s.Max > 0:
		p.Step, p.Steps = &s.Value, &s.Max
		message = fmt.Sprintf("%s %d/%d", class, s.Value, s.Max)
	}
	p.CurrentNode, p.CurrentNodeClass, p.Message = &current, &class, &message
}

func firstRunning(running map[string]string) (node, class string) {
	ids := make([]string, 0, len(running))
	for id := range running {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return "", ""
	}
	first := slices.Min(ids)
	return first, running[first]
}

// fraction counts a finished node as 1 and a running node by its steps. Only a succeeded job has the fraction 1.
func fraction(j job.Job, steps map[string]Step, total int) float64 {
	const almost = 0.999
	if total == 0 {
		return 0
	}
	done := float64(j.NodesDone)
	for id := range j.Running {
		if s := steps[id]; s.Max > 0 {
			done += float64(s.Value) / float64(s.Max)
		}
	}
	return min(done/float64(total), almost)
}
