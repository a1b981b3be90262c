package request

import (
	"net/http"
	"time"
)

// BoundWaiting returns next for clients that may announce a body and never send it: reading it ends after within,
// unless the handler sets a deadline of its own for what it reads. Without it such a client keeps its connection
// for ever, also where nobody wants the body and no credential was asked for, since net/http reads to the end
// before it answers.
func BoundWaiting(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // a connection that is gone is noticed by its reader
		}
		next.ServeHTTP(w, r)
	})
}
