// Package models serves the pages of the partner models: the list, a form for each model that is made from its input
// schema, and the calls of the account. It promises that a form that is sent twice runs once, and that the price is
// shown before a call runs. Package call accepts the calls, as for the model router.
package models

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/form"
	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	apirouter "github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/router"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/calls"
)

// ModelsPage lists the partner models.
type ModelsPage struct {
	console.Frame
	Text      string         // search text
	Kind      catalog.Kind   // "" = all
	Kinds     []console.Chip // of the models that the visitor may use
	Providers []ModelProvider
}

// ModelProvider is a provider and its listed models.
type ModelProvider struct {
	Name    string
	Enabled bool     // the operator has set its credential
	Missing []string // variables that the operator must set; shown to operators
	Models  []ListedModel
}

// ListedModel is one row of the list.
type ListedModel struct {
	ID, Title, Price string
	Kind             catalog.Kind
}

// ModelPage is a form of a model's inputs, with the price of a call and programs that make the same call.
type ModelPage struct {
	console.Frame
	ID, Title, Docs string
	Kind            catalog.Kind
	Enabled         bool
	Missing         []string // variables that the operator must set; shown to operators
	CanRun          bool
	Fields          []*form.Field // inputs that a call requires, and inputs of the example
	More            []*form.Field // other inputs
	Token           string        // of this form, which runs once even if it is sent twice
	Price           string        // of a call with these inputs
	Problem         string        // why these inputs are refused
	Code            []form.Snippet
	Result          *Outcome // of the call that the address names, or of the last one; may be nil
	Last            bool     // Result is of the last one
}

// Record reads single calls from the log; callstore.Store implements it.
type Record interface {
	// Load returns a call of an account. An unknown call and a call of another account are NotFound.
	Load(ctx context.Context, account string, id call.ID) (call.Call, error)
	// Key returns the call that used a key, or false if the key is free.
	Key(ctx context.Context, account, key string) (call.KeyRecord, bool, error)
	// Ahead returns the number of waiting calls of the account before the given one.
	Ahead(ctx context.Context, account string, id call.ID) (int64, error)
}

// History reads the calls of accounts, with their inputs and answers.
type History struct {
	Record  Record
	Listing *calls.Reader
	Bodies  blob.Store // of their inputs and answers
}

// Deps are the dependencies of the pages.
type Deps struct {
	Models *router.Offers
	Calls  apirouter.Calls
	History
	Off        bool // no account may use the router
	NoFallback bool // a call never falls back to another server
}

// Templates are the templates of the pages of this package, and the files that they refer to.
//
//go:embed *.html *.js
var Templates embed.FS

// Section serves the pages.
type Section struct {
	Deps
	page *page.Server
}

// New returns the section and adds its pages to the navigation.
func New(p *page.Server, deps Deps) *Section {
	p.AddTemplates(Templates)
	p.AddLinks(console.NavLink{
		Path: "/models", Title: "Models", Group: console.Create, Icon: "M8 1.5l6 3.2v6.6l-6 3.2-6-3.2V4.7zM2 4.7l6 3.3 6-3.3M8 8v6.5",
	})
	return &Section{Deps: deps, page: p}
}

// maxForm bounds the inputs of a model in a form, in bytes. Pictures in a form are base64.
const maxForm = 16 << 20

// Routes returns the routes of the pages and of their forms.
func (r *Section) Routes() []edge.Route {
	routes := []edge.Route{
		r.page.Page("/models", page.Read, r.list),
		r.page.Page("/calls", page.Read, r.calls),
		r.page.Page("/calls/:id", page.ReadOne, page.Of(r.findCall, r.call)),
		r.page.File("/calls/:id/answer", page.ReadOne, r.downloadAnswer),
		r.page.Form("/calls/:id/cancel", page.Write, page.Of(r.findCall, r.cancel)),
	}
	for _, path := range []string{"/models/:provider/:model", "/models/:provider/:model/:variant"} {
		price := r.page.Answer(path+"/price", page.Read, r.price)
		price.Limit = maxForm
		routes = append(routes, price, r.page.Page(path, page.Read, page.Of(r.find, r.model)),
			r.page.LargeForm(path+"/run", page.Write, maxForm, r.run))
	}
	return routes
}

// list lists the models that the visitor may use, by provider: GET /console/models.
func (r *Section) list(c *gin.Context, v page.Visitor) (console.Page, error) {
	if err := r.enabled(v); err != nil {
		return nil, err
	}
	shown := &ModelsPage{
		Frame: console.Frame{Title: "Models"}, Text: strings.TrimSpace(c.Query("q")), Kind: catalog.Kind(c.Query("kind")),
	}
	kinds := map[catalog.Kind]bool{}
	for _, m := range r.Models.Snapshot().Models() {
		if !v.Access.Allows(m.ID) || m.Variant != "" {
			continue
		}
		kinds[m.Kind()] = true
		if !named(m, shown.Text) || shown.Kind != "" && shown.Kind != m.Kind() {
			continue
		}
		n := len(shown.Providers)
		if n == 0 || shown.Providers[n-1].Name != m.Provider {
			shown.Providers = append(shown.Providers, ModelProvider{Name: m.Provider})
			n++
		}
		p := &shown.Providers[n-1]
		p.Enabled = p.Enabled || r.Models.Runnable(m)
		if v.Operator && p.Missing == nil {
			p.Missing = r.Models.Missing(m)
		}
		p.Models = append(p.Models, ListedModel{ID: m.ID, Title: m.Title, Price: describePrice(m.Price(m.Example)), Kind: m.Kind()})
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		query := url.Values{"kind": {string(kind)}}
		if shown.Text != "" {
			query.Set("q", shown.Text)
		}
		shown.Kinds = append(shown.Kinds, console.Chip{Text: string(kind), Query: v.Query(query), Current: kind == shown.Kind})
	}
	slices.SortStableFunc(shown.Providers, func(a, b ModelProvider) int { // models that can run come first
		switch {
		case a.Enabled == b.Enabled:
			return 0
		case a.Enabled:
			return -1
		}
		return 1
	})
	return shown, nil
}

// named reports whether the id or the title of a model contains a text.
func named(m *catalog.Model, text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(m.ID, text) || strings.Contains(strings.ToLower(m.Title), text)
}

// enabled refuses accounts that may not use the router.
func (r *Section) enabled(v page.Visitor) error {
	if r.Off || v.Access.Off {
		return fault.New(fault.Denied, fault.CodeForbidden, "The model router is not enabled for this account.")
	}
	return nil
}

func modelID(c *gin.Context) string {
	id := c.Param("provider") + "/" + c.Param("model")
	if variant := c.Param("variant"); variant != "" {
		id += "/" + variant
	}
	return id
}

// find returns the model that the path names.
func (r *Section) find(c *gin.Context, v page.Visitor) (*catalog.Model, error) {
	if err := r.enabled(v); err != nil {
		return nil, err
	}
	m, err := r.Models.FindAny(modelID(c), v.Access)
	return m, public(err)
}

// model shows the form of a model with its example, and the last result of the account. With ?call=ID, it shows the inputs and the
// result of that call: GET /console/models/{provider}/{model}.
func (r *Section) model(c *gin.Context, v page.Visitor, m *catalog.Model) (console.Page, error) {
	ctx := c.Request.Context()
	one, named, err := r.shownCall(ctx, v, m, c.Query("call"))
	if err != nil {
		return nil, err
	}
	body := m.Example
	if named {
		if body, err = r.inputs(ctx, one); err != nil {
			return nil, err
		}
	}
	f, err := formOf(m)
	if err != nil {
		return nil, err
	}
	if err := f.Fill(body); err != nil {
		return nil, err
	}
	shown, err := r.formPage(c, v, m, f, body)
	if err != nil || one.ID == "" {
		return shown, err
	}
	if shown.Live = one.EndedAt == nil; shown.Live {
		shown.Every = refreshEvery
	}
	shown.Last = !named
	shown.Result, err = r.outcome(ctx, one)
	return shown, err
}

// shownCall returns the call with an id, or the last one of the account that succeeded. Without any, its id is empty.
func (r *Section) shownCall(ctx context.Context, v page.Visitor, m *catalog.Model, id string) (one call.Call, named bool, err error) {
	if id != "" {
		parsed, err := call.ParseID(id)
		if err != nil {
			return one, true, noCall()
		}
		one, err = r.Record.Load(ctx, v.Account, parsed)
		if fault.Is(err, fault.NotFound) || err == nil && one.Model != m.ID {
			err = noCall()
		}
		return one, true, err
	}
	if v.All() {
		return one, false, nil
	}
	last, err := r.Listing.List(ctx, calls.Query{Account: v.Account, Model: m.ID, States: []call.State{call.Succeeded}, Limit: 1})
	if err == nil && len(last.Calls) > 0 && !expired(last.Calls[0]) {
		one = last.Calls[0]
	}
	return one, false, err
}

// formPage returns the page of a form. body is the input that the form makes, or nil if its values are wrong.
func (r *Section) formPage(c *gin.Context, v page.Visitor, m *catalog.Model, f *form.Form, body json.RawMessage) (*ModelPage, error) {
	shown := &ModelPage{
		Frame: console.Frame{Title: m.ID, Scripts: []string{"models.js"}}, ID: m.ID, Title: m.Title, Docs: m.Docs, Kind: m.Kind(),
		Enabled: r.Models.Runnable(m), Token: rand.Text(),
	}
	shown.CanRun = shown.Enabled && v.Allows(account.ScopeWrite) && !v.All()
	if v.Operator {
		shown.Missing = r.Models.Missing(m)
	}
	if body != nil {
		shown.Code = form.Snippets(r.page.Edge.BaseURL(c.Request)+"/v2/models/"+m.ID, body, r.page.Edge.Mode() != account.ModeNone)
		var err error
		if shown.Price, shown.Problem, err = r.priceOf(c, v, m, f, body); err != nil {
			return nil, err
		}
	}
	shown.Fields, shown.More = f.Shown()
	return shown, nil
}

// priceOf returns the price of a call, or why the call would be refused.
func (r *Section) priceOf(c *gin.Context, v page.Visitor, m *catalog.Model, f *form.Form,
	body json.RawMessage,
) (price, problem string, err error) {
	if !r.Models.Runnable(m) {
		return describePrice(m.Price(body)), "", nil
	}
	offer, err := r.Models.Offer(c.Request.Context(), r.invocation(c, v, m, body))
	var refused *call.Refusal
	switch {
	case errors.As(err, &refused) && refused.Kind == fault.Invalid:
		return "", refuse(f, refused), nil
	case err != nil:
		return "", "", public(err)
	case offer.Unpriced:
		return "at most $" + amount.Dollars(offer.Reserve) + ": the price list does not cover these inputs, so this amount is reserved", "", nil
	}
	return describePrice(m.Price(body)), "", nil
}

// describePrice renders a price for people.
func describePrice(e catalog.Estimate) string {
	switch {
	case e.Source == catalog.PriceUnknown:
		return "not known before the call: " + e.Reason
	case e.Min == e.Max:
		return "$" + amount.Dollars(e.Max)
	}
	return "$" + amount.Dollars(e.Min) + " to $" + amount.Dollars(e.Max)
}

// submittedForm returns the form of the model that the path names, filled with the values that were sent, and the body that
// they form, or nil if a value is wrong.
func (r *Section) submittedForm(c *gin.Context, v page.Visitor) (*catalog.Model, *form.Form, json.RawMessage, error) {
	m, err := r.find(c, v)
	if err != nil {
		return nil, nil, nil, err
	}
	f, err := formOf(m)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := c.Request.ParseForm(); err != nil {
		return nil, nil, nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest,
			"The form cannot be read: its inputs may have at most %d MiB.", maxForm>>20)
	}
	body, err := f.Read(c.Request.PostForm)
	return m, f, body, err
}

// price shows the form with the values that were sent, the price, and programs that make the same call: POST
// /console/models/{provider}/{model}/price. It runs no call.
func (r *Section) price(c *gin.Context, v page.Visitor) (console.Page, error) {
	m, f, body, err := r.submittedForm(c, v)
	if err != nil {
		return nil, err
	}
	shown, err := r.formPage(c, v, m, f, body)
	if err != nil {
		return nil, err
	}
	if token := c.PostForm("token"); token != "" && len(token) <= maxToken {
		shown.Token = token
	}
	if body == nil {
		shown.Problem = "Some values do not have the type that the model accepts."
	}
	return shown, nil
}

// maxToken bounds the token of a form, in bytes.
const maxToken = 64

// run queues a call with the values of the form: POST /console/models/{provider}/{model}/run.
func (r *Section) run(c *gin.Context, v page.Visitor) (string, error) {
	m, f, body, err := r.submittedForm(c, v)
	if err != nil {
		return "", err
	}
	if body == nil {
		return "", fault.New(fault.Invalid, fault.CodeInvalidRequest, "%s", f.Problem())
	}
	if err := r.page.Edge.CheckSpace(c, v.Account); err != nil {
		return "", err
	}
	inv := r.invocation(c, v, m, body)
	if token := c.PostForm("token"); token != "" && len(token) <= maxToken { // a form that is sent twice has the same key
		sum := sha256.Sum256(append([]byte(token+"\x00"), body...))
		inv.Key = "console-" + hex.EncodeToString(sum[:16])
	}
	queued, err := r.Calls.Enqueue(c.Request.Context(), inv)
	if err != nil {
		return "", public(err)
	}
	return "/models/" + m.ID + "?call=" + string(queued.Call), nil
}

func (r *Section) invocation(c *gin.Context, v page.Visitor, m *catalog.Model, body json.RawMessage) call.Invocation {
	return call.Invocation{
		Account: v.Account, Access: v.Access, RequestID: edge.RequestID(c), Method: http.MethodPost, Target: "/v2/models/" + m.ID + "/requests",
		Model: m.ID, API: call.V2, Options: call.Options{Fallback: !r.NoFallback}, BaseURL: r.page.Edge.BaseURL(c.Request),
		ContentType: "application/json", Body: body, OnStored: func() {},
	}
}

// public returns the error that a page shows for a refusal of the router.
func public(err error) error {
	var r *call.Refusal
	if !errors.As(err, &r) {
		return err
	}
	detail := r.Detail
	if words := violations(r); len(words) > 0 {
		detail = strings.Join(words, " ")
	}
	shown := fault.Wrap(err, r.Kind, r.Code, "%s", refusalText(detail))
	if r.RetryAfter > 0 {
		shown = shown.WithRetryAfter(time.Duration(r.RetryAfter) * time.Second)
	}
	return shown
}

// refusalText makes a sentence of the detail of a refusal.
func refusalText(detail string) string { return page.Sentence(cmp.Or(detail, "the call is refused")) }

// formOf returns the form of a model's inputs.
func formOf(m *catalog.Model) (*form.Form, error) {
	f, err := form.Of(m.InputSchema(), "The input of the model, a JSON object. The documentation of the provider describes it.")
	if err != nil {
		return nil, fmt.Errorf("make the form of %s: %w", m.ID, err)
	}
	return f, nil
}
