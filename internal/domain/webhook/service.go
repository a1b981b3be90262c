package webhook

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Limits of what an account registers.
const (
	MaxEndpoints   = 20
	maxDescription = 200 // characters
)

// DefaultOverlap is how long the key before signs beside a new one when nothing else is asked for.
const DefaultOverlap = 24 * time.Hour

// MaxOverlap bounds how long it may be asked to.
const MaxOverlap = 7 * 24 * time.Hour

// Books reads the endpoints of accounts, never behind the log.
type Books interface {
	Book(ctx context.Context, account string) (Book, error)
}

// Effect is what a change does beside its events, in their transaction.
type Effect int

// The effects of changes.
const (
	Record  Effect = iota // nothing
	Put                   // keep Sealed
	Enable                // deliveries are made
	Disable               // none are, and those that wait become dead letters
	Remove                // forget what is secret of the endpoint, and its deliveries
	Enqueue               // put Delivery into the queue
)

// Change is the events of a command and what they do.
type Change struct {
	Account  string
	Expected int64 // version of the account's stream
	Events   []eventlog.Event
	Meta     eventlog.Meta
	Webhook  ID
	Effect   Effect
	Sealed   []byte
	Delivery Delivery
}

// Replaying puts ended deliveries of an endpoint back into the queue, with an event.
type Replaying struct {
	Account string
	Webhook ID
	Only    *uuid.UUID // nil: all dead letters, the oldest first, up to Most
	Most    int
	Meta    eventlog.Meta
}

// Store keeps endpoints beside the log.
type Store interface {
	// Commit records a change, all of it or nothing. A stream at another version is Conflict
	// (eventlog.ErrVersion).
	Commit(ctx context.Context, c Change) error
	// Sealed returns what is secret of the endpoints of an account.
	Sealed(ctx context.Context, account string) (map[ID][]byte, error)
	// Reseal replaces what is secret of an endpoint, if it is still old.
	Reseal(ctx context.Context, id ID, old, fresh []byte) error
	// Replay returns how many deliveries will be attempted again. One that is named and has not ended, or is
	// not there, is NotFound.
	Replay(ctx context.Context, r Replaying) (int, error)
}

// Deps are what a Service stands on.
type Deps struct {
	Books  Books
	Store  Store
	Sealer Sealer
	Allow  []string // host:port that may be reached although not public or not https
}

// Service carries out commands on endpoints.
type Service struct{ Deps }

// NewService returns the service over deps.
func NewService(deps Deps) *Service { return &Service{deps} }

// By is who asks for something, and why, for the record.
type By struct{ Actor, Reason, RequestID string }

func (b By) meta() eventlog.Meta {
	return eventlog.Meta{Actor: b.Actor, Reason: b.Reason, RequestID: b.RequestID}
}

// Shown is an endpoint as its owner sees it.
type Shown struct {
	Endpoint
	URL string
}

// Wish is what is asked of an endpoint; nil is as it is, or the default.
type Wish struct {
	URL         *string
	Events      []string
	Description *string
	Enabled     *bool
}

func (w Wish) check(allow []string) (Wish, string, error) {
	var host string
	var err error
	if w.URL != nil {
		if host, err = checkAddress(*w.URL, allow); err != nil {
			return w, "", err
		}
	}
	if w.Events != nil {
		if w.Events, err = checkEvents(w.Events); err != nil {
			return w, "", err
		}
	}
	if w.Description != nil && (!utf8.ValidString(*w.Description) || utf8.RuneCountInString(*w.Description) > maxDescription) {
		return w, "", fault.New(fault.Invalid, "invalid_request", "description has at most %d characters", maxDescription)
	}
	return w, host, nil
}

// attempts bounds how often a command is decided anew because others changed the account meanwhile.
const attempts = 5

// change decides on the account's endpoints as they are and commits, again when it lost a race.
func (s *Service) change(ctx context.Context, account string, by By, decide func(Book) (Change, error)) error {
	var err error
	for range attempts {
		var book Book
		if book, err = s.Books.Book(ctx, account); err != nil {
			return err
		}
		c, decideErr := decide(book)
		if decideErr != nil || len(c.Events) == 0 {
			return decideErr
		}
		c.Account, c.Expected, c.Meta = account, book.Version, by.meta()
		if err = s.Store.Commit(ctx, c); !errors.Is(err, eventlog.ErrVersion) {
			return err
		}
	}
	return err
}

func oneEvent(eventType string, data any) []eventlog.Event {
	return []eventlog.Event{{ID: uuid.New(), Type: eventType, Data: data}}
}

// Register adds an endpoint and returns it with its key, which is shown this once. An address that the
// account has already is Conflict, so that a request that is sent again adds nothing.
func (s *Service) Register(ctx context.Context, account string, w Wish, by By) (Shown, string, error) {
	if w.URL == nil {
		return Shown{}, "", badAddress("must be an absolute https address")
	}
	if w.Events == nil {
		w.Events = []string{}
	}
	w, host, err := w.check(s.Allow)
	if err != nil {
		return Shown{}, "", err
	}
	id, p := ID(uuid.NewString()), place{URL: *w.URL, Secret: newSecret()}
	sealed, err := p.seal(s.Sealer, id)
	if err != nil {
		return Shown{}, "", err
	}
	made := RegisteredV1{Webhook: id, Host: host, Events: w.Events}
	if w.Description != nil {
		made.Description = *w.Description
	}
	err = s.change(ctx, account, by, func(b Book) (Change, error) {
		if len(b.Endpoints) >= MaxEndpoints {
			return Change{}, fault.New(fault.Exhausted, "webhook_limit", "an account has at most %d webhooks", MaxEndpoints)
		}
		if err := s.unused(ctx, account, p.URL, ""); err != nil {
			return Change{}, err
		}
		return Change{Webhook: id, Effect: Put, Sealed: sealed, Events: oneEvent(TypeRegistered, made)}, nil
	})
	if err != nil {
		return Shown{}, "", err
	}
	shown, err := s.Endpoint(ctx, account, id)
	return shown, p.Secret, err
}

// unused refuses an address that another endpoint of the account has.
func (s *Service) unused(ctx context.Context, account, url string, but ID) error {
	places, err := s.places(ctx, account)
	if err != nil {
		return err
	}
	for id, p := range places {
		if p.URL == url && id != but {
			return fault.New(fault.Conflict, "webhook_exists", "the account has a webhook with this url: %s", id)
		}
	}
	return nil
}

// places returns what is secret of the endpoints of an account. One whose secret key is lost is absent: it can be
// removed and registered anew.
func (s *Service) places(ctx context.Context, account string) (map[ID]place, error) {
	sealed, err := s.Store.Sealed(ctx, account)
	if err != nil {
		return nil, err
	}
	places := make(map[ID]place, len(sealed))
	for id, raw := range sealed {
		if p, err := openPlace(s.Sealer, id, raw); err == nil {
			places[id] = p
		}
	}
	return places, nil
}

// Reseal seals anew what the present sealer did not seal, and returns how many endpoints that were.
func (s *Service) Reseal(ctx context.Context, account string, present Sealer) (int, error) {
	sealed, err := s.Store.Sealed(ctx, account)
	if err != nil {
		return 0, err
	}
	n := 0
	for id, old := range sealed {
		if _, err := openPlace(present, id, old); err == nil {
			continue
		}
		p, err := openPlace(s.Sealer, id, old)
		if err != nil {
			continue // by a key that is lost
		}
		fresh, err := p.seal(present, id)
		if err == nil {
			err = s.Store.Reseal(ctx, id, old, fresh)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// place returns what is secret of an endpoint that exists.
func (s *Service) place(ctx context.Context, account string, id ID) (place, error) {
	places, err := s.places(ctx, account)
	if err != nil {
		return place{}, err
	}
	p, ok := places[id]
	if !ok {
		return place{}, ErrNoEndpoint()
	}
	return p, nil
}

// Endpoints returns the endpoints of an account, oldest first.
func (s *Service) Endpoints(ctx context.Context, account string) ([]Shown, error) {
	book, err := s.Books.Book(ctx, account)
	if err != nil || len(book.Endpoints) == 0 {
		return nil, err
	}
	places, err := s.places(ctx, account)
	if err != nil {
		return nil, err
	}
	shown := make([]Shown, len(book.Endpoints))
	for i, e := range book.Endpoints {
		shown[i] = Shown{Endpoint: e, URL: places[e.ID].URL}
	}
	return shown, nil
}

// Endpoint returns one endpoint of an account. Another's and an unknown one are NotFound.
func (s *Service) Endpoint(ctx context.Context, account string, id ID) (Shown, error) {
	all, err := s.Endpoints(ctx, account)
	if err != nil {
		return Shown{}, err
	}
	for _, e := range all {
		if e.ID == id {
			return e, nil
		}
	}
	return Shown{}, ErrNoEndpoint()
}
