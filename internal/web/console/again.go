package console

import "github.com/millrace-dev/millrace/internal/domain/job"

// AgainPage is a form of the inputs of a job, to run it with others.
type AgainPage struct {
	Frame
	Of    job.PublicID
	Nodes []FormNode
}

// Template implements Page.
func (*AgainPage) Template() string { return "again" }

// FormNode is a node with inputs that are values.
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

// Segments returns the parts on an axis, one after the other.
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

// RunPage takes a workflow, and shows the inputs of the one that it was given.
type RunPage struct {
	Frame
	Prompt string // "" = none was given yet
	Nodes  []FormNode
	Loads  bool // the graph loads a picture
}

// Template implements Page.
func (*RunPage) Template() string { return "run" }
