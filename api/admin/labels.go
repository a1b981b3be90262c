package admin

import (
	"encoding/json"
	"net/http"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

// labelsBody holds the labels of ComfyUI servers that jobs of an account may ask for.
type labelsBody struct {
	Account string   `json:"account"`
	Labels  []string `json:"labels"` // null = every label, empty = none
}

// showLabels serves GET /admin/accounts/{account}/labels.
func (s *server) showLabels(w http.ResponseWriter, r *http.Request) error {
	a, err := s.Accounts.Account(r.Context(), r.PathValue("account"))
	return respond(w, http.StatusOK, labelsBody{a.ID, a.Labels.Allowed}, err)
}

// setLabels serves PUT /admin/accounts/{account}/labels.
func (s *server) setLabels(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Labels json.RawMessage `json:"labels"`
	}
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	var labels account.Labels
	if body.Labels == nil || json.Unmarshal(body.Labels, &labels.Allowed) != nil {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "labels is a list such as [\"sdxl\", \"eu\"], or null for every label")
	}
	a, err := s.Accounts.Change(r.Context(), account.Change{
		Account: r.PathValue("account"), Labels: &labels, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
	})
	return respond(w, http.StatusOK, labelsBody{a.ID, a.Labels.Allowed}, err)
}
