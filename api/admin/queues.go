package admin

import (
	"net/http"

	"github.com/millrace-dev/millrace/internal/domain/gate"
)

// listQueues serves GET /admin/queues.
func (s *server) listQueues(w http.ResponseWriter, r *http.Request) error {
	states, err := s.Queues.States(r.Context())
	if err != nil {
		return err
	}
	write(w, http.StatusOK, map[string]any{"queues": states})
	return nil
}

// setQueue serves PUT /admin/queues/{account}; "*" means all accounts.
func (s *server) setQueue(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Mode gate.Mode `json:"mode"`
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	by, err := body.by(r)
	if err != nil {
		return err
	}
	st, err := s.Queues.Set(r.Context(), gate.Change{
		Account: r.PathValue("account"), Mode: body.Mode, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
	})
	if err != nil {
		return err
	}
	write(w, http.StatusOK, st)
	return nil
}
