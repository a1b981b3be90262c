// Package own serves the pages of an account's assets, webhooks, keys, usage and credit. It promises that an account
// sees and changes only its own data, that a key cannot give away a right that it lacks, and that a secret is shown
// once. The services behind the API make the changes.
package own

import (
	"embed"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	apiassets "github.com/millrace-dev/millrace/api/assets"
	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/console/thumbs"
	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/edge"
	apiwebhooks "github.com/millrace-dev/millrace/api/webhooks"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/serverusage"
	"github.com/millrace-dev/millrace/projections/usage"
)

// SecretPage shows a secret, once.
type SecretPage struct {
	console.Frame
	What, Secret    string
	Back, BackWords string // path below Base of the next page
}

// Deps are the dependencies of the pages.
type Deps struct {
	Assets     apiassets.AssetReader
	Deleter    apiassets.Assets
	Files      content.Store
	Endpoints  apiwebhooks.Commands
	Deliveries apiwebhooks.DeliveryReader
	Accounts   *accounts.Service
	Usage      *usage.Reader
	Servers    *serverusage.Reader
}

// Templates are the templates of the pages of this package, and the files that they refer to.
//
//go:embed *.html
var Templates embed.FS

// Section serves the pages.
type Section struct {
	Deps
	page   *page.Server
	thumbs *thumbs.Thumbs
}

// New returns the section and adds its pages to the navigation. Without accounts there is no page of keys.
func New(p *page.Server, small *thumbs.Thumbs, deps Deps) *Section {
	p.AddTemplates(Templates)
	r := &Section{Deps: deps, page: p, thumbs: small}
	p.AddLinks(
		console.NavLink{Path: "/assets", Title: "Files", Icon: "M4 1.5h5l3 3v10H4zM9 1.5v3h3", Account: true},
		console.NavLink{Path: "/webhooks", Title: "Webhooks", Group: console.Mine, Icon: "M2 8h7M6 4l4 4-4 4M13 3v10", Account: true},
	)
	if r.keyed() {
		p.AddLinks(console.NavLink{
			Path: "/keys", Title: "Keys", Group: console.Mine, Account: true,
			Icon: "M5.5 10.5a3 3 0 1 1 2.2-5.1L14 5.5v3h-2v2h-2V9H8.3a3 3 0 0 1-2.8 1.5z",
		})
	}
	p.AddLinks(console.NavLink{
		Path: "/usage", Title: "Usage", Group: console.Mine, Icon: "M8 1.5a6.5 6.5 0 1 0 6.5 6.5H8z", Account: true,
	})
	return r
}

// keyed reports whether accounts of this service have keys.
func (r *Section) keyed() bool { return r.page.Edge.Mode() == account.ModeKeys }

// Routes returns the routes of the pages and of their forms.
func (r *Section) Routes() []edge.Route {
	routes := []edge.Route{
		r.page.Page("/assets", page.ReadOne, r.assets),
		r.page.Page("/assets/:id", page.ReadOne, page.Of(r.find, r.asset)),
		r.page.File("/assets/:id/file", page.ReadOne, r.file),
		r.page.File("/assets/:id/thumb", page.ReadOne, r.thumb),
		r.page.Form("/assets/:id/delete", page.Write, r.deleteAsset),
		r.page.Page("/webhooks", page.ReadOne, r.webhooks),
		r.page.Answer("/webhooks", page.Write, r.register),
		r.page.Page("/webhooks/:id", page.ReadOne, page.Of(r.endpoint, r.webhook)),
		r.page.Form("/webhooks/:id/:change", page.Write, r.changeWebhook),
		r.page.Page("/usage", page.ReadOne, r.usage),
	}
	if r.keyed() {
		routes = append(routes,
			r.page.Page("/keys", page.ReadOne, r.keys),
			r.page.Answer("/keys", page.Write, r.issueKey),
			r.page.Form("/keys/revoke", page.Write, r.revokeKey))
	}
	return routes
}

// changes reports whether the visitor may change data of the account.
func changes(v page.Visitor) bool { return v.Allows(account.ScopeWrite) && !v.ByToken() }

// keeps reports whether the visitor may make changes that outlast a session.
func keeps(v page.Visitor) bool { return changes(v) && lasting(v) == nil }

// lasting refuses changes of operators, and changes that would outlast the session of a person: whoever leaves a group must
// not keep a key or an endpoint.
func lasting(v page.Visitor) error {
	if v.Person() != "" && !v.ByToken() {
		return fault.New(fault.Denied, fault.CodeForbidden,
			"Keys and webhooks outlast your session. Ask an operator for them, or sign in with a key.")
	}
	return owner(v)
}

// owner refuses changes by operators, which need a reason and have pages of their own.
func owner(v page.Visitor) error {
	if v.ByToken() {
		return fault.New(fault.Denied, fault.CodeForbidden,
			"Only the account can make this change. Operators use the pages of accounts and deliveries.")
	}
	return nil
}

// KeysPage lists the keys of an account.
type KeysPage struct {
	console.Frame
	Keys      []OwnKey
	CanChange bool
}

// OwnKey is a key of the visitor's account.
type OwnKey struct {
	account.Key
	Used bool // this browser signed in with the key
}

// keys lists the account's keys, without their secrets: GET /console/keys.
func (r *Section) keys(c *gin.Context, v page.Visitor) (console.Page, error) {
	all, err := r.Accounts.Keys(c.Request.Context(), v.Account)
	if err != nil {
		return nil, err
	}
	shown := &KeysPage{Frame: console.Frame{Title: "Keys"}, CanChange: keeps(v)}
	for _, k := range all {
		shown.Keys = append(shown.Keys, OwnKey{Key: k, Used: strings.HasPrefix(v.Key(), k.Prefix) && k.Prefix != ""})
	}
	return shown, nil
}

func attribution(c *gin.Context, v page.Visitor) operate.Attribution {
	return operate.Attribution{Actor: v.Actor(), Reason: "on the page of keys", RequestID: edge.RequestID(c)}
}

// issueKey makes a key and shows its secret, once: POST /console/keys.
func (r *Section) issueKey(c *gin.Context, v page.Visitor) (console.Page, error) {
	if err := lasting(v); err != nil {
		return nil, err
	}
	var scopes []account.Scope
	for part := range strings.SplitSeq(c.PostForm("scope"), ",") {
		scope, err := account.ParseScope(part)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
		}
		if !v.Allows(scope) {
			return nil, fault.New(fault.Denied, fault.CodeForbidden, "You cannot give a new key a right that your own key does not have.")
		}
		scopes = append(scopes, scope)
	}
	issued, err := r.Accounts.IssueKey(c.Request.Context(), v.Account, scopes, attribution(c, v))
	if err != nil {
		return nil, err
	}
	return &SecretPage{
		Frame: console.Frame{Title: "New key"}, What: "The key that begins with " + issued.Key.Prefix, Secret: issued.Secret, Back: "/keys",
		BackWords: "all keys",
	}, nil
}

// revokeKey revokes a key of the account: POST /console/keys/revoke.
func (r *Section) revokeKey(c *gin.Context, v page.Visitor) (string, error) {
	if err := lasting(v); err != nil {
		return "", err
	}
	return "/keys", r.Accounts.RevokeKey(c.Request.Context(), v.Account, c.PostForm("key"), attribution(c, v))
}

// UsagePage shows the usage and the limits of an account.
type UsagePage struct {
	console.Frame
	Days           int // days that the page covers
	Balance        credit.Balance
	Kept           account.Storage
	Calls, Charged int64
	Lines          []UsedModel
	Omitted        int // rows that are not shown

	Machines serverusage.Day // its time on ComfyUI servers, added up
}

// UsedModel is the usage of a model on a day.
type UsedModel struct{ usage.Day }

// Other returns the number of calls that did not succeed.
func (m UsedModel) Other() int64 { return m.Failed + m.Canceled + m.Unknown }

// usageDays is the number of days that the page of usage shows.
const usageDays = 30

// usage shows the account's usage and limits: GET /console/usage.
func (r *Section) usage(c *gin.Context, v page.Visitor) (console.Page, error) {
	ctx := c.Request.Context()
	shown := &UsagePage{Frame: console.Frame{Title: "Usage"}, Days: usageDays}
	var err error
	if r.keyed() {
		if shown.Balance, err = r.Accounts.Balance(ctx, v.Account); err != nil {
			return nil, err
		}
	}
	if shown.Kept, err = r.page.Edge.Storage.Usage(ctx, v.Account); err != nil {
		return nil, err
	}
	now := time.Now()
	days, err := r.Usage.Between(ctx, v.Account, now.AddDate(0, 0, 1-usageDays), now)
	if err != nil {
		return nil, err
	}
	for _, d := range days {
		line := UsedModel{d}
		shown.Calls += line.Succeeded + line.Other()
		shown.Charged += line.Charged
		if len(shown.Lines) < maxUsageLines {
			shown.Lines = append(shown.Lines, line)
		} else {
			shown.Omitted++
		}
	}
	shown.Machines, err = r.Servers.Sum(ctx, v.Account, now.AddDate(0, 0, 1-usageDays), now)
	return shown, err
}

// maxUsageLines bounds the rows of the page of usage.
const maxUsageLines = 300
