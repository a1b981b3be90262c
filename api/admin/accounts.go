package admin

import (
	"net/http"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/fault"
)

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
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	tier, err := account.ParseTier(body.Tier)
	if err != nil {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "an account has a name and a tier: free, standard, creator, pro or local")
	}
	a, err := s.Accounts.Create(r.Context(), body.Name, tier, by)
	return respond(w, http.StatusCreated, shownAccount(a), err)
}

// showAccount serves GET /admin/accounts/{account}.
func (s *server) showAccount(w http.ResponseWriter, r *http.Request) error {
	a, err := s.Accounts.Account(r.Context(), r.PathValue("account"))
	return respond(w, http.StatusOK, shownAccount(a), err)
}

// changeAccount serves PATCH /admin/accounts/{account}.
func (s *server) changeAccount(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Tier      account.Tier `json:"tier"`
		Active    *bool        `json:"active"`
		Suspended *bool        `json:"suspended"`
	}
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	if body.Tier == "" && body.Active == nil && body.Suspended == nil {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the body changes nothing: give tier, active or suspended")
	}
	a, err := s.Accounts.Change(r.Context(), account.Change{
		Account: r.PathValue("account"), Tier: body.Tier, Active: body.Active, Suspend: body.Suspended,
		Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
	})
	return respond(w, http.StatusOK, shownAccount(a), err)
}

// balance is the JSON form of a ledger's state, in millionths of a US dollar.
func balance(b credit.Balance) map[string]any {
	return map[string]any{
		"metered": b.Metered, "available_micros": b.Available, "held_micros": b.Held,
		"settled_micros": b.Settled, "granted_micros": b.Granted,
	}
}

// showCredit serves GET /admin/accounts/{account}/credit.
func (s *server) showCredit(w http.ResponseWriter, r *http.Request) error {
	b, err := s.Accounts.Balance(r.Context(), r.PathValue("account"))
	return respond(w, http.StatusOK, balance(b), err)
}

// grantCredit serves POST /admin/accounts/{account}/credit.
func (s *server) grantCredit(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		USD string `json:"usd"` // a decimal number as text: 25, 0.05
	}
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	micros, err := credit.ParseDollars(body.USD)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "usd is an amount such as \"25\" or \"0.05\"")
	}
	b, err := s.Accounts.Grant(r.Context(), r.PathValue("account"), micros, by)
	return respond(w, http.StatusOK, balance(b), err)
}
