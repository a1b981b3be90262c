package admin

import (
	"context"
	"net/http"
	"time"

	registry "github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	operateservers "github.com/millrace-dev/millrace/internal/operate/servers"
)

// Servers are the operators' commands on ComfyUI servers.
type Servers interface {
	List(ctx context.Context) ([]operateservers.View, error)
	Waiting(ctx context.Context) ([]registry.Waiting, error)
	Show(ctx context.Context, ref string) (operateservers.View, error)
	Add(ctx context.Context, r operateservers.Request, by operate.Attribution) (operateservers.View, error)
	// Change drains, resumes or removes a server.
	Change(ctx context.Context, verb, ref string, by operate.Attribution) (operateservers.View, error)
}

// codeNoServer is the error code of a registration whose address is not that of a server; its status is 422.
const codeNoServer = "invalid_server"

func (s *server) serverRoutes() map[string]route {
	if s.Servers == nil {
		return nil
	}
	return map[string]route{
		"GET /servers":                {s.listServers, nil},
		"POST /servers":               {s.addServer, nil},
		"GET /servers/{id}":           {s.showServer, nil},
		"POST /servers/{id}/{change}": {s.changeServer, nil},
	}
}

// listServers serves GET /admin/servers.
func (s *server) listServers(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Servers.List(r.Context())
	if err != nil {
		return err
	}
	waiting, err := s.Servers.Waiting(r.Context())
	if err != nil {
		return err
	}
	write(w, http.StatusOK, map[string]any{"servers": all, "waiting": shownWaits(waiting)})
	return nil
}

// waitBody is a segment that waits for a server.
type waitBody struct {
	Job     string    `json:"job"`
	Segment int       `json:"segment"`
	Account string    `json:"account"`
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason"`
	Ahead   int       `json:"ahead"`
}

func shownWaits(waiting []registry.Waiting) []waitBody {
	out := make([]waitBody, 0, len(waiting))
	for _, w := range waiting {
		out = append(out, waitBody{string(w.Job), w.Unit, w.Account, w.Since, w.Reason, w.Ahead})
	}
	return out
}

// showServer serves GET /admin/servers/{id}.
func (s *server) showServer(w http.ResponseWriter, r *http.Request) error {
	v, err := s.Servers.Show(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	write(w, http.StatusOK, v)
	return nil
}

// addServer serves POST /admin/servers.
func (s *server) addServer(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		URL       string            `json:"url"`
		Labels    []string          `json:"labels"`
		Slots     int               `json:"slots"`
		Headers   map[string]string `json:"headers"`
		ExpiresIn int               `json:"expires_in"` // seconds
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	by, err := body.by(r)
	if err != nil {
		return err
	}
	v, err := s.Servers.Add(r.Context(), operateservers.Request{
		URL: body.URL, Labels: body.Labels, Slots: body.Slots, Headers: body.Headers, ExpiresIn: time.Duration(body.ExpiresIn) * time.Second,
	}, by)
	if err != nil {
		return err
	}
	write(w, http.StatusCreated, v)
	return nil
}

// changeServer serves POST /admin/servers/{id}/drain, …/resume and …/remove.
func (s *server) changeServer(w http.ResponseWriter, r *http.Request) error {
	verb := r.PathValue("change")
	if verb != "drain" && verb != "resume" && verb != "remove" {
		return fault.New(fault.NotFound, "not_found", "there is nothing at this path")
	}
	var body change
	if err := decode(r, &body); err != nil {
		return err
	}
	by, err := body.by(r)
	if err != nil {
		return err
	}
	v, err := s.Servers.Change(r.Context(), verb, r.PathValue("id"), by)
	if err != nil {
		return err
	}
	write(w, http.StatusOK, v)
	return nil
}
