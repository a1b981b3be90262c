package console

import (
	"html/template"
	"net/url"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
)

// Act is a change that an operator can make. Its form requires a reason.
type Act struct {
	Path    string // path below Base to which the form is sent
	Label   string // in the imperative
	Warning string // consequence of the change
	Hidden  map[string]string
	Fields  []ActField
}

// ActField is a further field of the form: a choice or a text.
type ActField struct {
	Name, Label, Value string
	Required           bool
	Choices            []Choice
}

// Choice is a value that a field may have.
type Choice struct {
	Value, Label string // Label "" = the label is the value
	Chosen       bool
}

// act is an Act with its full path.
type act struct {
	Act
	At string
}

// actAt returns the data of the template of a form.
func actAt(f Frame, a Act) act { return act{a, f.Prefix + f.Base + a.Path} }

// Query returns a query for an address in a page.
func Query(values url.Values) template.URL { return template.URL(values.Encode()) }

// ShownDelivery is a delivery with the name of its account and its last attempt.
type ShownDelivery struct {
	webhook.Delivery
	Name string
	Last *webhook.Try // nil = no attempt yet
	Acts []Act
}

// Chip is a link to another list. Queries of this package are encoded already.
type Chip struct {
	Text    string
	Query   template.URL
	Current bool
}
