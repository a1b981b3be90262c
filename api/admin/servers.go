package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	registry "github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	operateservers "github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/projections/serverusage"
)

// Servers are the operators' commands on ComfyUI servers.
type Servers interface {
	List(ctx context.Context) ([]operateservers.View, error)
	Waiting(ctx context.Context) ([]registry.Waiting, error)
	Show(ctx context.Context, ref string) (operateservers.View, error)
	Add(ctx context.Context, r operateservers.Request, by operate.Attribution) (operateservers.View, error)
	AddToken(ctx context.Context, r operateservers.TokenRequest, by operate.Attribution) (secret string, t registry.Token, err error)
	Tokens(ctx context.Context) ([]registry.Token, error)
	RevokeToken(ctx context.Context, ref string, by operate.Attribution) (registry.Token, error)
	// Token returns the registration token of a secret. A secret that is unknown, expired or revoked is NotFound.
	Token(ctx context.Context, secret string) (registry.Token, error)
	// Usage returns the time on servers by day, account and server; account "" = all accounts.
	Usage(ctx context.Context, account, since string) ([]serverusage.Day, error)
	// Change drains, resumes or removes a server.
	Change(ctx context.Context, verb, ref string, by operate.Attribution) (operateservers.View, error)
}

// registerRoute is the only route that registration tokens may call.
const registerRoute = "POST /servers"

func (s *server) serverRoutes() map[string]route {
	if s.Servers == nil {
		return nil
	}
	return map[string]route{
		"GET /servers":                {s.listServers, nil},
		registerRoute:                 {s.addServer, nil},
		"GET /servers/usage":          {s.showServerUsage, parameters{"account", "since"}},
		"GET /servers/tokens":         {s.listTokens, nil},
		"POST /servers/tokens":        {s.addToken, nil},
		"DELETE /servers/tokens/{id}": {s.revokeToken, nil},
		"GET /servers/{id}":           {s.showServer, nil},
		"POST /servers/{id}/{change}": {s.changeServer, nil},
	}
}

// listServers serves GET /admin/servers.
func (s *server) listServers(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Servers.List(r.Context())
	if err != nil {
		return err
	}
	waiting, err := s.Servers.Waiting(r.Context())
	return respond(w, http.StatusOK, map[string]any{"servers": all, "waiting": shownWaits(waiting)}, err)
}

// waitBody is a segment that waits for a server.
type waitBody struct {
	Job     string    `json:"job"`
	Segment int       `json:"segment"`
	Account string    `json:"account"`
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason"`
	Ahead   int       `json:"ahead"`
}

func shownWaits(waiting []registry.Waiting) []waitBody {
	out := make([]waitBody, 0, len(waiting))
	for _, w := range waiting {
		out = append(out, waitBody{string(w.Job), w.Unit, w.Account, w.Since, w.Reason, w.Ahead})
	}
	return out
}

// showServer serves GET /admin/servers/{id}.
func (s *server) showServer(w http.ResponseWriter, r *http.Request) error {
	v, err := s.Servers.Show(r.Context(), r.PathValue("id"))
	return respond(w, http.StatusOK, v, err)
}

// maxExpiresIn bounds the time after which a registration expires, in seconds: a year.
const maxExpiresIn = 365 * 24 * 3600

// addServer serves POST /admin/servers, for operators and for machines with a registration token.
func (s *server) addServer(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		URL       string            `json:"url"`
		Labels    []string          `json:"labels"`
		Slots     int               `json:"slots"`
		Headers   map[string]string `json:"headers"`
		ExpiresIn int               `json:"expires_in"` // seconds
		Price     string            `json:"price_usd"`  // of a second, a decimal number as text
	}
	err := decode(r, &body)
	if err != nil {
		return err
	}
	if body.ExpiresIn < 0 || body.ExpiresIn > maxExpiresIn {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "expires_in must be a number of seconds of at most %d; 0 = never", maxExpiresIn)
	}
	asked := operateservers.Request{
		URL: body.URL, Labels: body.Labels, Slots: body.Slots, Headers: body.Headers, ExpiresIn: time.Duration(body.ExpiresIn) * time.Second,
		Token: registrar(r), From: s.sender(r),
	}
	if body.Price != "" {
		if asked.Token != nil {
			return fault.New(fault.Invalid, fault.CodeInvalidRequest, "price_usd cannot be given: the registration token sets the price of the server")
		}
		if asked.Price, err = credit.ParseDollars(body.Price); err != nil {
			return errPrice(err)
		}
	}
	by, err := body.registeredBy(r, asked.Token)
	if err != nil {
		return err
	}
	v, err := s.Servers.Add(r.Context(), asked, by)
	if err != nil {
		return err
	}
	if asked.Token != nil {
		write(w, http.StatusCreated, registeredBody{v.ID, v.URL, v.State, v.Labels, v.Slots, v.ExpiresAt})
		return nil
	}
	write(w, http.StatusCreated, v)
	return nil
}

func errPrice(err error) error {
	return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "price_usd must be the price of a second in US dollars, such as \"0.0005\"")
}

// showServerUsage serves GET /admin/servers/usage.
func (s *server) showServerUsage(w http.ResponseWriter, r *http.Request) error {
	days, err := s.Servers.Usage(r.Context(), r.URL.Query().Get("account"), r.URL.Query().Get("since"))
	return respond(w, http.StatusOK, map[string]any{"usage": append([]serverusage.Day{}, days...)}, err)
}

// registeredBy is by for registrations. A registration token is an actor itself and need not give a reason.
func (c change) registeredBy(r *http.Request, t *registry.Token) (operate.Attribution, error) {
	if t == nil {
		return c.by(r)
	}
	if len(c.Reason) > maxReason || !isText(c.Reason) {
		return operate.Attribution{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "a reason is a text of at most %d bytes without NUL characters", maxReason)
	}
	return operate.Attribution{Reason: c.Reason, RequestID: r.Header.Get(requestHeader)}, nil
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

// tokenBody is a registration token. Secret is set only when it is made.
type tokenBody struct {
	registry.Token
	Secret string `json:"secret,omitempty"`
}

// listTokens serves GET /admin/servers/tokens.
func (s *server) listTokens(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Servers.Tokens(r.Context())
	if err != nil {
		return err
	}
	shown := make([]tokenBody, 0, len(all))
	for _, t := range all {
		shown = append(shown, tokenBody{Token: t})
	}
	write(w, http.StatusOK, map[string]any{"tokens": shown})
	return nil
}

// addToken serves POST /admin/servers/tokens.
func (s *server) addToken(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		Name  string   `json:"name"`
		Hosts []string `json:"hosts"`
		Price string   `json:"price_usd"`
	}
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	asked := operateservers.TokenRequest{Name: body.Name, Hosts: body.Hosts}
	if body.Price != "" {
		if asked.Price, err = credit.ParseDollars(body.Price); err != nil {
			return errPrice(err)
		}
	}
	secret, t, err := s.Servers.AddToken(r.Context(), asked, by)
	return respond(w, http.StatusCreated, tokenBody{t, secret}, err)
}

// revokeToken serves DELETE /admin/servers/tokens/{id}.
func (s *server) revokeToken(w http.ResponseWriter, r *http.Request) error {
	by, err := attributionOf(r)
	if err != nil {
		return err
	}
	if _, err := s.Servers.RevokeToken(r.Context(), r.PathValue("id"), by); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// changeServer serves POST /admin/servers/{id}/drain, …/resume and …/remove.
func (s *server) changeServer(w http.ResponseWriter, r *http.Request) error {
	verb := r.PathValue("change")
	if verb != "drain" && verb != "resume" && verb != "remove" {
		return fault.New(fault.NotFound, fault.CodeNotFound, "there is nothing at this path")
	}
	var body change
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	v, err := s.Servers.Change(r.Context(), verb, r.PathValue("id"), by)
	return respond(w, http.StatusOK, v, err)
}
