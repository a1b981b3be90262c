package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
)

// addActions adds the routes of a group of actions.
func addActions[S any](routes map[string]route, g action.Group[S], service S) {
	for _, a := range g.All() {
		if a.Route != "" {
			routes[a.Route] = route{serve(a, service), queryOf(a.Params)}
		}
	}
}

// queryOf returns the parameters that a query may have.
func queryOf(params []action.Param) parameters {
	var all parameters
	for _, p := range params {
		if p.In == action.InQuery {
			name := p.Name
			if p.Many() {
				name += "..."
			}
			all = append(all, name)
		}
	}
	return all
}

// serve returns the handler of an action.
func serve[S any](a action.For[S], service S) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		params, by, err := read(r, a)
		if err != nil {
			return err
		}
		result, err := a.Do(r.Context(), service, params, by)
		if err != nil {
			return err
		}
		status := cmp.Or(a.Status, http.StatusOK)
		if status == http.StatusNoContent {
			w.WriteHeader(status)
			return nil
		}
		answer := a.Body(result)
		if _, whole := answer.(map[string]any); a.Member != "" && !whole {
			answer = map[string]any{a.Member: answer}
		}
		if a.Redact {
			if answer, err = operate.Redacted(answer); err != nil {
				return err
			}
		}
		write(w, status, answer)
		return nil
	}
}

// read reads the parameters of an action, and who makes the change.
func read[S any](r *http.Request, a action.For[S]) (params any, by operate.Attribution, err error) {
	params, c, missing, err := readParams(r, a)
	if err != nil || a.Reason == action.None {
		return params, by, err
	}
	by, err = c.by(r)
	return params, by, cmp.Or(err, missing)
}

// readParams reads the parameters of an action. missing is an error if the body lacks one.
func readParams[S any](r *http.Request, a action.For[S]) (params any, c change, missing, err error) {
	params = a.New(true)
	query := r.URL.Query()
	for _, p := range a.Params {
		switch {
		case p.In == action.InPath:
			if p.Set(params, r.PathValue(p.Name)) != nil {
				return nil, c, nil, fault.New(fault.NotFound, fault.CodeNotFound, "there is nothing at this path")
			}
		case p.In == action.InQuery && query.Has(p.Name):
			if err := p.Set(params, query[p.Name]...); err != nil {
				return nil, c, nil, action.Refused(p.Name, "must be", err)
			}
		case p.In == action.InQuery && p.Required:
			return nil, c, nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "the query parameter %q is missing: %s", p.Name, p.Help)
		}
	}
	if a.Reason != action.None {
		c, missing, err = decodeParams(r, a.Params, params)
	}
	return params, c, missing, err
}

// decodeParams decodes the body of a change strictly. missing is an error if it lacks a parameter.
func decodeParams(r *http.Request, all []action.Param, params any) (c change, missing, err error) {
	body := map[string]json.RawMessage{}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil && !errors.Is(err, io.EOF) {
		return c, nil, malformed(err.Error())
	}
	for name, into := range map[string]*string{"actor": &c.Actor, "reason": &c.Reason} {
		if raw, ok := body[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return c, nil, malformed(err.Error())
			}
			delete(body, name)
		}
	}
	for _, p := range all {
		raw, ok := body[p.Name]
		switch {
		case p.In != action.InBody:
		case ok:
			if err := p.Decode(params, raw); err != nil {
				return c, nil, action.Refused(p.Name, "must be", err)
			}
			delete(body, p.Name)
		case p.Required && missing == nil:
			missing = fault.New(fault.Invalid, fault.CodeInvalidRequest, "%s is missing: it must be %s", p.Name, p.Takes())
		}
	}
	if len(body) > 0 {
		return c, nil, malformed("unknown field " + strings.Join(slices.Sorted(maps.Keys(body)), ", "))
	}
	return c, missing, nil
}

func malformed(why string) error {
	return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the body is not as documented: %s", why)
}
