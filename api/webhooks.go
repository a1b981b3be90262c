package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/fault"
)

// WebhookEndpoints carries out commands on endpoints; webhook.Service is it.
type WebhookEndpoints interface {
	Register(ctx context.Context, account string, w webhook.Wish, by webhook.By) (webhook.Shown, string, error)
	Endpoints(ctx context.Context, account string) ([]webhook.Shown, error)
	Endpoint(ctx context.Context, account string, id webhook.ID) (webhook.Shown, error)
	Change(ctx context.Context, account string, id webhook.ID, w webhook.Wish, by webhook.By) (webhook.Shown, error)
	Rotate(ctx context.Context, account string, id webhook.ID, overlap time.Duration, by webhook.By) (string, time.Time, error)
	Remove(ctx context.Context, account string, id webhook.ID, by webhook.By) error
	Test(ctx context.Context, account string, id webhook.ID, by webhook.By) (uuid.UUID, error)
	Replay(ctx context.Context, account string, id webhook.ID, only *uuid.UUID, by webhook.By) (int, error)
}

// WebhookDeliveries reads what became of messages; postgres.Webhooks is it.
type WebhookDeliveries interface {
	Deliveries(ctx context.Context, q webhook.Query) (webhook.Page, error)
	Delivery(ctx context.Context, account string, id uuid.UUID) (webhook.Delivery, error)
}

// Webhooks are the parts behind the routes of webhooks, which are an addition of ours to the v2 surface.
type Webhooks struct {
	Endpoints  WebhookEndpoints
	Deliveries WebhookDeliveries
}

func (s *server) webhookRoutes() []edge.Route {
	if s.Webhooks == nil {
		return nil
	}
	return edge.V2(
		edge.Route{Method: http.MethodGet, Path: "/webhooks", Handle: s.listWebhooks},
		edge.Route{Method: http.MethodPost, Path: "/webhooks", Access: edge.Write, Handle: s.postWebhook},
		edge.Route{Method: http.MethodGet, Path: "/webhooks/:id", Handle: s.getWebhook},
		edge.Route{Method: http.MethodPatch, Path: "/webhooks/:id", Access: edge.Write, Handle: s.patchWebhook},
		edge.Route{Method: http.MethodDelete, Path: "/webhooks/:id", Access: edge.Write, Handle: s.deleteWebhook},
		edge.Route{Method: http.MethodPost, Path: "/webhooks/:id/secret", Access: edge.Write, Handle: s.rotateWebhook},
		edge.Route{Method: http.MethodPost, Path: "/webhooks/:id/test", Access: edge.Write, Handle: s.testWebhook},
		edge.Route{Method: http.MethodPost, Path: "/webhooks/:id/replay", Access: edge.Write, Handle: s.replayWebhook},
		edge.Route{Method: http.MethodGet, Path: "/webhooks/:id/deliveries", Handle: s.listDeliveries},
		edge.Route{Method: http.MethodGet, Path: "/webhooks/:id/deliveries/:delivery", Handle: s.getDelivery},
		edge.Route{Method: http.MethodPost, Path: "/webhooks/:id/deliveries/:delivery/replay", Access: edge.Write, Handle: s.replayDelivery},
	)
}

// webhookBody is an endpoint as its owner sees it. Secret is there once: when it is made.
type webhookBody struct {
	ID          webhook.ID    `json:"id"`
	URL         string        `json:"url"`
	Events      []string      `json:"events"`
	Description string        `json:"description"`
	Enabled     bool          `json:"enabled"`
	Disabled    webhook.Cause `json:"disabled_reason,omitempty"`
	DisabledAt  *string       `json:"disabled_at"`
	CreatedAt   string        `json:"created_at"`
	RotatedAt   *string       `json:"secret_rotated_at"`
	Secret      string        `json:"secret,omitempty"`
}

func renderWebhook(w webhook.Shown) webhookBody {
	return webhookBody{
		ID: w.ID, URL: w.URL, Events: w.Events, Description: w.Description, Enabled: w.Disabled == "", Disabled: w.Disabled,
		DisabledAt: edge.TimestampOrNil(w.DisabledAt), CreatedAt: edge.Timestamp(w.CreatedAt), RotatedAt: edge.TimestampOrNil(w.RotatedAt),
	}
}

func webhookID(c *gin.Context) (webhook.ID, error) { return webhook.ParseID(c.Param("id")) }

// by says in facts who asked.
func by(c *gin.Context) webhook.By {
	return webhook.By{Actor: edge.Caller(c).Account, RequestID: edge.RequestID(c)}
}

// listWebhooks: GET /api/v2/webhooks.
func (s *server) listWebhooks(c *gin.Context) error {
	all, err := s.Webhooks.Endpoints.Endpoints(c.Request.Context(), edge.Caller(c).Account)
	if err != nil {
		return err
	}
	bodies := make([]webhookBody, len(all))
	for i, w := range all {
		bodies[i] = renderWebhook(w)
	}
	c.PureJSON(http.StatusOK, map[string]any{"webhooks": bodies})
	return nil
}

type webhookRequest struct {
	URL         *string  `json:"url"`
	Events      []string `json:"events"`
	Description *string  `json:"description"`
	Enabled     *bool    `json:"enabled"`
}

func (r webhookRequest) wish() webhook.Wish {
	return webhook.Wish{URL: r.URL, Events: r.Events, Description: r.Description, Enabled: r.Enabled}
}

// postWebhook registers an endpoint and shows its secret, once: POST /api/v2/webhooks.
func (s *server) postWebhook(c *gin.Context) error {
	var req webhookRequest
	if err := request.Strict(c, &req); err != nil {
		return err
	}
	if req.Enabled != nil {
		return httperr.Invalidf("a webhook is enabled when it is made")
	}
	made, secret, err := s.Webhooks.Endpoints.Register(c.Request.Context(), edge.Caller(c).Account, req.wish(), by(c))
	if err != nil {
		return err
	}
	body := renderWebhook(made)
	body.Secret = secret
	c.Header("Cache-Control", "no-store")
	c.PureJSON(http.StatusCreated, body)
	return nil
}

// getWebhook: GET /api/v2/webhooks/{id}.
func (s *server) getWebhook(c *gin.Context) error {
	w, err := s.webhook(c)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, renderWebhook(w))
	return nil
}

func (s *server) webhook(c *gin.Context) (webhook.Shown, error) {
	id, err := webhookID(c)
	if err != nil {
		return webhook.Shown{}, err
	}
	return s.Webhooks.Endpoints.Endpoint(c.Request.Context(), edge.Caller(c).Account, id)
}

// patchWebhook changes what the body names: PATCH /api/v2/webhooks/{id}.
func (s *server) patchWebhook(c *gin.Context) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	var req webhookRequest
	if err := request.Strict(c, &req); err != nil {
		return err
	}
	w, err := s.Webhooks.Endpoints.Change(c.Request.Context(), edge.Caller(c).Account, id, req.wish(), by(c))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, renderWebhook(w))
	return nil
}

// deleteWebhook takes an endpoint away with its deliveries: DELETE /api/v2/webhooks/{id}.
func (s *server) deleteWebhook(c *gin.Context) error {
	id, err := webhookID(c)
	if err == nil {
		err = s.Webhooks.Endpoints.Remove(c.Request.Context(), edge.Caller(c).Account, id, by(c))
	}
	if err != nil {
		return err
	}
	edge.NoContent(c)
	return nil
}

// rotateWebhook makes a new secret, shown once; the old one signs too for a while: POST
// /api/v2/webhooks/{id}/secret.
func (s *server) rotateWebhook(c *gin.Context) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	var req struct {
		OldGoodFor *int64 `json:"old_good_for"` // seconds
	}
	if err := request.Strict(c, &req); err != nil {
		return err
	}
	overlap := webhook.DefaultOverlap
	if req.OldGoodFor != nil {
		if *req.OldGoodFor < 0 || *req.OldGoodFor > int64(webhook.MaxOverlap/time.Second) {
			return httperr.Invalidf("old_good_for is a number of seconds up to %d", int64(webhook.MaxOverlap/time.Second))
		}
		overlap = time.Duration(*req.OldGoodFor) * time.Second
	}
	secret, until, err := s.Webhooks.Endpoints.Rotate(c.Request.Context(), edge.Caller(c).Account, id, overlap, by(c))
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	c.PureJSON(http.StatusOK, map[string]any{"secret": secret, "old_good_until": edge.Timestamp(until)})
	return nil
}

// testWebhook sends a message of type webhook.test: POST /api/v2/webhooks/{id}/test.
func (s *server) testWebhook(c *gin.Context) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	delivery, err := s.Webhooks.Endpoints.Test(c.Request.Context(), edge.Caller(c).Account, id, by(c))
	if err != nil {
		return err
	}
	return s.answerDelivery(c, id, delivery, http.StatusAccepted)
}

// replayWebhook attempts all dead letters of an endpoint again: POST /api/v2/webhooks/{id}/replay.
func (s *server) replayWebhook(c *gin.Context) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	n, err := s.Webhooks.Endpoints.Replay(c.Request.Context(), edge.Caller(c).Account, id, nil, by(c))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusAccepted, map[string]any{"replayed": n, "more": n == webhook.MostReplayed})
	return nil
}

// deliveryBody is a delivery. Its id is the webhook-id header of every attempt.
type deliveryBody struct {
	ID        uuid.UUID       `json:"id"`
	Webhook   webhook.ID      `json:"webhook_id"`
	Type      webhook.Kind    `json:"type"`
	Status    webhook.State   `json:"status"`
	Attempts  int             `json:"attempts"`
	Replays   int             `json:"replays"`
	CreatedAt string          `json:"created_at"`
	NextAt    *string         `json:"next_attempt_at"`
	EndedAt   *string         `json:"completed_at"`
	Tries     []tryBody       `json:"last_attempts"`
	Payload   json.RawMessage `json:"payload"`
}

type tryBody struct {
	At     string          `json:"at"`
	Status *int            `json:"status_code"`
	Error  webhook.Problem `json:"error,omitempty"`
	Millis int64           `json:"duration_ms"`
}

func renderDelivery(d webhook.Delivery) deliveryBody {
	body := deliveryBody{
		ID: d.ID, Webhook: d.Webhook, Type: d.Kind, Status: d.State, Attempts: d.Attempts, Replays: d.Replays,
		CreatedAt: edge.Timestamp(d.CreatedAt), EndedAt: edge.TimestampOrNil(d.EndedAt), Tries: make([]tryBody, len(d.Tries)), Payload: d.Body,
	}
	if d.State == webhook.Pending {
		body.NextAt = edge.TimestampOrNil(&d.DueAt)
	}
	for i, t := range d.Tries {
		body.Tries[i] = tryBody{At: edge.Timestamp(t.At), Error: t.Error, Millis: t.Millis}
		if t.Status != 0 {
			body.Tries[i].Status = &t.Status
		}
	}
	return body
}

// listDeliveries lists deliveries newest first: GET /api/v2/webhooks/{id}/deliveries?status=&limit=&cursor=.
func (s *server) listDeliveries(c *gin.Context) error {
	w, err := s.webhook(c)
	if err != nil {
		return err
	}
	q := webhook.Query{Account: edge.Caller(c).Account, Webhook: w.ID, State: webhook.State(c.Query("status"))}
	if q.State != "" && !slices.Contains(webhook.States(), q.State) {
		return httperr.Invalidf("status must be pending, delivered or dead")
	}
	if q.Limit, err = request.Limit(c, defaultListedV2); err != nil {
		return err
	}
	if text, ok := c.GetQuery("cursor"); ok {
		if q.Before, err = parseDeliveryCursor(text); err != nil {
			return err
		}
	}
	page, err := s.Webhooks.Deliveries.Deliveries(c.Request.Context(), q)
	if err != nil {
		return err
	}
	body := struct {
		Deliveries []deliveryBody `json:"deliveries"`
		Next       string         `json:"next_cursor,omitempty"`
	}{Deliveries: make([]deliveryBody, len(page.Deliveries))}
	for i, d := range page.Deliveries {
		body.Deliveries[i] = renderDelivery(d)
	}
	if page.Next != 0 {
		body.Next = base64.RawURLEncoding.EncodeToString(strconv.AppendInt([]byte("w"), page.Next, 10))
	}
	c.PureJSON(http.StatusOK, body)
	return nil
}

func parseDeliveryCursor(text string) (int64, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(raw) > 1 && raw[0] == 'w' {
		if n, err := strconv.ParseInt(string(raw[1:]), 10, 64); err == nil && n > 0 {
			return n, nil
		}
	}
	return 0, fault.New(fault.Invalid, "invalid_cursor", "the cursor is not one of ours")
}

// deliveryID returns the endpoint and the delivery that a path names.
func deliveryID(c *gin.Context) (webhook.ID, uuid.UUID, error) {
	id, err := webhookID(c)
	delivery, parseErr := uuid.Parse(c.Param("delivery"))
	if err == nil && parseErr != nil {
		err = webhook.ErrNoDelivery()
	}
	return id, delivery, err
}

// getDelivery: GET /api/v2/webhooks/{id}/deliveries/{delivery}.
func (s *server) getDelivery(c *gin.Context) error {
	id, delivery, err := deliveryID(c)
	if err != nil {
		return err
	}
	return s.answerDelivery(c, id, delivery, http.StatusOK)
}

func (s *server) answerDelivery(c *gin.Context, id webhook.ID, delivery uuid.UUID, status int) error {
	d, err := s.Webhooks.Deliveries.Delivery(c.Request.Context(), edge.Caller(c).Account, delivery)
	if err == nil && d.Webhook != id {
		err = webhook.ErrNoDelivery()
	}
	if err != nil {
		return err
	}
	c.PureJSON(status, renderDelivery(d))
	return nil
}

// replayDelivery attempts one ended delivery again: POST /api/v2/webhooks/{id}/deliveries/{delivery}/replay.
func (s *server) replayDelivery(c *gin.Context) error {
	id, delivery, err := deliveryID(c)
	if err != nil {
		return err
	}
	if _, err := s.Webhooks.Endpoints.Replay(c.Request.Context(), edge.Caller(c).Account, id, &delivery, by(c)); err != nil {
		return err
	}
	return s.answerDelivery(c, id, delivery, http.StatusAccepted)
}
