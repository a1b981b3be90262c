package request

import (
	"net/http"
	"time"
)

// BoundWaiting returns next for clients that may announce a body and never send it: reading a body ends after within,
// unless the handler sets a deadline of its own. Without it, such a client would keep its connection for ever, even
// on routes that ignore the body or need no credential, because net/http reads a body to its end before it answers.
func BoundWaiting(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // the reader of a closed connection gets the error
		}
		next.ServeHTTP(w, r)
	})
}
