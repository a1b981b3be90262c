package webhook

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Change changes an endpoint and returns the result. A change to the current values records nothing. Enabling an
// endpoint resets its count of failures.
func (s *Service) Change(ctx context.Context, account string, id ID, w Request, by eventlog.By) (EndpointWithURL, error) {
	w, host, err := w.check(s.Allow)
	if err != nil {
		return EndpointWithURL{}, err
	}
	err = s.change(ctx, account, by, func(b Book) (Change, error) {
		e, err := b.Endpoint(id)
		if err != nil {
			return Change{}, err
		}
		return s.changed(ctx, account, e, w, host)
	})
	if err == nil && w.Enabled != nil {
		err = s.enable(ctx, account, id, *w.Enabled, by)
	}
	if err != nil {
		return EndpointWithURL{}, err
	}
	return s.Endpoint(ctx, account, id)
}

// changed returns the change to the fields of an endpoint. It has no events if no field differs.
func (s *Service) changed(ctx context.Context, account string, e Endpoint, w Request, host string) (Change, error) {
	c, made := Change{Webhook: e.ID}, ChangedV1{Webhook: e.ID}
	if w.Events != nil && !slices.Equal(w.Events, e.Events) {
		made.Events = w.Events
	}
	if w.Description != nil && *w.Description != e.Description {
		made.Description = w.Description
	}
	if w.URL != nil {
		p, err := s.secretsOf(ctx, account, e.ID)
		if err != nil {
			return c, err
		}
		if p.URL != *w.URL {
			if err := s.unused(ctx, account, *w.URL, e.ID); err != nil {
				return c, err
			}
			p.URL, made.Host, c.Effect = *w.URL, &host, Put
			if c.Sealed, err = p.seal(s.Sealer, e.ID); err != nil {
				return c, err
			}
		}
	}
	if made.Host != nil || made.Events != nil || made.Description != nil {
		c.Events = single(TypeChanged, made)
	}
	return c, nil
}

func (s *Service) enable(ctx context.Context, account string, id ID, enabled bool, by eventlog.By) error {
	if !enabled {
		return s.Disable(ctx, account, id, ByOwner, by)
	}
	return s.change(ctx, account, by, func(b Book) (Change, error) {
		e, err := b.Endpoint(id)
		if err != nil || e.Disabled == "" {
			return Change{}, err
		}
		return Change{Webhook: id, Effect: Enable, Events: single(TypeEnabled, EnabledV1{Webhook: id})}, nil
	})
}

// Disable stops the deliveries of an endpoint. Disabling a disabled endpoint does nothing.
func (s *Service) Disable(ctx context.Context, account string, id ID, cause Cause, by eventlog.By) error {
	return s.change(ctx, account, by, func(b Book) (Change, error) {
		e, err := b.Endpoint(id)
		if err != nil || e.Disabled != "" {
			return Change{}, err
		}
		return Change{Webhook: id, Effect: Disable, Events: single(TypeDisabled, DisabledV1{Webhook: id, Cause: cause})}, nil
	})
}

// Remove deletes an endpoint and all its deliveries.
func (s *Service) Remove(ctx context.Context, account string, id ID, by eventlog.By) error {
	return s.change(ctx, account, by, func(b Book) (Change, error) {
		if _, err := b.Endpoint(id); err != nil {
			return Change{}, err
		}
		return Change{Webhook: id, Effect: Remove, Events: single(TypeRemoved, RemovedV1{Webhook: id})}, nil
	})
}

// Rotate gives an endpoint a new key and returns it; the key is shown only once. During the overlap, messages are
// also signed with the previous key, so that the receiver has time to switch. An overlap of 0 ends the previous key
// at once.
func (s *Service) Rotate(ctx context.Context, account string, id ID, overlap time.Duration,
	by eventlog.By,
) (secret string, oldUntil time.Time, err error) {
	if overlap < 0 || overlap > MaxOverlap {
		return "", time.Time{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "the old secret may stay valid for 0 to %d seconds",
			int(MaxOverlap.Seconds()))
	}
	err = s.change(ctx, account, by, func(b Book) (Change, error) {
		if _, err := b.Endpoint(id); err != nil {
			return Change{}, err
		}
		p, err := s.secretsOf(ctx, account, id)
		if err != nil {
			return Change{}, err
		}
		secret, oldUntil = newSecret(), time.Now().Add(overlap).UTC().Truncate(time.Second)
		p = endpointSecrets{URL: p.URL, Secret: secret, Old: p.Secret, OldUntil: oldUntil}
		if overlap == 0 {
			p.Old, p.OldUntil = "", time.Time{}
		}
		sealed, err := p.seal(s.Sealer, id)
		if err != nil {
			return Change{}, err
		}
		return Change{
			Webhook: id, Effect: Put, Sealed: sealed,
			Events: single(TypeSecretRotated, SecretRotatedV1{Webhook: id, OldUntil: oldUntil}),
		}, nil
	})
	return secret, oldUntil, err
}

// errDisabled refuses a command that needs an enabled endpoint.
func errDisabled() error {
	return fault.New(fault.Conflict, fault.CodeWebhookDisabled, "the webhook is disabled: enable it first")
}

// Test puts a message of kind Test into the queue of an endpoint and returns its delivery.
func (s *Service) Test(ctx context.Context, account string, id ID, by eventlog.By) (uuid.UUID, error) {
	delivery := uuid.New()
	err := s.change(ctx, account, by, func(b Book) (Change, error) {
		e, err := b.Endpoint(id)
		if err != nil {
			return Change{}, err
		}
		if e.Disabled != "" {
			return Change{}, errDisabled()
		}
		body, err := testMessage(id, time.Now())
		if err != nil {
			return Change{}, err
		}
		d := Delivery{ID: delivery, Account: account, Webhook: id, Kind: Test, Subject: "webhook-" + string(id), Body: body}
		return Change{Webhook: id, Effect: Enqueue, Delivery: d, Events: single(TypeTested, TestedV1{Webhook: id, Delivery: delivery})}, nil
	})
	return delivery, err
}

// MostReplayed bounds the dead letters that one command replays.
const MostReplayed = 1000

// Replay puts one ended delivery of an endpoint back into the queue, or all its dead letters if only is nil, at most
// MostReplayed. It returns the number of deliveries. Their ids do not change.
func (s *Service) Replay(ctx context.Context, account string, id ID, only *uuid.UUID, by eventlog.By) (int, error) {
	book, err := s.Reader.Book(ctx, account)
	if err != nil {
		return 0, err
	}
	e, err := book.Endpoint(id)
	if err != nil {
		return 0, err
	}
	if e.Disabled != "" {
		return 0, errDisabled()
	}
	return s.Store.Replay(ctx, ReplayRequest{Account: account, Webhook: id, Only: only, Most: MostReplayed, Meta: by.Meta()})
}
