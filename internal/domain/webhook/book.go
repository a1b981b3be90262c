package webhook

import (
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Book holds the endpoints of one account, folded from its stream. Removed endpoints are absent.
type Book struct {
	Version   int64
	Endpoints []Endpoint // oldest first
}

// Endpoint returns the endpoint with that id, or NotFound.
func (b Book) Endpoint(id ID) (Endpoint, error) {
	for _, e := range b.Endpoints {
		if e.ID == id {
			return e, nil
		}
	}
	return Endpoint{}, ErrNoEndpoint()
}

// Fold applies one decoded event. An event at or below the folded version changes nothing. An event of an unknown
// type only moves the version.
func (b Book) Fold(rec eventlog.Recorded, data any) Book {
	if rec.Version <= b.Version {
		return b
	}
	b.Version, b.Endpoints = rec.Version, slices.Clone(b.Endpoints)
	at := rec.RecordedAt.UTC()
	switch e := data.(type) {
	case RegisteredV1:
		b.Endpoints = append(b.Endpoints, Endpoint{
			ID: e.Webhook, Host: e.Host, Events: e.Events, Description: e.Description, Position: rec.Position, CreatedAt: at,
		})
	case ChangedV1:
		b.change(e.Webhook, func(w *Endpoint) { w.apply(e) })
	case SecretRotatedV1:
		b.change(e.Webhook, func(w *Endpoint) { w.RotatedAt = &at })
	case EnabledV1:
		b.change(e.Webhook, func(w *Endpoint) { w.Disabled, w.DisabledAt = "", nil })
	case DisabledV1:
		b.change(e.Webhook, func(w *Endpoint) { w.disable(e.Cause, at) })
	case RemovedV1:
		b.Endpoints = slices.DeleteFunc(b.Endpoints, func(w Endpoint) bool { return w.ID == e.Webhook })
	}
	return b
}

func (b Book) change(id ID, do func(*Endpoint)) {
	for i := range b.Endpoints {
		if b.Endpoints[i].ID == id {
			do(&b.Endpoints[i])
		}
	}
}

func (e *Endpoint) apply(c ChangedV1) {
	if c.Host != nil {
		e.Host = *c.Host
	}
	if c.Events != nil {
		e.Events = c.Events
	}
	if c.Description != nil {
		e.Description = *c.Description
	}
}

func (e *Endpoint) disable(cause Cause, at time.Time) { e.Disabled, e.DisabledAt = cause, &at }
