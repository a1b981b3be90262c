package admin

import (
	"context"
	"net/http"
)

// Doctor looks at everything that a deployment stands on, from the process that is asked. Nothing is changed.
type Doctor interface {
	// Examine returns what each check found, in a form for JSON and in bounded time. A check that fails is no error.
	Examine(ctx context.Context) (any, error)
}

// examine serves GET /admin/doctor.
func (s *server) examine(w http.ResponseWriter, r *http.Request) error {
	found, err := s.Doctor.Examine(r.Context())
	if err != nil {
		return err
	}
	write(w, http.StatusOK, found)
	return nil
}
