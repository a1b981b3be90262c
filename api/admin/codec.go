package admin

import (
	"crypto/subtle"
	"net/http"
	"strings"
)

// maxCodecBody bounds a request to the codec, in bytes: Temporal's Web UI sends a page of a history in one request.
const maxCodecBody = 32 << 20

// CodecGuard returns a handler that passes requests to a codec of payloads. Temporal's Web UI and command line read
// histories through it. The handler requires the operators' token, and lets pages of one origin call it; "" = no
// origin.
func CodecGuard(codec http.Handler, token, origin string) http.Handler {
	return &codecGuard{codec: codec, token: token, origin: origin}
}

// codecGuard requires the operators' credential and lets pages of one origin call the codec.
type codecGuard struct {
	codec         http.Handler
	token, origin string
}

// ServeHTTP implements http.Handler.
func (g *codecGuard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" {
		if origin != g.origin {
			http.Error(w, "pages of this origin may not decrypt payloads; set MILLRACE_TEMPORAL_UI_ORIGIN to the origin of Temporal's Web UI",
				http.StatusForbidden)
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
	r.Body = http.MaxBytesReader(w, r.Body, maxCodecBody)
	g.codec.ServeHTTP(w, r)
}

// allowed reports whether a request has the admin token, as a bearer token or as a password.
func (g *codecGuard) allowed(r *http.Request) bool {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		_, token, _ = r.BasicAuth()
	}
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) == 1
}
