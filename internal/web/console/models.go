package console

import (
	"html/template"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// ModelsPage lists the partner models.
type ModelsPage struct {
	Frame
	Text      string // that is looked for
	Providers []ModelProvider
}

// ModelProvider is a provider with those of its models that are listed.
type ModelProvider struct {
	Name    string
	Enabled bool // the operator has given its credential
	Models  []ListedModel
}

// ListedModel is one line of the list.
type ListedModel struct {
	ID, Title, Price string
}

// Template implements Page.
func (*ModelsPage) Template() string { return "models" }

// ModelPage is a form of a model's inputs, with what a call with them would cost and how programs make the same call.
type ModelPage struct {
	Frame
	ID, Title, Docs string
	Enabled         bool
	Missing         []string // variables that the operator has to set; shown to operators
	CanRun          bool
	Fields          []ModelField // of the inputs that a call needs, and of those that its example has
	More            []ModelField // of the others
	Token           string       // of this form: sent twice, it runs once
	Price           string       // of a call with these inputs
	Problem         string       // why these inputs are refused
	Code            []Snippet
}

// ModelField is one input of a model in a form.
type ModelField struct {
	Name, Help string
	Kind       string // text, long, number, choice or json
	Value      string
	Default    string // what an input that is left out is taken for, "" = not known
	Min, Max   string
	Step       string
	Required   bool
	Choices    []Choice
	Problem    string // why the value is refused
}

// Snippet is a program that makes a call.
type Snippet struct{ Language, Text string }

// Template implements Page.
func (*ModelPage) Template() string { return "model" }

// CallsPage lists calls of models.
type CallsPage struct {
	Frame
	Calls []ListedCall
	Next  template.URL // query of the next page, "" = this is the last
}

// ListedCall is one line of the list.
type ListedCall struct {
	call.Call
	Took  inspect.Millis
	Query template.URL // of the call's page, with "?"; "" = none
}

// Template implements Page.
func (*CallsPage) Template() string { return "calls" }

// CallPage is everything about one call of a model.
type CallPage struct {
	Frame
	Call     call.Call
	Took     inspect.Millis
	Ahead    int64 // calls that wait before it
	Waits    bool
	Cancels  bool // it may be asked to stop
	Failure  string
	Answered bool
	Media    []Medium
	Text     string // of the answer, if it is one
	Cut      bool   // Text is the beginning of it
	Size     int64  // of the answer
	Gone     bool   // the answer is no longer kept
}

// Medium is a picture, a film or a sound in an answer.
type Medium struct {
	Kind    string       // image, video or audio
	Address template.URL // "" = the answer itself is it
}

// StateClass is the class by which a style colours the state of a call.
func (p *CallPage) StateClass() string { return callClass(p.Call.State) }

// StateClass is the class by which a style colours the state of a call.
func (l ListedCall) StateClass() string { return callClass(l.State) }

func callClass(s call.State) string {
	switch s {
	case call.Succeeded:
		return "succeeded"
	case call.Failed, call.Unknown:
		return "failed"
	case call.Canceled:
		return "canceled"
	case call.Waiting:
		return "queued"
	case call.Admitted, call.Dispatching, call.Running, call.Answered:
	}
	return "running"
}

// Dollars writes USD millionths that may be unknown.
func (l ListedCall) Dollars() string { return charged(l.Call) }

// Dollars writes what the call cost.
func (p *CallPage) Dollars() string { return charged(p.Call) }

func charged(c call.Call) string {
	if c.Charged != nil {
		return money(*c.Charged)
	}
	return ""
}

// Sent returns when the call was sent to its provider, the zero time before.
func (p *CallPage) Sent() time.Time {
	if p.Call.SentAt == nil {
		return time.Time{}
	}
	return *p.Call.SentAt
}

// Template implements Page.
func (*CallPage) Template() string { return "call" }
