package page

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/internal/web/openid"
)

// The paths of a sign-in with OpenID Connect, below Base.
const (
	startPath    = "/openid/start"
	callbackPath = "/openid/callback"
)

const (
	flowCookie = "millrace_signin"
	flowOwner  = "sign-in" // owner of the sealed flow of a browser
	flowAge    = 600       // seconds
)

// Refusals are recorded at this rate: anybody can cause them. Those that end the role of a person are always recorded.
const (
	recordedRefusals = rate.Limit(1) // a second
	refusalBurst     = 30
)

// limits are the limiters of the recording of refusals. Browsers that the provider has not identified leave room for
// people whom it has.
type limits struct{ unknown, identified *rate.Limiter }

// begun is a sign-in that has begun, as the browser keeps it.
type begun struct {
	openid.Flow
	// Former is the hash of the secret of the browser's session until then, if any. The provider's answer comes without the
	// cookie of that session.
	Former []byte `json:"former,omitempty"`
}

// SignedInPage sends the browser on. The cookie of a session is not sent with a request that another site causes, so the
// page where the sign-in began must be requested by a page of this service.
type SignedInPage struct {
	console.Frame
	Who  string
	Next string
}

// openIDRoutes returns the routes of a sign-in at the provider.
func (s *Server) openIDRoutes() []edge.Route {
	recorded := limits{rate.NewLimiter(recordedRefusals, refusalBurst), rate.NewLimiter(recordedRefusals, refusalBurst)}
	get := func(path string, handle func(*gin.Context) error) edge.Route {
		return edge.Route{
			Method: http.MethodGet, Path: Base + path, Access: edge.Public, Live: true, // without HEAD, which would use up a code
			Handle: func(c *gin.Context) error {
				c.Header("Cache-Control", "no-store")
				c.Header("Referrer-Policy", "no-referrer") // the address has the code
				if err := handle(c); err != nil {
					if fault.Is(err, fault.Unavailable) {
						s.Edge.Logger.Warn("sign-in failed", "request_id", edge.RequestID(c), "error", err)
					}
					s.Problem(c, err)
				}
				return nil
			},
		}
	}
	return []edge.Route{
		get(startPath, s.startOpenID),
		get(callbackPath, func(c *gin.Context) error { return s.finishOpenID(c, recorded) }),
	}
}

// Offer offers the sign-in at the provider, if there is one, which returns to a page.
func (p *SignInPage) Offer(e *edge.Edge, returnTo string) {
	if e.People != nil {
		p.Provider, p.Return = e.People.Provider.Host(), returnTo
	}
}

// startOpenID sends the browser to the provider: GET /console/openid/start.
func (s *Server) startOpenID(c *gin.Context) error {
	flow, address, err := s.Edge.People.Provider.Begin(c.Request.Context(), s.callback(c), s.localPath(c.Query("return")))
	if err != nil {
		return err
	}
	b := begun{Flow: flow}
	if secret := s.secret(c.Request); session.Shaped(secret) {
		hash := account.HashKey(secret)
		b.Former = hash[:]
	}
	kept, err := json.Marshal(b)
	if err != nil {
		return err
	}
	s.setFlow(c, edge.SealKey(flowOwner, string(kept), s.Sealer), flowAge)
	c.Redirect(http.StatusSeeOther, address)
	return nil
}

// finishOpenID starts the session of the person with whom the provider answers: GET /console/openid/callback.
func (s *Server) finishOpenID(c *gin.Context, recorded limits) error {
	ctx, people := c.Request.Context(), s.Edge.People
	var flow begun
	if kept := edge.CookieKey(c.Request, flowCookie, flowOwner, s.Sealer); kept != "" {
		if err := json.Unmarshal([]byte(kept), &flow); err != nil {
			return err
		}
	}
	s.setFlow(c, "", -1) // a flow ends once
	who, err := people.Provider.Finish(ctx, flow.Flow, s.callback(c), c.Request.URL.Query())
	secret := session.NewSecret() // a new one for every sign-in: nobody can have planted it
	if err == nil {
		_, err = people.Store.Start(ctx, who, account.HashKey(secret), people.Provider.Lasts, edge.RequestID(c))
	}
	if err != nil {
		return s.refuse(c, who, err, recorded)
	}
	if former := flow.Former; len(former) == len(account.KeyHash{}) {
		if err := people.Store.SignOut(ctx, account.KeyHash(former), edge.RequestID(c)); err != nil {
			return err
		}
	}
	s.setCookie(c, edge.SealKey(cookieOwner, secret, s.Sealer), 0)
	if s.Edge.Cookies != nil {
		if who.Grant.Account == "" {
			secret = "" // whoever the editor worked for is another
		}
		http.SetCookie(c.Writer, s.Edge.EditorCookie(c.Request, secret))
	}
	next := s.Prefix(c) + s.localPath(flow.Return)
	c.Header("Refresh", "0; url="+next)
	s.Write(c, http.StatusOK, &SignedInPage{Frame: console.Frame{Title: "Signed in"}, Who: who.Name, Next: next})
	return nil
}

// refuse records the refusal of a sign-in, and returns the error that the browser sees.
func (s *Server) refuse(c *gin.Context, who session.Person, err error, recorded limits) error {
	var known *fault.Error
	if !fault.Is(err, fault.Denied) || !errors.As(err, &known) {
		return err
	}
	s.Edge.Logger.Warn("sign-in refused", "request_id", edge.RequestID(c), "person", who.Name, "reason", known.Message, "error", err)
	limiter := recorded.identified
	if who.Subject == "" {
		limiter = recorded.unknown
	}
	always := limiter.Allow()
	if who.Subject == "" && !always {
		return err
	}
	if failed := s.Edge.People.Store.Refuse(c.Request.Context(), who, known.Message, edge.RequestID(c), always); failed != nil {
		return failed
	}
	return err
}

func (s *Server) callback(c *gin.Context) string {
	return s.Edge.BaseURL(c.Request) + Base + callbackPath
}

// setFlow sets the cookie of a sign-in that has begun, or removes it. The provider, another site, sends the browser back
// with it.
func (s *Server) setFlow(c *gin.Context, value string, maxAge int) {
	http.SetCookie(c.Writer, s.cookie(c, http.Cookie{
		Name: flowCookie, Value: value, MaxAge: maxAge, Path: path.Dir(callbackPath), SameSite: http.SameSiteLaxMode,
	}))
}

// localPath returns the path of a page of this service, with its query, or that of the console for anything else.
func (s *Server) localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || strings.ContainsAny(text, "\\\r\n\t;") {
		return Base
	}
	clean := path.Clean(u.Path)
	signs := strings.HasPrefix(clean, Base+"/openid") || clean == Base+"/signin" || clean == Base+"/signout"
	if clean != u.Path || signs || clean != Base && clean != "/" && !strings.HasPrefix(clean, Base+"/") {
		return Base
	}
	return (&url.URL{Path: clean, RawQuery: u.Query().Encode()}).String()
}

// inSession returns the visitor of a person's session.
func (s *Server) inSession(c *gin.Context, need Access, secret string) (Visitor, error) {
	found, err := s.Edge.People.Find(c.Request.Context(), secret)
	if err != nil {
		return Visitor{}, err
	}
	v := Visitor{secret: secret, person: found.Name}
	if found.Role == session.Operator {
		return s.operator(c, need, v)
	}
	v.Identity, v.name = found.Identity, s.accountName(c, found.Account)
	return v, v.check(need)
}
