// Package catalog holds the partner models the router can run: where each is served, how its
// protocol works, what it takes and gives, what it costs and how long its results stay. A model
// is data (one entry of a YAML file); this package reads entries, refuses wrong ones with their
// file, line and field, and hands out immutable snapshots. It makes no calls: internal/model/provider
// speaks to the providers.
package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Protocol is the shape of a provider's conversation.
type Protocol string

// The protocols.
const (
	Sync       Protocol = "sync"        // one request, one JSON document
	SubmitPoll Protocol = "submit-poll" // a request that returns a handle, then status requests
	Bytes      Protocol = "bytes"       // one request, any bytes: audio, an image
)

// Charges says whether a call refused on content-policy grounds is charged nevertheless.
type Charges string

// The values of charges_on_policy_rejection (checklist R-21).
const (
	ChargesYes     Charges = "yes"
	ChargesNo      Charges = "no"
	ChargesUnknown Charges = "unknown"
)

// Model is one runnable model. It is immutable; a reload makes new ones.
type Model struct {
	ID       string // "<provider>/<model>", the address of the run route
	Provider string // first segment of ID
	Name     string // second segment of ID
	Title    string // for people
	Docs     string // the provider's public documentation, an https address
	State    string // hash of the snapshot that it is part of

	Protocol Protocol
	Base     string   // the provider's address, without a trailing slash
	Hosts    []string // host patterns that may see the credential, "*.bfl.ai"; the base's own host is among them
	Allow    []string // host:port that may be reached although they are not public; set by the operator, never by an entry
	Auth     Auth
	Settings map[string]string // name in addresses ("{settings.project}") -> environment variable, all needed

	Submit      Endpoint // the request of a call; Method is POST
	Accepted    Expr     // submit-poll: was the submission taken?
	Handle      Expr     // submit-poll: what later requests need, a string
	Poll        Endpoint // submit-poll: the status request
	Done        Expr     // the answer at hand is (or announces) the finished result
	Failed      Expr     // the generation ended without a result
	Result      Endpoint // submit-poll: where the result is, when it is not the last status answer; URL empty otherwise
	Cancel      Endpoint // URL empty = the provider cannot cancel
	Encoding    string   // "json" (the body as it came), "multipart" (each member a form field) or EncodingTasks
	Task        Task     // with EncodingTasks
	Idempotency string   // header that carries the call's id, "" = the provider has none
	Limits      Limits
	Errors      []ErrorRule
	Message     Expr   // the provider's own words in an error answer
	Messages    []Expr // Message and where providers usually put them; the first string counts

	Billing     Billing
	Hosting     Hosting
	InputMedia  map[string]string // top-level input field -> what a node writes there for a linked picture: MediaData or MediaBase64
	Node        NodeRule          // how the model looks as a node
	ContentType string            // media type of a bytes answer for the schema document
	Example     json.RawMessage   // a body that works, nil when the entry has none
	Alternates  []*Alternate      // other servers of the model, the preferred one first

	price  pricing
	input  *schema
	output *schema
	rules  []inputRule
	docs   *documents
}

// Auth says where the credential goes. The value itself is read when a request is made and is
// kept nowhere.
type Auth struct {
	Kind   string   // "none", "header", "kling-jwt" or "google"
	Header string   // header name
	Scheme string   // word before the value, such as Bearer; "" = the value alone
	Env    []string // environment variables, all needed
}

// EncodingTasks is the encoding of providers that take an array of tasks: the body goes out as its only one.
const EncodingTasks = "tasks"

// Task is what a task has besides the caller's members.
type Task struct {
	ID      string         // member that holds a UUID of the call, "" = none
	Members map[string]any // constants
}

// Endpoint is one kind of request to a provider.
type Endpoint struct {
	Method  string
	URL     Template
	Headers map[string]string
	Body    Expr // JSON body of a poll; empty = none
}

// Limits bound one conversation.
type Limits struct {
	Answer    time.Duration // from sending a request to the end of its answer
	Stall     time.Duration // without a byte
	Total     time.Duration // from dispatch to the result, over all polls: after it the provider timed out
	PollFirst time.Duration // from acceptance to the first status request
	PollEvery time.Duration // between status requests
	Bytes     int64         // of the answer
}

// Billing is the public billing fact of a model (checklist: never a price).
type Billing struct {
	ChargesOnPolicyRejection Charges
}

// Hosting says which parts of a result are copied to our own storage (checklist ).
type Hosting struct {
	Assets   []string      // JSON pointers with * for "every": "/result/sample", "/data/*/url"
	Lifetime time.Duration // of the URLs we give out, from signing; 0 = nothing is hosted
	// Links are pointers to what stays the provider's though it is an address: a direct write to
	// storage (Veo's gcsUri), passed through with the lifetime the provider states.
	Links []string
}

// Hosted reports whether assets of this model's results are copied.
func (m *Model) Hosted() bool { return m.Hosting.Lifetime > 0 && len(m.Hosting.Assets) > 0 }

// ErrorRule maps an answer that is no result. The first rule whose When holds decides.
type ErrorRule struct {
	When       Expr
	Type       string // an error_type of the router contract
	Subject    Expr   // refusal_subject, "" = none
	Validation string // JSON pointer to FastAPI-like violations in the answer, passed through; "" = none
	Detail     string // sentence for the end user; "" = the type's own
	Retryable  bool   // the provider says that it did nothing: the same request may be sent again
}

// Enabled reports whether the model's credential is present in the environment that lookup
// reads (os.LookupEnv).
func (m *Model) Enabled(lookup func(string) (string, bool)) bool {
	return len(m.Missing(lookup)) == 0
}

// Missing returns the environment variables that the model needs and that are not set, sorted.
func (m *Model) Missing(lookup func(string) (string, bool)) []string {
	var missing []string
	for _, name := range append(slices.Collect(maps.Values(m.Settings)), m.Auth.Env...) {
		if value, ok := lookup(name); !ok || value == "" {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// Violation is one field of a body that the input schema refuses, in the validation shape of the
// router contract (checklist ).
type Violation struct {
	Loc   []any           `json:"loc"` // strings and ints, outermost first, begins with "body"
	Msg   string          `json:"msg"`
	Type  string          `json:"type"`
	Ctx   json.RawMessage `json:"ctx,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

// Source says how sure an estimate is.
type Source string

// The sources of an estimate.
const (
	PriceExact     Source = "exact"     // Min equals Max
	PriceEstimated Source = "estimated" // between Min and Max
	PriceUnknown   Source = "unknown"   // Min and Max are 0; Reason says why
)

// Estimate is what a call will cost, in millionths of a US dollar.
type Estimate struct {
	Source   Source
	Min, Max int64
	AsOf     string // date of the price list, "2026-11-01"
	Reason   string // of PriceUnknown
}
