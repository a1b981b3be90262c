package edge

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

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
	if !id.Allows(need) {
		return fault.New(fault.Denied, fault.CodeForbidden, "this key does not carry the scope %q", need)
	}
	c.Set(identityKey, id)
	return nil
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
	return e.Auth.Authenticate(c.Request.Context(), secret)
}

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
