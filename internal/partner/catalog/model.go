// Package catalog holds the partner models that the router can run: their addresses, protocols, inputs, outputs and
// prices, and how long their results are kept. A model is an entry of a YAML file. The package reads entries, reports
// mistakes with file, line and field, and returns immutable snapshots. It makes no calls: internal/partner/provider
// speaks to the providers.
package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Protocol is the form of a conversation with a provider.
type Protocol string

// The protocols.
const (
	Sync       Protocol = "sync"        // one request, one JSON document
	SubmitPoll Protocol = "submit-poll" // a request that returns a handle, followed by status requests
	Bytes      Protocol = "bytes"       // one request, any bytes: audio, an image
)

// Charges is whether a call that is refused on content-policy grounds is charged.
type Charges string

// The values of charges_on_policy_rejection.
const (
	ChargesYes     Charges = "yes"
	ChargesNo      Charges = "no"
	ChargesUnknown Charges = "unknown"
)

// Model is one runnable model. It is immutable; a reload makes new ones.
type Model struct {
	ID       string   // "<provider>/<model>" or "<provider>/<model>/<variant>", the address of the run route
	Provider string   // the first segment of ID
	Name     string   // the second segment of ID
	Aliases  []string // other ids of the model
	Variant  string   // the third segment of ID; a variant is run by its id and in no list; "" = none
	Title    string   // display name
	Docs     string   // the provider's public documentation, an https address
	State    string   // hash of the snapshot to which the model belongs

	Protocol Protocol
	Base     string   // the provider's address, without a trailing slash
	Hosts    []string // patterns of the hosts that may receive the credential, such as "*.bfl.ai"; the base's own host is among them
	Allow    []string // host:port that may be private; only the operator sets it, never an entry
	Auth     Auth
	Settings map[string]string // name in addresses ("{settings.project}") -> environment variable; all must be set

	Submit      Endpoint // the request of a call; Method is POST
	Accepted    Expr     // submit-poll: true when the provider accepted the submission
	Handle      Expr     // submit-poll: the string that later requests need
	Poll        Endpoint // submit-poll: the status request
	Done        Expr     // true when the answer is, or announces, the finished result
	Failed      Expr     // true when the generation ended without a result
	Result      Endpoint // submit-poll: the request for the result; without a URL the last status answer is the result
	Cancel      Endpoint // without a URL the provider cannot cancel
	Encoding    string   // "json" (the body unchanged), "multipart" (each member a form field) or EncodingTasks
	Task        Task     // used with EncodingTasks
	Idempotency string   // header that takes the call's id; "" = the provider has none
	Limits      Limits
	Errors      []ErrorRule
	Message     Expr   // the provider's message in an error answer
	Messages    []Expr // Message and the usual paths of an error message; the first string counts

	Billing     Billing
	Hosting     Hosting
	InputMedia  map[string]string // top-level input field -> form in which a node writes a linked picture: MediaData or MediaBase64
	Node        NodeRule          // the model's node class
	ContentType string            // media type of a bytes answer for the schema document
	Example     json.RawMessage   // an example of a valid body, or nil
	Alternates  []*Alternate      // other servers of the model, in order of preference

	price    pricing
	input    *schema
	output   *schema
	rules    []inputRule
	unpriced []inputRule // fields that the provider takes and the price does not cover
	docs     *documents
}

// Auth describes how a request carries the credential. The credential is read anew for each request.
type Auth struct {
	Kind   string   // "none", "header", "kling-jwt" or "google"
	Header string   // header name
	Scheme string   // word before the credential, such as Bearer; "" = none
	Env    []string // environment variables; all must be set
}

// EncodingTasks is the encoding for providers that take an array of tasks: the body becomes the only element of the
// array.
const EncodingTasks = "tasks"

// Task holds the members of a task that the entry adds to the caller's body.
type Task struct {
	ID      string         // name of the member that holds a UUID of the call; "" = none
	Members map[string]any // constants of the entry
}

// Endpoint is one kind of request to a provider.
type Endpoint struct {
	Method  string
	URL     Template
	Headers map[string]string
	Body    Expr // members of the JSON body of a poll; empty = no body
}

// Limits bound one conversation with a provider.
type Limits struct {
	Answer    time.Duration // from sending a request to the end of its answer
	Stall     time.Duration // longest time without a byte
	Total     time.Duration // from dispatch to the result, including all polls; after this time the provider has timed out
	PollFirst time.Duration // from acceptance to the first status request
	PollEvery time.Duration // between status requests
	Bytes     int64         // longest answer
}

// Billing is the public part of a model's billing. It never includes a price.
type Billing struct {
	ChargesOnPolicyRejection Charges
}

// Hosting selects the files of a result that are copied to the service's own storage.
type Hosting struct {
	Assets   []string      // JSON pointers with * for "every": "/result/sample", "/data/*/url"
	Lifetime time.Duration // lifetime of the links to the copies; 0 = no file is copied
	// Links are pointers to addresses that are passed through unchanged, with the lifetime that the provider
	// states: files that the provider writes to the caller's own storage (Veo's gcsUri).
	Links []string
}

// Hosted reports whether assets of this model's results are copied.
func (m *Model) Hosted() bool { return m.Hosting.Lifetime > 0 && len(m.Hosting.Assets) > 0 }

// ErrorRule classifies an answer that is not a result. The first rule whose When holds applies.
type ErrorRule struct {
	When       Expr
	Type       string // an error_type of the router contract
	Subject    Expr   // refusal_subject; "" = none
	Validation string // JSON pointer to violations in FastAPI's format, which are passed through; "" = none
	Detail     string // sentence for the end user; "" = the default of the type
	Retryable  bool   // the provider did nothing, so another provider may be asked
}

// Enabled reports whether every variable that the model needs is set, according to lookup (os.LookupEnv).
func (m *Model) Enabled(lookup func(string) (string, bool)) bool {
	return len(m.Missing(lookup)) == 0
}

// Variables returns the environment variables that the model needs.
func (m *Model) Variables() []string {
	return append(slices.Collect(maps.Values(m.Settings)), m.Auth.Env...)
}

// Missing returns the sorted names of the environment variables that the model needs and that are not set.
func (m *Model) Missing(lookup func(string) (string, bool)) []string {
	var missing []string
	for _, name := range m.Variables() {
		if value, ok := lookup(name); !ok || value == "" {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// Violation is an error of the input schema at a field of a body, in the format of the router contract (R-54 to
//
type Violation struct {
	Loc   []any           `json:"loc"` // strings and ints, outermost first; begins with "body"
	Msg   string          `json:"msg"`
	Type  string          `json:"type"`
	Ctx   json.RawMessage `json:"ctx,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

// Source is how certain an estimate is.
type Source string

// The sources of an estimate.
const (
	PriceExact     Source = "exact"     // Min equals Max
	PriceEstimated Source = "estimated" // between Min and Max
	PriceUnknown   Source = "unknown"   // Min and Max are 0; Reason is the reason
)

// Estimate is the expected price of a call, in millionths of a US dollar.
type Estimate struct {
	Source   Source
	Min, Max int64
	AsOf     string // date of the price list, "2026-11-01"
	Reason   string // set for PriceUnknown
}
