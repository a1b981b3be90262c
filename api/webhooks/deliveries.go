package webhooks

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/cursor"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
)

// defaultListed is the size of a page of deliveries.
const defaultListed = 20

// listing makes the cursors of deliveries, which are positions in the order of creation.
var listing = cursor.Listing[int64]{Kind: "w"}

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
func (s *Surface) listDeliveries(c *gin.Context) error {
	w, err := s.webhook(c)
	if err != nil {
		return err
	}
	q := webhook.Query{Account: edge.Caller(c).Account, Webhook: w.ID, State: webhook.State(c.Query("status"))}
	if q.State != "" && !slices.Contains(webhook.States(), q.State) {
		return httperr.Invalidf("status must be pending, delivered or dead")
	}
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
	if page.Next != 0 {
		body.Next = listing.Format(page.Next)
	}
	c.PureJSON(http.StatusOK, body)
	return nil
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
	if err != nil {
		return err
	}
	c.PureJSON(status, renderDelivery(d))
	return nil
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
