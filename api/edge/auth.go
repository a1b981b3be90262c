package edge

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gorilla/websocket"

	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Authorize puts the caller's identity into the context, or fails.
func (e *Edge) Authorize(c *gin.Context, a Access) error {
	if a == Public {
		return nil
	}
	id, err := e.identity(c)
	if err != nil {
		return err
	}
	need := account.ScopeRead
	if a == Write || a == Store {
		need = account.ScopeWrite
	}
	if !id.Allows(need) && !(id.Limited() && c.GetBool(callsDeployments)) {
		return fault.New(fault.Denied, fault.CodeForbidden, "this key does not carry the scope %q", need)
	}
	c.Set(identityKey, id)
	return nil
}

// Admit is Authorize for a path without a route of its own, which an editor may use.
func (e *Edge) Admit(c *gin.Context, a Access) error {
	c.Set(cookiesCount, e.Cookies != nil && e.opts.Mode != account.ModeNone)
	return e.Authorize(c, a)
}

// identity checks the request's credential.
func (e *Edge) identity(c *gin.Context) (account.Identity, error) {
	if d := e.dialect(c.Request.URL.Path); d != nil {
		return d.Identify(c)
	}
	secret, err := e.RequestSecret(c)
	if err != nil {
		return account.Identity{}, err
	}
	if e.KeysOfV2 != nil {
		if where := httperr.SurfaceOf(c.Request.URL.Path); where == httperr.V2 || where == httperr.Assets {
			return e.KeysOfV2.Authenticate(c.Request.Context(), secret)
		}
	}
	return e.Auth.Authenticate(c.Request.Context(), secret)
}

// callsDeployments marks requests on routes that a key limited to deployments may use.
const callsDeployments = "millrace.calls_deployments"

const identityKey = "millrace.identity"

// Caller returns the authenticated identity of a request on a route that is not public.
func Caller(c *gin.Context) account.Identity {
	id, _ := c.MustGet(identityKey).(account.Identity)
	return id
}

// Credential returns the secret of a request, or "". X-API-Key takes precedence over the other forms; the query
// parameter token is accepted on the WebSocket route only.
func Credential(r *http.Request) string {
	if key := r.Header.Get("X-API-Key"); key != "" {
		return key
	}
	scheme, secret, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(secret)
	}
	if isSocketPath(r.URL.Path) {
		return r.URL.Query().Get("token")
	}
	return ""
}

func isSocketPath(path string) bool { return path == "/ws" || path == "/api/ws" }

// recheckTime bounds one check of a credential.
const recheckTime = 5 * time.Second

// StillValid reports whether the secret that opened a socket or a stream is still valid: a revoked key ends them
// within Options.Recheck. While keys cannot be looked up, every key stays valid.
func (e *Edge) StillValid(ctx context.Context, secret, account string) bool {
	ctx, cancel := context.WithTimeout(ctx, recheckTime)
	defer cancel()
	id, err := e.Auth.Authenticate(ctx, secret)
	if err != nil {
		return !fault.Is(err, fault.Unauthenticated) && !fault.Is(err, fault.Denied)
	}
	return id.Account == account
}

// Sealer encrypts the keys that browsers keep in cookies.
type Sealer interface {
	Seal(owner, secret string) []byte
	Open(owner string, sealed []byte) (string, error)
}

const (
	editorCookie = "millrace_editor"
	editorOwner  = "editor" // owner of the sealed key: a cookie of the console is not a cookie of the editor
)

// CookieKey returns the key in a browser's cookie, or "" if there is no key that was sealed for owner.
func CookieKey(r *http.Request, cookie, owner string, sealer Sealer) string {
	kept, err := r.Cookie(cookie)
	if err != nil {
		return ""
	}
	sealed, err := base64.RawURLEncoding.DecodeString(kept.Value)
	if err != nil {
		return ""
	}
	key, err := sealer.Open(owner, sealed)
	if err != nil {
		return ""
	}
	return key
}

// SealKey returns the value of a cookie that holds a key.
func SealKey(owner, key string, sealer Sealer) string {
	return base64.RawURLEncoding.EncodeToString(sealer.Seal(owner, key))
}

// EditorCookie returns the cookie that holds the key of an editor. An empty key gives an empty value, which removes
// the cookie. With TLS and without a path prefix, the cookie has a name that browsers let no other host set.
func (e *Edge) EditorCookie(r *http.Request, key string) *http.Cookie {
	name, secure, path := e.editorCookie(r)
	cookie := &http.Cookie{Name: name, Path: path, MaxAge: -1, HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
	if key != "" {
		cookie.Value, cookie.MaxAge = SealKey(editorOwner, key, e.Cookies), 0
	}
	return cookie
}

func (e *Edge) editorCookie(r *http.Request) (name string, secure bool, path string) {
	base, err := url.Parse(e.serviceURL(r))
	if err != nil {
		base = &url.URL{}
	}
	name, secure, path = editorCookie, base.Scheme == "https", base.Path+"/"
	if secure && path == "/" {
		name = "__Host-" + name
	}
	return name, secure, path
}

// SignedIn returns the identity of the key in the browser's editor cookie.
func (e *Edge) SignedIn(r *http.Request) (account.Identity, error) {
	key := ""
	if e.opts.Mode != account.ModeNone {
		key = e.EditorKey(r)
	}
	return e.Auth.Authenticate(r.Context(), key)
}

// EditorKey returns the key in the editor's cookie, or "".
func (e *Edge) EditorKey(r *http.Request) string {
	name, _, _ := e.editorCookie(r)
	return CookieKey(r, name, editorOwner, e.Cookies)
}

// RequestSecret returns the secret of a request, or "": the secret in its headers or, on the routes that an editor
// uses, the key in the browser's cookie. The cookie of a request that another site's page sent is ignored.
func (e *Edge) RequestSecret(c *gin.Context) (string, error) {
	if secret := Credential(c.Request); secret != "" || !c.GetBool(cookiesCount) {
		return secret, nil
	}
	key := e.EditorKey(c.Request)
	if key != "" && !e.SameOrigin(c.Request) {
		return "", fault.New(fault.Denied, fault.CodeForbidden, "a browser's sign-in is valid for pages of this origin only")
	}
	return key, nil
}

// FromEditor reports whether a page of the served editor sent the request without a credential of its own. Browsers
// identify the page in Sec-Fetch-Site or, over plain HTTP where they omit that header, in Referer.
func (e *Edge) FromEditor(c *gin.Context) bool {
	if e.Cookies == nil || Credential(c.Request) != "" {
		return false
	}
	if site := c.GetHeader("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	from := c.Request.Referer()
	return from != "" && e.ownOrigin(c.Request, from)
}

// cookiesCount marks requests on routes where a browser's cookie is a credential.
const cookiesCount = "millrace.cookies_count"

// SameOrigin reports whether a page of this origin sent the request, or a person opened the address. The cookie is
// SameSite=Strict, so this is a second protection, and the only one against pages of sibling hosts. Browsers send the
// source of a request in Sec-Fetch-Site (on connections that they trust) and in Origin (always on WebSockets and on
// methods other than GET and HEAD). A request with neither header may only read.
func (e *Edge) SameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin != "" && !e.ownOrigin(r, origin) {
		return false
	}
	reads := (r.Method == http.MethodGet || r.Method == http.MethodHead) && !websocket.IsWebSocketUpgrade(r)
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return reads || origin != ""
	case "none":
		return reads
	case "":
		return reads || origin != ""
	default: // cross-site, same-site
		return false
	}
}

// ownOrigin reports whether an origin is this service's. If answers leave through TLS, an origin without TLS is not.
func (e *Edge) ownOrigin(r *http.Request, origin string) bool {
	from, err := url.Parse(origin)
	if err != nil || from.Host == "" { // the origin "null" has no host
		return false
	}
	base, err := url.Parse(e.serviceURL(r))
	if err != nil || base.Scheme == "https" && from.Scheme != "https" {
		return false
	}
	return strings.EqualFold(from.Host, base.Host) || strings.EqualFold(from.Host, r.Host)
}
