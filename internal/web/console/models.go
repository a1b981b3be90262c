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
	Text      string // search text
	Providers []ModelProvider
}

// ModelProvider is a provider and its listed models.
type ModelProvider struct {
	Name    string
	Enabled bool // the operator has set its credential
	Models  []ListedModel
}

// ListedModel is one row of the list.
type ListedModel struct {
	ID, Title, Price string
}

// Template implements Page.
func (*ModelsPage) Template() string { return "models" }

// ModelPage is a form of a model's inputs, with the price of a call and programs that make the same call.
type ModelPage struct {
	Frame
	ID, Title, Docs string
	Enabled         bool
	Missing         []string // variables that the operator must set; shown to operators
	CanRun          bool
	Fields          []ModelField // inputs that a call requires, and inputs of the example
	More            []ModelField // other inputs
	Token           string       // of this form, which runs once even if it is sent twice
	Price           string       // of a call with these inputs
	Problem         string       // why these inputs are refused
	Code            []Snippet
}

// ModelField is one input of a model in a form.
type ModelField struct {
	Name, Help string
	Kind       string // text, long, number, choice or json
	Value      string
	Default    string // default value of the input, or ""
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

// ListedCall is one row of the list.
type ListedCall struct {
	call.Call
	Took  inspect.Millis
	Query template.URL // query of the call's page, with "?", or ""
}

// Template implements Page.
func (*CallsPage) Template() string { return "calls" }

// CallPage contains all data about one call of a model.
type CallPage struct {
	Frame
	Call     call.Call
	Took     inspect.Millis
	Ahead    int64 // waiting calls before this one
	Waits    bool
	Cancels  bool // the call can be canceled
	Failure  string
	Answered bool
	Media    []Medium
	Text     string // text of the answer, if it is a text
	Cut      bool   // Text is only the beginning
	Size     int64  // of the answer
	Gone     bool   // the answer is no longer stored
}

// Medium is a picture, a film or a sound in an answer.
type Medium struct {
	Kind    string       // image, video or audio
	Address template.URL // "" = the answer itself
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

// Dollars formats USD millionths, which may be unknown.
func (l ListedCall) Dollars() string { return charged(l.Call) }

// Dollars formats the cost of the call.
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
