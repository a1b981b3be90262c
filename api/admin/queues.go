package admin

import (
	"net/http"

	"github.com/millrace-dev/millrace/internal/domain/gate"
)

// listQueues serves GET /admin/queues.
func (s *server) listQueues(w http.ResponseWriter, r *http.Request) error {
	states, err := s.Queues.States(r.Context())
	return respond(w, http.StatusOK, map[string]any{"queues": states}, err)
}

// setQueue serves PUT /admin/queues/{account}; "*" means all accounts.
func (s *server) setQueue(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Mode gate.Mode `json:"mode"`
	}
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	st, err := s.Queues.Set(r.Context(), gate.Change{
		Account: r.PathValue("account"), Mode: body.Mode, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
	})
	return respond(w, http.StatusOK, st, err)
}
