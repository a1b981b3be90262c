package admin

import (
	"net/http"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

// keyBody is the JSON form of a key. Secret is set only when the key is created.
type keyBody struct {
	ID        string          `json:"id"`
	Prefix    string          `json:"prefix"`
	Scopes    []account.Scope `json:"scopes"`
	RevokedAt *time.Time      `json:"revoked_at,omitempty"`
	LastUsed  *time.Time      `json:"last_used_at,omitempty"` // accurate to a minute
	Secret    string          `json:"secret,omitempty"`
}

// listKeys serves GET /admin/accounts/{account}/keys.
func (s *server) listKeys(w http.ResponseWriter, r *http.Request) error {
	keys, err := s.Accounts.Keys(r.Context(), r.PathValue("account"))
	if err != nil {
		return err
	}
	shown := make([]keyBody, len(keys))
	for i, k := range keys {
		shown[i] = keyBody{ID: k.ID, Prefix: k.Prefix, Scopes: k.Scopes, RevokedAt: k.RevokedAt, LastUsed: k.LastUsed}
	}
	write(w, http.StatusOK, map[string]any{"keys": shown})
	return nil
}

// issueKey serves POST /admin/accounts/{account}/keys.
func (s *server) issueKey(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Scopes []string `json:"scopes"`
	}
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	var scopes []account.Scope
	for _, text := range body.Scopes {
		scope, err := account.ParseScope(text)
		if err != nil {
			return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
		}
		scopes = append(scopes, scope)
	}
	secret, key, err := s.Accounts.IssueKey(r.Context(), r.PathValue("account"), scopes, by)
	return respond(w, http.StatusCreated, keyBody{ID: key.ID, Prefix: key.Prefix, Scopes: key.Scopes, Secret: secret}, err)
}

// revokeKey serves DELETE /admin/accounts/{account}/keys/{key}.
func (s *server) revokeKey(w http.ResponseWriter, r *http.Request) error {
	by, err := attributionOf(r)
	if err != nil {
		return err
	}
	if err := s.Accounts.RevokeKey(r.Context(), r.PathValue("account"), r.PathValue("key"), by); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
