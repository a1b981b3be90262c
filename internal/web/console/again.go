package console

import "github.com/millrace-dev/millrace/internal/domain/job"

// AgainPage is a form of a job's inputs, to run the job again with changes.
type AgainPage struct {
	Frame
	Of    job.PublicID
	Nodes []FormNode
}

// Template implements Page.
func (*AgainPage) Template() string { return "again" }

// FormNode is a node with its inputs that have values.
type FormNode struct {
	ID, Class, Title string
	Inputs           []FormInput
}

// FormInput is an input of a node in a form.
type FormInput struct {
	Name, Label, Value string
	Long               bool
}

// TimeSegment is a part of a job's time on an axis of a thousand.
type TimeSegment struct {
	Part
	X, Width int64
}

// Segments returns the parts of the job's time on an axis, one after the other.
func (p *JobPage) Segments() []TimeSegment {
	var sum, x int64
	for _, part := range p.Parts {
		sum += int64(part.Took)
	}
	var out []TimeSegment
	for _, part := range p.Parts {
		width := 1000 * int64(part.Took) / max(sum, 1)
		out = append(out, TimeSegment{part, x, width})
		x += width
	}
	return out
}

// RunPage accepts a workflow, and shows its inputs as a form.
type RunPage struct {
	Frame
	Prompt string // the given graph, "" = none yet
	Nodes  []FormNode
	Loads  bool // the graph loads a picture
}

// Template implements Page.
func (*RunPage) Template() string { return "run" }
