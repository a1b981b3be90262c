package admin

import (
	"net/http"
	"strconv"

	"github.com/millrace-dev/millrace/internal/fault"
	operateevents "github.com/millrace-dev/millrace/internal/operate/events"
)

func (s *server) eventRoutes() map[string]route {
	return map[string]route{
		"GET /events":            {s.searchEvents, parameters{"stream", "type", "account", "since", "until", "from_position", "before", "limit"}},
		"GET /events/types":      {s.listEventTypes, parameters{"whole"}},
		"GET /events/{position}": {s.showEvent, nil},
	}
}

// searchEvents serves GET /admin/events.
func (s *server) searchEvents(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	f := operateevents.Filter{
		Stream: query.Get("stream"), Type: query.Get("type"), Account: query.Get("account"),
		Since: query.Get("since"), Until: query.Get("until"),
	}
	var err error
	for name, into := range map[string]*int64{"from_position": &f.From, "before": &f.Before} {
		if *into, err = number(query, name); err != nil {
			return err
		}
	}
	if f.Limit, err = count(query, "limit"); err != nil {
		return err
	}
	page, err := s.Events.Search(r.Context(), f)
	return respond(w, http.StatusOK, page, err)
}

// showEvent serves GET /admin/events/{position}.
func (s *server) showEvent(w http.ResponseWriter, r *http.Request) error {
	position, err := strconv.ParseInt(r.PathValue("position"), 10, 64)
	if err != nil {
		return fault.Wrap(err, fault.NotFound, fault.CodeEventNotFound, "%.32q is not a position of the log", r.PathValue("position"))
	}
	event, err := s.Events.Event(r.Context(), position)
	return respond(w, http.StatusOK, event, err)
}

// listEventTypes serves GET /admin/events/types.
func (s *server) listEventTypes(w http.ResponseWriter, r *http.Request) error {
	whole, err := flag(r.URL.Query(), "whole")
	if err != nil {
		return err
	}
	types, err := s.Events.Types(r.Context(), whole)
	return respond(w, http.StatusOK, types, err)
}
