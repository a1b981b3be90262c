package admin

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	operatewebhooks "github.com/millrace-dev/millrace/internal/operate/webhooks"
)

// Webhooks are the operators' commands on webhooks.
type Webhooks interface {
	// Webhooks returns the endpoints of an account; "" = of all accounts.
	Webhooks(ctx context.Context, account string) ([]operatewebhooks.Webhook, error)
	Deliveries(ctx context.Context, q webhook.Query) (webhook.Page, error)
	Register(ctx context.Context, account string, w webhook.Request, by operate.Attribution) (webhook.EndpointWithURL, string, error)
	// Do enables, disables, tests or removes an endpoint.
	Do(ctx context.Context, verb string, id webhook.ID, by operate.Attribution) error
	// Replay attempts an ended delivery again; only = nil attempts all dead letters of the endpoint.
	Replay(ctx context.Context, id webhook.ID, only *uuid.UUID, by operate.Attribution) (int, error)
}

func (s *server) webhookRoutes() map[string]route {
	if s.Webhooks == nil {
		return nil
	}
	all := map[string]route{
		"GET /webhooks":                                         {s.listWebhooks, parameters{"account"}},
		"GET /webhooks/deliveries":                              {s.listDeliveries, parameters{"account", "webhook", "status", "limit", "before"}},
		"DELETE /webhooks/{webhook}":                            {s.removeWebhook, nil},
		"POST /accounts/{account}/webhooks":                     {s.registerWebhook, nil},
		"POST /webhooks/{webhook}/deliveries/{delivery}/replay": {s.replayDelivery, nil},
	}
	addVerbs(all, "POST /webhooks/{webhook}/", s.changeWebhook, "enable", "disable", "test", "replay")
	return all
}

// listWebhooks serves GET /admin/webhooks.
func (s *server) listWebhooks(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Webhooks.Webhooks(r.Context(), r.URL.Query().Get("account"))
	return respond(w, http.StatusOK, map[string]any{"webhooks": all}, err)
}

// listDeliveries serves GET /admin/webhooks/deliveries.
func (s *server) listDeliveries(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	q := webhook.Query{Account: query.Get("account"), State: webhook.State(query.Get("status")), Limit: 100}
	if q.State != "" && !slices.Contains(webhook.States(), q.State) {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "status is pending, delivered or dead")
	}
	if text := query.Get("webhook"); text != "" {
		var err error
		if q.Webhook, err = webhook.ParseID(text); err != nil {
			return err
		}
	}
	limit, err := count(query, "limit")
	if err != nil {
		return err
	}
	q.Limit = cmp.Or(limit, q.Limit)
	if q.Before, err = number(query, "before"); err != nil {
		return err
	}
	page, err := s.Webhooks.Deliveries(r.Context(), q)
	if err != nil {
		return err
	}
	answer := map[string]any{"deliveries": operatewebhooks.Deliveries(page.Deliveries)}
	if page.Next != 0 {
		answer["next_before"] = page.Next
	}
	write(w, http.StatusOK, answer)
	return nil
}

// registerWebhook serves POST /admin/accounts/{account}/webhooks.
func (s *server) registerWebhook(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		change
		URL         *string  `json:"url"`
		Events      []string `json:"events"`
		Description *string  `json:"description"`
	}
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	made, secret, err := s.Webhooks.Register(r.Context(), r.PathValue("account"), webhook.Request{URL: body.URL, Events: body.Events, Description: body.Description}, by)
	if err != nil {
		return err
	}
	write(w, http.StatusCreated, struct {
		operatewebhooks.Webhook
		Secret string `json:"secret"`
	}{operatewebhooks.Webhook{Account: r.PathValue("account"), Endpoint: made.Endpoint}, secret})
	return nil
}

// changeWebhook serves POST /admin/webhooks/{webhook}/enable, …/disable, …/test and …/replay.
func (s *server) changeWebhook(w http.ResponseWriter, r *http.Request, verb string) error {
	id, by, err := s.webhookChange(r)
	if err != nil {
		return err
	}
	replayed := 0
	if verb == "replay" {
		replayed, err = s.Webhooks.Replay(r.Context(), id, nil, by)
	} else {
		err = s.Webhooks.Do(r.Context(), verb, id, by)
	}
	if err != nil {
		return err
	}
	answer := map[string]any{"webhook": id, "done": verb}
	if verb == "replay" {
		answer["replayed"] = replayed
	}
	write(w, http.StatusOK, answer)
	return nil
}

func (s *server) webhookChange(r *http.Request) (webhook.ID, operate.Attribution, error) {
	by, err := attributionOf(r)
	if err != nil {
		return "", operate.Attribution{}, err
	}
	id, err := webhook.ParseID(r.PathValue("webhook"))
	return id, by, err
}

// removeWebhook serves DELETE /admin/webhooks/{webhook}.
func (s *server) removeWebhook(w http.ResponseWriter, r *http.Request) error {
	id, by, err := s.webhookChange(r)
	if err == nil {
		err = s.Webhooks.Do(r.Context(), "remove", id, by)
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// replayDelivery serves POST /admin/webhooks/{webhook}/deliveries/{delivery}/replay.
func (s *server) replayDelivery(w http.ResponseWriter, r *http.Request) error {
	id, by, err := s.webhookChange(r)
	if err != nil {
		return err
	}
	only, err := uuid.Parse(r.PathValue("delivery"))
	if err != nil {
		return webhook.ErrNoDelivery()
	}
	n, err := s.Webhooks.Replay(r.Context(), id, &only, by)
	return respond(w, http.StatusOK, map[string]any{"webhook": id, "done": "replay", "replayed": n}, err)
}
