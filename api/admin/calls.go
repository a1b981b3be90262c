package admin

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	operateassets "github.com/millrace-dev/millrace/internal/operate/assets"
	operatecalls "github.com/millrace-dev/millrace/internal/operate/calls"
	"github.com/millrace-dev/millrace/projections/usage"
)

// listed is the default length of a listing.
const listed = 100

// Calls are the operators' commands on model calls.
type Calls interface {
	// List returns the calls that f selects, newest first, and the cursor of the next page; 0 = no more.
	List(ctx context.Context, f operatecalls.Filter) (found []call.Call, before int64, err error)
	// Usage adds up calls and charges of an account ("" = all) since a duration before now or a time.
	Usage(ctx context.Context, account, since string) ([]usage.Day, error)
	// Reconcile settles a call of unknown outcome; Conflict where the outcome is known.
	Reconcile(ctx context.Context, id call.ID, micros int64, by operate.Attribution) error
}

func (s *server) callRoutes() map[string]route {
	return map[string]route{
		"GET /calls":                 {s.listCalls, parameters{"status...", "account", "model", "before", "limit"}},
		"GET /calls/usage":           {s.showUsage, parameters{"account", "since"}},
		"POST /calls/{id}/reconcile": {s.reconcileCall, nil},
		"GET /assets":                {s.listAssets, parameters{"status", "account", "limit"}},
	}
}

// listing reads the limit of a listing.
func listing(query url.Values) (int, error) {
	n, err := count(query, "limit")
	if err == nil && n > operatecalls.MaxListed {
		return 0, fault.New(fault.Invalid, fault.CodeInvalidRequest, "limit is at most %d", operatecalls.MaxListed)
	}
	return cmp.Or(n, listed), err
}

// listCalls serves GET /admin/calls.
func (s *server) listCalls(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	f := operatecalls.Filter{States: query["status"], Account: query.Get("account"), Model: query.Get("model")}
	var err error
	if f.Before, err = number(query, "before"); err != nil {
		return err
	}
	if f.Limit, err = listing(query); err != nil {
		return err
	}
	found, before, err := s.Calls.List(r.Context(), f)
	if err != nil {
		return err
	}
	answer := map[string]any{"calls": append([]call.Call{}, found...)} // an empty list is [], not null
	if before != 0 {
		answer["next_before"] = before
	}
	write(w, http.StatusOK, answer)
	return nil
}

// showUsage serves GET /admin/calls/usage.
func (s *server) showUsage(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	days, err := s.Calls.Usage(r.Context(), query.Get("account"), query.Get("since"))
	return respond(w, http.StatusOK, map[string]any{"usage": append([]usage.Day{}, days...)}, err)
}

// reconcileCall serves POST /admin/calls/{id}/reconcile.
func (s *server) reconcileCall(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Charged string `json:"charged_usd"` // a decimal number as text: 0.04; 0 releases the whole reserve
	}
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	micros, err := amount.ParseDollars(body.Charged)
	if err != nil || micros < 0 {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "charged_usd is what the call cost, such as \"0.04\" or \"0\"")
	}
	id, err := call.ParseID(r.PathValue("id"))
	if err != nil {
		return fault.Wrap(err, fault.NotFound, fault.CodeCallNotFound, "there is no call %.64q", r.PathValue("id"))
	}
	if err := s.Calls.Reconcile(r.Context(), id, micros, by); err != nil {
		return err
	}
	state, err := s.CallHistories.State(r.Context(), string(id), "")
	return respond(w, http.StatusOK, map[string]any{"call": state}, err)
}

// listAssets serves GET /admin/assets.
func (s *server) listAssets(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	f := operateassets.Filter{State: query.Get("status"), Account: query.Get("account")}
	var err error
	if f.Limit, err = listing(query); err != nil {
		return err
	}
	found, err := s.Assets.List(r.Context(), f)
	return respond(w, http.StatusOK, map[string]any{"assets": append([]asset.Asset{}, found...)}, err)
}
