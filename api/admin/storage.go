package admin

import (
	"encoding/json"
	"net/http"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

// storageBody is the storage that an account uses and its limits.
type storageBody struct {
	Account string `json:"account"`
	account.Storage
	Own *int64 `json:"own_limit_bytes"` // the account's own limit: 0 = no limit, null = the deployment's
}

func (s *server) storageRoutes() map[string]route {
	return map[string]route{
		"GET /accounts/{account}/storage": {s.showStorage, nil},
		"PUT /accounts/{account}/storage": {s.setStorage, nil},
	}
}

// showStorage serves GET /admin/accounts/{account}/storage.
func (s *server) showStorage(w http.ResponseWriter, r *http.Request) error {
	a, err := s.Accounts.Account(r.Context(), r.PathValue("account"))
	if err != nil {
		return err
	}
	return s.writeStorage(w, r, a)
}

func (s *server) writeStorage(w http.ResponseWriter, r *http.Request, a account.Account) error {
	kept, err := s.Accounts.Storage(r.Context(), a)
	return respond(w, http.StatusOK, storageBody{a.ID, kept, a.Storage}, err)
}

// setStorage serves PUT /admin/accounts/{account}/storage.
func (s *server) setStorage(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Limit json.RawMessage `json:"limit_bytes"`
	}
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	var limit account.StorageLimit
	if body.Limit == nil || json.Unmarshal(body.Limit, &limit.Bytes) != nil {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "limit_bytes must be a number of bytes, 0 for no limit, or null for the limit of the deployment")
	}
	a, err := s.Accounts.Change(r.Context(), account.Change{
		Account: r.PathValue("account"), Storage: &limit, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
	})
	if err != nil {
		return err
	}
	return s.writeStorage(w, r, a)
}
