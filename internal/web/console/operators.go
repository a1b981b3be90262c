package console

import (
	"html/template"
	"net/url"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
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

// QueuesPage shows the state of every queue.
type QueuesPage struct {
	Frame
	Queues []Queue
	Search Search
}

// Queue is a queue with the name of its account and its possible changes.
type Queue struct {
	gate.State
	Name string
	Acts []Act
}

// Template implements Page.
func (*QueuesPage) Template() string { return "queues" }

// ViewsPage shows the progress of every view.
type ViewsPage struct {
	Frame
	Views []ShownView
}

// ShownView is a view with its halted streams and its possible changes.
type ShownView struct {
	Name             string
	Position, Behind int64 // in the log
	Streams          []HaltedStream
	Acts             []Act
}

// HaltedStream is a stream that a view could not fold, with the error.
type HaltedStream struct {
	Stream   string
	Position int64
	Error    string
	Acts     []Act
}

// Template implements Page.
func (*ViewsPage) Template() string { return "views" }

// CheckedPage shows how a view differs from a new fold of the log.
type CheckedPage struct {
	Frame
	View, Found string
}

// Template implements Page.
func (*CheckedPage) Template() string { return "checked" }

// AccountsPage lists the accounts.
type AccountsPage struct {
	Frame
	Accounts []account.Account
	Search   Search
	Create   Act
}

// Search is what the rows of a page were looked for by.
type Search struct {
	Text string
	All  int          // rows in all
	Next template.URL // query of the next page, "" = this is the last
}

// Template implements Page.
func (*AccountsPage) Template() string { return "accounts" }

// AccountPage shows an account.
type AccountPage struct {
	Frame
	Of      account.Account
	Balance credit.Balance
	Kept    account.Storage
	Keys    []ShownKey
	Acts    []Act
}

// ShownKey is a key of an account, without its secret.
type ShownKey struct {
	account.Key
	Acts []Act
}

// Template implements Page.
func (*AccountPage) Template() string { return "account" }

// NewKeyPage shows the secret of a new key, once.
type NewKeyPage struct {
	Frame
	Of     string // id of the account
	Key    account.Key
	Secret string
}

// Template implements Page.
func (*NewKeyPage) Template() string { return "newkey" }

// DeliveriesPage lists deliveries of webhooks in one state.
type DeliveriesPage struct {
	Frame
	Status     webhook.State
	States     []webhook.State
	Deliveries []ShownDelivery
	Next       template.URL // query of the next page, "" = this is the last
}

// ShownDelivery is a delivery with the name of its account and its last attempt.
type ShownDelivery struct {
	webhook.Delivery
	Name string
	Last *webhook.Try // nil = no attempt yet
	Acts []Act
}

// Template implements Page.
func (*DeliveriesPage) Template() string { return "deliveries" }

// DoctorPage shows what the doctor has found.
type DoctorPage struct {
	Frame
	Checks            []Finding
	At                time.Time // of the examination
	Failing, Warnings int
}

// Finding is the result of one check of the doctor.
type Finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warn or fail
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// Template implements Page.
func (*DoctorPage) Template() string { return "doctor" }
