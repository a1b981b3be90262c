package admin

import (
	"net/http"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
)

// maxQueues bounds what GET /admin/queues lists.
const maxQueues = 1000

// listQueues serves GET /admin/queues.
func (s *server) listQueues(w http.ResponseWriter, r *http.Request) error {
	states, err := s.Queues.States(r.Context(), maxQueues)
	if err != nil {
		return err
	}
	write(w, http.StatusOK, map[string]any{"queues": states})
	return nil
}

// setQueue serves PUT /admin/queues/{account}; "*" means all accounts.
func (s *server) setQueue(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Mode gate.Mode `json:"mode"`
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	by, err := body.by(r)
	if err != nil {
		return err
	}
	st, err := s.Queues.Set(r.Context(), gate.Change{
		Account: r.PathValue("account"), Mode: body.Mode, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
	})
	if err != nil {
		return err
	}
	write(w, http.StatusOK, st)
	return nil
}

// listViews serves GET /admin/views.
func (s *server) listViews(w http.ResponseWriter, r *http.Request) error {
	views, err := s.Views.Views(r.Context())
	if err != nil {
		return err
	}
	write(w, http.StatusOK, map[string]any{"views": views})
	return nil
}

// rebuildView serves POST /admin/views/{view}/rebuild. If the client disconnects before the end, nothing is changed.
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

// accountBody is the JSON form of an account.
type accountBody struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Tier      account.Tier `json:"tier"`
	Active    bool         `json:"active"`
	Suspended bool         `json:"suspended"`
	CreatedAt time.Time    `json:"created_at"`
}

func shownAccount(a account.Account) accountBody {
	return accountBody{a.ID, a.Name, a.Tier, a.Active, a.Suspended, a.CreatedAt}
}

// listAccounts serves GET /admin/accounts.
func (s *server) listAccounts(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Accounts.Accounts(r.Context())
	if err != nil {
		return err
	}
	shown := make([]accountBody, len(all))
	for i, a := range all {
		shown[i] = shownAccount(a)
	}
	write(w, http.StatusOK, map[string]any{"accounts": shown})
	return nil
}

// createAccount serves POST /admin/accounts.
func (s *server) createAccount(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Name string `json:"name"`
		Tier string `json:"tier"`
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	by, err := body.by(r)
	if err != nil {
		return err
	}
	tier, err := account.ParseTier(body.Tier)
	if err != nil {
		return fault.New(fault.Invalid, "invalid_request", "an account has a name and a tier: free, standard, creator, pro or local")
	}
	a, err := s.Accounts.Create(r.Context(), body.Name, tier, by)
	if err != nil {
		return err
	}
	write(w, http.StatusCreated, shownAccount(a))
	return nil
}

// showAccount serves GET /admin/accounts/{account}.
func (s *server) showAccount(w http.ResponseWriter, r *http.Request) error {
	a, err := s.Accounts.Account(r.Context(), r.PathValue("account"))
	if err != nil {
		return err
	}
	write(w, http.StatusOK, shownAccount(a))
	return nil
}

// changeAccount serves PATCH /admin/accounts/{account}.
func (s *server) changeAccount(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Tier      account.Tier `json:"tier"`
		Active    *bool        `json:"active"`
		Suspended *bool        `json:"suspended"`
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	by, err := body.by(r)
	if err != nil {
		return err
	}
	if body.Tier == "" && body.Active == nil && body.Suspended == nil {
		return fault.New(fault.Invalid, "invalid_request", "there is nothing to change: give tier, active or suspended")
	}
	a, err := s.Accounts.Change(r.Context(), account.Change{
		Account: r.PathValue("account"), Tier: body.Tier, Active: body.Active, Suspend: body.Suspended,
		Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
	})
	if err != nil {
		return err
	}
	write(w, http.StatusOK, shownAccount(a))
	return nil
}

// balance is a ledger's state in millionths of a US dollar.
func balance(b credit.Balance) map[string]any {
	return map[string]any{
		"metered": b.Metered, "available_micros": b.Available, "held_micros": b.Held,
		"settled_micros": b.Settled, "granted_micros": b.Granted,
	}
}

// showCredit serves GET /admin/accounts/{account}/credit.
func (s *server) showCredit(w http.ResponseWriter, r *http.Request) error {
	b, err := s.Accounts.Balance(r.Context(), r.PathValue("account"))
	if err != nil {
		return err
	}
	write(w, http.StatusOK, balance(b))
	return nil
}

// grantCredit serves POST /admin/accounts/{account}/credit.
func (s *server) grantCredit(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		USD string `json:"usd"` // a decimal text: 25, 0.05
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	by, err := body.by(r)
	if err != nil {
		return err
	}
	micros, err := credit.ParseDollars(body.USD)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "invalid_request", "usd is an amount such as \"25\" or \"0.05\"")
	}
	b, err := s.Accounts.Grant(r.Context(), r.PathValue("account"), micros, by)
	if err != nil {
		return err
	}
	write(w, http.StatusOK, balance(b))
	return nil
}

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
	if err := decode(r, &body); err != nil {
		return err
	}
	by, err := body.by(r)
	if err != nil {
		return err
	}
	var scopes []account.Scope
	for _, text := range body.Scopes {
		scope, err := account.ParseScope(text)
		if err != nil {
			return fault.Wrap(err, fault.Invalid, "invalid_request", "%s", err.Error())
		}
		scopes = append(scopes, scope)
	}
	secret, key, err := s.Accounts.IssueKey(r.Context(), r.PathValue("account"), scopes, by)
	if err != nil {
		return err
	}
	write(w, http.StatusCreated, keyBody{ID: key.ID, Prefix: key.Prefix, Scopes: key.Scopes, Secret: secret})
	return nil
}

// revokeKey serves DELETE /admin/accounts/{account}/keys/{key}.
func (s *server) revokeKey(w http.ResponseWriter, r *http.Request) error {
	by, err := s.onlyChange(r)
	if err != nil {
		return err
	}
	if err := s.Accounts.RevokeKey(r.Context(), r.PathValue("account"), r.PathValue("key"), by); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
