package admin

import (
	"net/http"

	"github.com/millrace-dev/millrace/internal/operate"
)

// listViews serves GET /admin/views.
func (s *server) listViews(w http.ResponseWriter, r *http.Request) error {
	views, err := s.Views.Views(r.Context())
	return respond(w, http.StatusOK, map[string]any{"views": views}, err)
}

// rebuildView serves POST /admin/views/{view}/rebuild. If the client disconnects before the end, the view stays as it
// was.
func (s *server) rebuildView(w http.ResponseWriter, r *http.Request) error {
	by, err := attributionOf(r)
	if err != nil {
		return err
	}
	done, err := s.Views.Rebuild(r.Context(), r.PathValue("view"), by)
	return respond(w, http.StatusOK, done, err)
}

// checkView serves GET /admin/views/{view}/check.
func (s *server) checkView(w http.ResponseWriter, r *http.Request) error {
	found, err := s.Views.Check(r.Context(), r.PathValue("view"))
	return respond(w, http.StatusOK, found, err)
}

// resumeView serves POST /admin/views/{view}/streams/{stream}/resume.
func (s *server) resumeView(w http.ResponseWriter, r *http.Request) error {
	by, err := attributionOf(r)
	if err != nil {
		return err
	}
	if err := s.Views.Resume(r.Context(), r.PathValue("view"), r.PathValue("stream"), by); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// attributionOf decodes a body that says no more than who changes something, and why.
func attributionOf(r *http.Request) (operate.Attribution, error) { return decodeChange(r, &change{}) }
