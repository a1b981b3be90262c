package admin

import (
	"cmp"
	"context"
	"net/http"
	"time"

	registry "github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	operateservers "github.com/millrace-dev/millrace/internal/operate/servers"
)

// addServer serves POST /admin/servers, for operators and for machines with a registration token.
func (s *server) addServer(w http.ResponseWriter, r *http.Request) error {
	t := registrar(r)
	if t == nil {
		return serve(operateservers.Add, s.Servers)(w, r)
	}
	params, c, missing, err := readParams(r, operateservers.Add)
	if err != nil || missing != nil {
		return cmp.Or(err, missing)
	}
	asked, ok := params.(*operateservers.Registration)
	switch {
	case !ok || asked.Price != 0:
		return fault.New(fault.Invalid, fault.CodeInvalidRequest,
			"price_usd cannot be given: the registration token sets the price of the server")
	case len(c.Reason) > action.MaxReason || !action.IsText(c.Reason):
		return fault.New(fault.Invalid, fault.CodeInvalidRequest,
			"a reason is a text of at most %d bytes without NUL characters", action.MaxReason)
	}
	asked.Token, asked.From = t, s.sender(r)
	by := operate.Attribution{Reason: c.Reason, RequestID: r.Header.Get(requestHeader)}
	result, err := operateservers.Add.Do(r.Context(), s.Servers, asked, by)
	if err != nil {
		return err
	}
	if v, ok := result.(operateservers.View); ok {
		write(w, http.StatusCreated, registeredBody{v.ID, v.URL, v.State, v.Labels, v.Slots, v.ExpiresAt})
	}
	return nil
}

// registeredBody is the answer to a machine that registered a server. It does not show how others use the server.
type registeredBody struct {
	ID        registry.ID    `json:"id"`
	URL       string         `json:"url"`
	State     registry.State `json:"state"`
	Labels    []string       `json:"labels"`
	Slots     int            `json:"slots"`
	ExpiresAt *time.Time     `json:"expires_at"`
}

// tokenKey is the key of the registration token in the context of a request.
type tokenKey struct{}

// registrar returns the registration token of a request, or nil for an operator.
func registrar(r *http.Request) *registry.Token {
	t, _ := r.Context().Value(tokenKey{}).(*registry.Token)
	return t
}

// admit checks the credential of POST /admin/servers: the operators' token or a registration token.
func (s *server) admit(r *http.Request) (*http.Request, error) {
	operator, err := s.authorize(r)
	if err == nil {
		return operator, nil
	}
	secret, ok := bearer(r)
	if !ok {
		return nil, err
	}
	t, unknown := s.Servers.Token(r.Context(), secret)
	if fault.Is(unknown, fault.NotFound) {
		return nil, err
	}
	return r.WithContext(context.WithValue(r.Context(), tokenKey{}, &t)), unknown
}
