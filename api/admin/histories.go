package admin

import (
	"context"
	"net/http"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Histories reads the events of jobs, of calls or of assets. An id may be a whole id or a prefix of one: NotFound if
// none matches, Conflict if several do. Results are the JSON values that the command line prints, without secrets.
type Histories interface {
	// Find returns the whole id.
	Find(ctx context.Context, id string) (string, error)
	// State folds the events up to a version or a time; "" = all. An at before the first event or after the last one
	// is NotFound.
	State(ctx context.Context, id, at string) (any, error)
	// Events returns every event.
	Events(ctx context.Context, id string) (any, error)
	// Timeline returns the durations of the phases.
	Timeline(ctx context.Context, id string) (any, error)
	// Diff compares two jobs, calls or assets.
	Diff(ctx context.Context, a, b string) (any, error)
	// Workflow returns the events together with those of the workflow engine; Unavailable while the engine is down.
	Workflow(ctx context.Context, id string) (any, error)
}

// replayJob serves GET /admin/jobs/{id}/replay.
func (s *server) replayJob(w http.ResponseWriter, r *http.Request) error {
	found, err := s.Replays.Replay(r.Context(), r.PathValue("id"))
	return respond(w, http.StatusOK, found, err)
}

// past serves the histories of one kind.
type past struct {
	noun string // job, call or asset
	all  Histories
}

func (s *server) historyRoutes() map[string]route {
	all := map[string]route{}
	for _, p := range []past{{"job", s.JobHistories}, {"call", s.CallHistories}, {"asset", s.AssetHistories}} {
		path := "GET /" + p.noun + "s/{id}"
		all[path] = route{p.state, parameters{"at"}}
		all[path+"/events"] = route{p.serveReport(Histories.Events), nil}
		all[path+"/timeline"] = route{p.serveReport(Histories.Timeline), nil}
		all[path+"/workflow"] = route{p.serveReport(Histories.Workflow), nil}
		all[path+"/diff"] = route{p.diff, parameters{"with"}}
	}
	all["GET /jobs/{id}"] = route{s.showJob, parameters{"at"}}
	return all
}

// state serves GET /admin/calls/{id} and GET /admin/assets/{id}, now or at a version or a time.
func (p past) state(w http.ResponseWriter, r *http.Request) error {
	state, err := p.all.State(r.Context(), r.PathValue("id"), r.URL.Query().Get("at"))
	return respond(w, http.StatusOK, map[string]any{p.noun: state}, err)
}

// serveReport serves …/events, …/timeline and …/workflow.
func (p past) serveReport(ask func(h Histories, ctx context.Context, id string) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		answer, err := ask(p.all, r.Context(), r.PathValue("id"))
		if err != nil {
			return err
		}
		write(w, http.StatusOK, answer)
		return nil
	}
}

// diff serves …/diff: the differences between the id in the path and the id in the query.
func (p past) diff(w http.ResponseWriter, r *http.Request) error {
	with := r.URL.Query().Get("with")
	if with == "" {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "give the id of the other %s in the query parameter \"with\"", p.noun)
	}
	shown, err := p.all.Diff(r.Context(), r.PathValue("id"), with)
	return respond(w, http.StatusOK, shown, err)
}
