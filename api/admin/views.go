package admin

import (
	"net/http"

	"github.com/millrace-dev/millrace/internal/operate"
)

// listViews serves GET /admin/views.
func (s *server) listViews(w http.ResponseWriter, r *http.Request) error {
	views, err := s.Views.Views(r.Context())
	if err != nil {
		return err
	}
	write(w, http.StatusOK, map[string]any{"views": views})
	return nil
}

// rebuildView serves POST /admin/views/{view}/rebuild. If the client disconnects before the end, the view stays as it
// was.
func (s *server) rebuildView(w http.ResponseWriter, r *http.Request) error {
	by, err := s.onlyChange(r)
	if err != nil {
		return err
	}
	done, err := s.Views.Rebuild(r.Context(), r.PathValue("view"), by)
	if err != nil {
		return err
	}
	write(w, http.StatusOK, done)
	return nil
}

// checkView serves GET /admin/views/{view}/check.
func (s *server) checkView(w http.ResponseWriter, r *http.Request) error {
	found, err := s.Views.Check(r.Context(), r.PathValue("view"))
	if err != nil {
		return err
	}
	write(w, http.StatusOK, found)
	return nil
}

// resumeView serves POST /admin/views/{view}/streams/{stream}/resume.
func (s *server) resumeView(w http.ResponseWriter, r *http.Request) error {
	by, err := s.onlyChange(r)
	if err != nil {
		return err
	}
	if err := s.Views.Resume(r.Context(), r.PathValue("view"), r.PathValue("stream"), by); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *server) onlyChange(r *http.Request) (operate.Attribution, error) {
	var body change
	if err := decode(r, &body); err != nil {
		return operate.Attribution{}, err
	}
	return body.by(r)
}
