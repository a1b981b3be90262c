package admin

import (
	"encoding/json"
	"net/http"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

// accessBody is an account's access to the model router.
type accessBody struct {
	Account string   `json:"account"`
	Router  bool     `json:"router"`  // whether the account may use the router
	Allowed []string `json:"allowed"` // null = every model, empty = none
	Denied  []string `json:"denied"`  // exceptions from Allowed
}

func shownAccess(a account.Account) accessBody {
	return accessBody{Account: a.ID, Router: !a.Access.Off, Allowed: a.Access.Models, Denied: append([]string{}, a.Access.Denied...)}
}

// showModels serves GET /admin/accounts/{account}/models.
func (s *server) showModels(w http.ResponseWriter, r *http.Request) error {
	a, err := s.Accounts.Account(r.Context(), r.PathValue("account"))
	return respond(w, http.StatusOK, shownAccess(a), err)
}

// setModels serves PUT /admin/accounts/{account}/models. The body replaces the whole access, so that concurrent
// changes by two operators never produce a mixture of both.
func (s *server) setModels(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Router  *bool           `json:"router"`
		Allowed json.RawMessage `json:"allowed"`
		Denied  []string        `json:"denied"`
	}
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	if body.Router == nil || body.Allowed == nil {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "router (true or false) and allowed (a list, or null for every model) are required")
	}
	access := account.Access{Off: !*body.Router, Denied: body.Denied}
	if err := json.Unmarshal(body.Allowed, &access.Models); err != nil {
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "allowed is a list such as [\"bfl/*\", \"openai/gpt-image-2\"], or null for every model")
	}
	a, err := s.Accounts.Change(r.Context(), account.Change{
		Account: r.PathValue("account"), Access: &access, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
	})
	return respond(w, http.StatusOK, shownAccess(a), err)
}
