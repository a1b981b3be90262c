package webhooks

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
)

// Webhook is an endpoint of an account, without its address.
type Webhook struct {
	Account string `json:"account"`
	webhook.Endpoint
}

// Delivery is a delivery as operators see it.
type Delivery struct {
	ID        uuid.UUID       `json:"id"`
	Account   string          `json:"account"`
	Webhook   webhook.ID      `json:"webhook"`
	Type      webhook.Kind    `json:"type"`
	Status    webhook.State   `json:"status"`
	Attempts  int             `json:"attempts"`
	Replays   int             `json:"replays"`
	CreatedAt time.Time       `json:"created_at"`
	NextAt    *time.Time      `json:"next_attempt_at,omitempty"`
	EndedAt   *time.Time      `json:"completed_at,omitempty"`
	Tries     []webhook.Try   `json:"last_attempts"`
	Payload   json.RawMessage `json:"payload"`
}

// Deliveries returns deliveries as operators see them.
func Deliveries(all []webhook.Delivery) []Delivery {
	listed := make([]Delivery, len(all))
	for i, d := range all {
		listed[i] = Delivery{
			ID: d.ID, Account: d.Account, Webhook: d.Webhook, Type: d.Kind, Status: d.State, Attempts: d.Attempts, Replays: d.Replays,
			CreatedAt: d.CreatedAt, EndedAt: d.EndedAt, Tries: append([]webhook.Try{}, d.Tries...), Payload: d.Body,
		}
		if d.State == webhook.Pending {
			listed[i].NextAt = &d.DueAt
		}
	}
	return listed
}
