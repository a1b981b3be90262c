package accountstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Subscriptions changes the tiers, rights and limits of accounts, and records each change as an event.
type Subscriptions struct{ events *eventstore.Store }

// NewSubscriptions returns the subscriptions that are changed through events.
func NewSubscriptions(events *eventstore.Store) *Subscriptions { return &Subscriptions{events: events} }

// Change applies a change and returns the changed account. Values that are already in force are not recorded. The
// change takes effect from the next request and the next admission on, in every process. An unknown account is
// NotFound.
func (s *Subscriptions) Change(ctx context.Context, c account.Change) (account.Account, error) {
	if err := c.Check(); err != nil {
		return account.Account{}, err
	}
	var a account.Account
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "change account " + c.Account,
		Read: func(q *pgx.Batch) {
			q.Queue(`select `+accountColumns+` from accounts where id = $1 for update`, c.Account).QueryRow(func(row pgx.Row) (err error) {
				a, err = scanAccount(row)
				return err
			})
		},
		Decide: func(_ context.Context, _ postgres.Tx, changes *eventstore.Changes) error {
			events := subscriptionEvents(&a, c)
			if len(events) == 0 {
				return eventstore.ErrNothing
			}
			changes.Queue(`update accounts set tier = $2, active = $3, router = $4, router_models = $5, router_denied = $6, suspended = $7,
				storage_limit = $8, server_labels = $9 where id = $1`,
				a.ID, a.Tier, a.Active, !a.Access.Off, a.Access.Models, append([]string{}, a.Access.Denied...),
				a.Suspended, a.Storage, a.Labels.Allowed)
			return changes.Append(eventlog.AppendTo(account.Stream(a.ID), a.ID,
				eventlog.Meta{Actor: c.Actor, Reason: c.Reason, RequestID: c.RequestID}, events...))
		},
	})
	if err != nil {
		return account.Account{}, err
	}
	return a, nil
}

// subscriptionEvents applies a change to a and returns the events to record.
func subscriptionEvents(a *account.Account, c account.Change) []eventlog.Event {
	var events []eventlog.Event
	add := func(eventType string, data any) {
		events = append(events, eventlog.NewEvent(eventType, data))
	}
	if c.Tier != "" && c.Tier != a.Tier {
		add(account.TypeTierChanged, account.TierChangedV1{Tier: c.Tier, Was: a.Tier})
		a.Tier = c.Tier
	}
	if c.Active != nil && *c.Active != a.Active {
		if a.Active = *c.Active; a.Active {
			add(account.TypeSubscribed, account.SubscribedV1{})
		} else {
			add(account.TypeUnsubscribed, account.UnsubscribedV1{})
		}
	}
	if c.Access != nil && !c.Access.Equal(a.Access) {
		a.Access = *c.Access
		add(account.TypeRouterAccessChanged, account.RouterAccessChangedV1{
			Enabled: !a.Access.Off, Models: a.Access.Models,
			Denied: a.Access.Denied,
		})
	}
	if c.Suspend != nil && *c.Suspend != a.Suspended {
		if a.Suspended = *c.Suspend; a.Suspended {
			add(account.TypeSuspended, account.SuspendedV1{})
		} else {
			add(account.TypeResumed, account.ResumedV1{})
		}
	}
	if c.Storage != nil && !sameLimit(c.Storage.Bytes, a.Storage) {
		add(account.TypeStorageLimited, account.StorageLimitedV1{Bytes: c.Storage.Bytes, Was: a.Storage})
		a.Storage = c.Storage.Bytes
	}
	if c.Labels != nil && !c.Labels.Equal(a.Labels) {
		add(account.TypeServerLabelsChanged, account.ServerLabelsChangedV1{Labels: c.Labels.Allowed, Was: a.Labels.Allowed})
		a.Labels = *c.Labels
	}
	return events
}

func sameLimit(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
