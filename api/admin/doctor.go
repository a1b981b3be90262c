package admin

import (
	"context"
	"net/http"
)

// Doctor checks everything that a deployment depends on, as seen from this process. It changes nothing.
type Doctor interface {
	// Examine returns the finding of each check, as a value for JSON, in bounded time. A failing check is not an error.
	Examine(ctx context.Context) (any, error)
}

// examine serves GET /admin/doctor.
func (s *server) examine(w http.ResponseWriter, r *http.Request) error {
	found, err := s.Doctor.Examine(r.Context())
	return respond(w, http.StatusOK, found, err)
}
