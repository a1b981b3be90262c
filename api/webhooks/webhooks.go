// Package webhooks serves the endpoints of an account and the deliveries to them, an addition of Millrace to the v2
// surface. It promises that the secret of an endpoint is shown once. Package webhook makes and sends the messages.
package webhooks

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Commands registers, changes and tests endpoints; webhook.Service implements it.
type Commands interface {
	Register(ctx context.Context, account string, w webhook.Request, by eventlog.By) (webhook.EndpointWithURL, string, error)
	Endpoints(ctx context.Context, account string) ([]webhook.EndpointWithURL, error)
	Endpoint(ctx context.Context, account string, id webhook.ID) (webhook.EndpointWithURL, error)
	Change(ctx context.Context, account string, id webhook.ID, w webhook.Request, by eventlog.By) (webhook.EndpointWithURL, error)
	Rotate(ctx context.Context, account string, id webhook.ID, overlap time.Duration, by eventlog.By) (string, time.Time, error)
	Remove(ctx context.Context, account string, id webhook.ID, by eventlog.By) error
	Test(ctx context.Context, account string, id webhook.ID, by eventlog.By) (uuid.UUID, error)
	Replay(ctx context.Context, account string, id webhook.ID, only *uuid.UUID, by eventlog.By) (int, error)
}

// DeliveryReader reads deliveries; webhookstore.Store implements it.
type DeliveryReader interface {
	Deliveries(ctx context.Context, q webhook.Query) (webhook.Page, error)
	Delivery(ctx context.Context, account string, id uuid.UUID) (webhook.Delivery, error)
}

// Deps are the dependencies of the surface.
type Deps struct {
	Endpoints  Commands
	Deliveries DeliveryReader
}

// Surface serves the routes of this package.
type Surface struct{ Deps }

// New returns the surface.
func New(deps Deps) *Surface { return &Surface{deps} }

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route {
	return edge.V2(
		edge.Route{Method: http.MethodGet, Path: "/webhooks", Handle: s.listWebhooks},
		edge.Route{Method: http.MethodPost, Path: "/webhooks", Access: edge.Write, Handle: s.postWebhook},
		edge.Route{Method: http.MethodGet, Path: "/webhooks/:id", Handle: s.getWebhook},
		edge.Route{Method: http.MethodPatch, Path: "/webhooks/:id", Access: edge.Write, Handle: edge.Of(webhookID, s.patchWebhook)},
		edge.Route{Method: http.MethodDelete, Path: "/webhooks/:id", Access: edge.Write, Handle: s.deleteWebhook},
		edge.Route{Method: http.MethodPost, Path: "/webhooks/:id/secret", Access: edge.Write, Handle: edge.Of(webhookID, s.rotateWebhook)},
		edge.Route{Method: http.MethodPost, Path: "/webhooks/:id/test", Access: edge.Write, Handle: edge.Of(webhookID, s.testWebhook)},
		edge.Route{Method: http.MethodPost, Path: "/webhooks/:id/replay", Access: edge.Write, Handle: edge.Of(webhookID, s.replayWebhook)},
		edge.Route{Method: http.MethodGet, Path: "/webhooks/:id/deliveries", Handle: edge.Of(s.webhook, s.listDeliveries)},
		edge.Route{Method: http.MethodGet, Path: "/webhooks/:id/deliveries/:delivery", Handle: s.getDelivery},
		edge.Route{Method: http.MethodPost, Path: "/webhooks/:id/deliveries/:delivery/replay", Access: edge.Write, Handle: s.replayDelivery},
	)
}

// webhookBody is an endpoint as its owner sees it. Secret is set only when the secret is made.
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

func renderWebhook(w webhook.EndpointWithURL) webhookBody {
	return webhookBody{
		ID: w.ID, URL: w.URL, Events: w.Events, Description: w.Description, Enabled: w.Disabled == "", Disabled: w.Disabled,
		DisabledAt: edge.TimestampOrNil(w.DisabledAt), CreatedAt: edge.Timestamp(w.CreatedAt), RotatedAt: edge.TimestampOrNil(w.RotatedAt),
	}
}

func webhookID(c *gin.Context) (webhook.ID, error) { return webhook.ParseID(c.Param("id")) }

// actor returns the actor of a change for its event.
func actor(c *gin.Context) eventlog.By {
	return eventlog.By{Actor: edge.Caller(c).Account, RequestID: edge.RequestID(c)}
}

// listWebhooks: GET /api/v2/webhooks.
func (s *Surface) listWebhooks(c *gin.Context) error {
	all, err := s.Endpoints.Endpoints(c.Request.Context(), edge.Caller(c).Account)
	if err != nil {
		return err
	}
	bodies := make([]webhookBody, len(all))
	for i, w := range all {
		bodies[i] = renderWebhook(w)
	}
	return edge.OK(c, map[string]any{"webhooks": bodies}, nil)
}

type webhookRequest struct {
	URL         *string  `json:"url"`
	Events      []string `json:"events"`
	Description *string  `json:"description"`
	Enabled     *bool    `json:"enabled"`
}

func (r webhookRequest) change() webhook.Request {
	return webhook.Request{URL: r.URL, Events: r.Events, Description: r.Description, Enabled: r.Enabled}
}

// postWebhook registers an endpoint and shows its secret, once: POST /api/v2/webhooks.
func (s *Surface) postWebhook(c *gin.Context) error {
	var req webhookRequest
	if err := request.Strict(c, &req); err != nil {
		return err
	}
	if req.Enabled != nil {
		return httperr.Invalidf("a new webhook is always enabled: leave enabled out")
	}
	made, secret, err := s.Endpoints.Register(c.Request.Context(), edge.Caller(c).Account, req.change(), actor(c))
	if err != nil {
		return err
	}
	body := renderWebhook(made)
	body.Secret = secret
	c.Header("Cache-Control", "no-store")
	return edge.Answer(c, http.StatusCreated, body, nil)
}

// getWebhook: GET /api/v2/webhooks/{id}.
func (s *Surface) getWebhook(c *gin.Context) error {
	w, err := s.webhook(c)
	return edge.OK(c, renderWebhook(w), err)
}

func (s *Surface) webhook(c *gin.Context) (webhook.EndpointWithURL, error) {
	id, err := webhookID(c)
	if err != nil {
		return webhook.EndpointWithURL{}, err
	}
	return s.Endpoints.Endpoint(c.Request.Context(), edge.Caller(c).Account, id)
}

// patchWebhook changes the fields that the body names: PATCH /api/v2/webhooks/{id}.
func (s *Surface) patchWebhook(c *gin.Context, id webhook.ID) error {
	var req webhookRequest
	if err := request.Strict(c, &req); err != nil {
		return err
	}
	w, err := s.Endpoints.Change(c.Request.Context(), edge.Caller(c).Account, id, req.change(), actor(c))
	return edge.OK(c, renderWebhook(w), err)
}

// deleteWebhook deletes an endpoint and its deliveries: DELETE /api/v2/webhooks/{id}.
func (s *Surface) deleteWebhook(c *gin.Context) error {
	id, err := webhookID(c)
	if err == nil {
		err = s.Endpoints.Remove(c.Request.Context(), edge.Caller(c).Account, id, actor(c))
	}
	if err != nil {
		return err
	}
	edge.NoContent(c)
	return nil
}

// rotateWebhook makes a new secret, which is shown once: POST /api/v2/webhooks/{id}/secret. The old secret keeps
// signing for a while.
func (s *Surface) rotateWebhook(c *gin.Context, id webhook.ID) error {
	var req struct {
		OldGoodFor *int64 `json:"old_good_for"` // seconds
	}
	if err := request.Strict(c, &req); err != nil {
		return err
	}
	overlap := webhook.DefaultOverlap
	if req.OldGoodFor != nil {
		if *req.OldGoodFor < 0 || *req.OldGoodFor > int64(webhook.MaxOverlap/time.Second) {
			return httperr.Invalidf("old_good_for must be a number of seconds from 0 to %d", int64(webhook.MaxOverlap/time.Second))
		}
		overlap = time.Duration(*req.OldGoodFor) * time.Second
	}
	secret, until, err := s.Endpoints.Rotate(c.Request.Context(), edge.Caller(c).Account, id, overlap, actor(c))
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	return edge.OK(c, map[string]any{"secret": secret, "old_good_until": edge.Timestamp(until)}, nil)
}

// testWebhook sends a message of type webhook.test: POST /api/v2/webhooks/{id}/test.
func (s *Surface) testWebhook(c *gin.Context, id webhook.ID) error {
	delivery, err := s.Endpoints.Test(c.Request.Context(), edge.Caller(c).Account, id, actor(c))
	if err != nil {
		return err
	}
	return s.writeDelivery(c, id, delivery, http.StatusAccepted)
}

// replayWebhook attempts all dead letters of an endpoint again: POST /api/v2/webhooks/{id}/replay.
func (s *Surface) replayWebhook(c *gin.Context, id webhook.ID) error {
	n, err := s.Endpoints.Replay(c.Request.Context(), edge.Caller(c).Account, id, nil, actor(c))
	return edge.Answer(c, http.StatusAccepted, map[string]any{"replayed": n, "more": n == webhook.MostReplayed}, err)
}

// defaultListed is the size of a page of deliveries.
const defaultListed = 20

// listing makes the cursors of deliveries, which are positions in the order of creation.
var listing = request.Listing[int64]{Kind: "w"}

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
func (s *Surface) listDeliveries(c *gin.Context, w webhook.EndpointWithURL) error {
	q := webhook.Query{Account: edge.Caller(c).Account, Webhook: w.ID, State: webhook.State(c.Query("status"))}
	if q.State != "" && !slices.Contains(webhook.States(), q.State) {
		return httperr.Invalidf("status must be pending, delivered or dead")
	}
	var err error
	if q.Limit, err = request.Limit(c, defaultListed); err != nil {
		return err
	}
	if q.Before, err = listing.Read(c, "cursor"); err != nil {
		return err
	}
	page, err := s.Deliveries.Deliveries(c.Request.Context(), q)
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
	body.Next = listing.Format(page.Next)
	return edge.OK(c, body, nil)
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
func (s *Surface) getDelivery(c *gin.Context) error {
	id, delivery, err := deliveryID(c)
	if err != nil {
		return err
	}
	return s.writeDelivery(c, id, delivery, http.StatusOK)
}

func (s *Surface) writeDelivery(c *gin.Context, id webhook.ID, delivery uuid.UUID, status int) error {
	d, err := s.Deliveries.Delivery(c.Request.Context(), edge.Caller(c).Account, delivery)
	if err == nil && d.Webhook != id {
		err = webhook.ErrNoDelivery()
	}
	return edge.Answer(c, status, renderDelivery(d), err)
}

// replayDelivery attempts one ended delivery again: POST /api/v2/webhooks/{id}/deliveries/{delivery}/replay.
func (s *Surface) replayDelivery(c *gin.Context) error {
	id, delivery, err := deliveryID(c)
	if err != nil {
		return err
	}
	if _, err := s.Endpoints.Replay(c.Request.Context(), edge.Caller(c).Account, id, &delivery, actor(c)); err != nil {
		return err
	}
	return s.writeDelivery(c, id, delivery, http.StatusAccepted)
}
