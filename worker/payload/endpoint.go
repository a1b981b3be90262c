package payload

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"go.temporal.io/sdk/converter"
)

// maxBody bounds a request to the endpoint: the Web UI sends a page of a history at once.
const maxBody = 32 << 20

// Endpoint returns what Temporal's Web UI and command line have payloads decrypted by, at paths that end in encode and
// decode. It asks for the token of operators, and lets pages of one origin use it; "" = of none.
func (r *Ring) Endpoint(token, origin string) http.Handler {
	return &guard{codec: converter.NewPayloadCodecHTTPHandler(r), token: token, origin: origin}
}

// guard asks for the operator's credential, and lets pages of one origin use it.
type guard struct {
	codec         http.Handler
	token, origin string
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" {
		if origin != g.origin {
			http.Error(w, "pages of this origin may not decrypt payloads; see MILLRACE_TEMPORAL_UI_ORIGIN", http.StatusForbidden)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Allow-Credentials", "true")
	}
	if r.Method == http.MethodOptions {
		w.Header().Set("Access-Control-Allow-Methods", "POST, OPTIONS")
		w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !g.allowed(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="Millrace operators"`)
		http.Error(w, "the admin token is needed: as a bearer token, or as the password of any user", http.StatusUnauthorized)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	g.codec.ServeHTTP(w, r)
}

// allowed reports whether a request has the admin token, as a bearer token or as a password.
func (g *guard) allowed(r *http.Request) bool {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		_, token, _ = r.BasicAuth()
	}
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) == 1
}
