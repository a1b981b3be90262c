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

// Limits on the endpoints of an account.
const (
	MaxEndpoints   = 20
	maxDescription = 200 // characters
)

// DefaultOverlap is how long the previous key keeps signing after a rotation, by default.
const DefaultOverlap = 24 * time.Hour

// MaxOverlap is the longest overlap that a rotation may request.
const MaxOverlap = 7 * 24 * time.Hour

// EndpointReader reads the endpoints of accounts. Its results are never older than the log.
type EndpointReader interface {
	Book(ctx context.Context, account string) (Book, error)
}

// Effect is the side effect of a change, made in the transaction that appends its events.
type Effect int

// The effects of changes.
const (
	Record  Effect = iota // no side effect
	Put                   // store Sealed
	Enable                // resume deliveries
	Disable               // stop deliveries; pending ones become dead letters
	Remove                // delete the endpoint's secrets and deliveries
	Enqueue               // put Delivery into the queue
)

// Change holds the events of a command and their side effect.
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

// ReplayRequest is a command to put ended deliveries of an endpoint back into the queue.
type ReplayRequest struct {
	Account string
	Webhook ID
	Only    *uuid.UUID // nil: all dead letters, oldest first, up to Most
	Most    int
	Meta    eventlog.Meta
}

// Store keeps the secrets and deliveries of endpoints. The log holds neither.
type Store interface {
	// Commit records a change, all of it or nothing. A stream at another version is Conflict
	// (eventlog.ErrVersion).
	Commit(ctx context.Context, c Change) error
	// Sealed returns the encrypted secrets of the endpoints of an account.
	Sealed(ctx context.Context, account string) (map[ID][]byte, error)
	// Reseal replaces the encrypted secrets of an endpoint if they still equal old.
	Reseal(ctx context.Context, id ID, old, fresh []byte) error
	// Replay returns how many deliveries will be attempted again. A named delivery that is absent or has not
	// ended is NotFound.
	Replay(ctx context.Context, r ReplayRequest) (int, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Reader EndpointReader
	Store  Store
	Sealer Sealer
	Allow  []string // host:port pairs allowed although they are not public or not https
}

// Service carries out commands on endpoints.
type Service struct{ Deps }

// NewService returns the service over deps.
func NewService(deps Deps) *Service { return &Service{deps} }

// EndpointWithURL is an endpoint with its URL, as its owner sees it.
type EndpointWithURL struct {
	Endpoint
	URL string
}

// Request is a request to create or change an endpoint. A nil field keeps the current value, or takes the default.
type Request struct {
	URL         *string
	Events      []string
	Description *string
	Enabled     *bool
}

func (w Request) check(allow []string) (Request, string, error) {
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
		return w, "", fault.New(fault.Invalid, fault.CodeInvalidRequest, "description may have at most %d characters", maxDescription)
	}
	return w, host, nil
}

// attempts bounds how often a command is retried after a concurrent change to the account's endpoints.
const attempts = 5

// change computes a change from the account's current endpoints and commits it. It retries after a conflict.
func (s *Service) change(ctx context.Context, account string, by eventlog.By, decide func(Book) (Change, error)) error {
	var err error
	for range attempts {
		var book Book
		if book, err = s.Reader.Book(ctx, account); err != nil {
			return err
		}
		c, decideErr := decide(book)
		if decideErr != nil || len(c.Events) == 0 {
			return decideErr
		}
		c.Account, c.Expected, c.Meta = account, book.Version, by.Meta()
		if err = s.Store.Commit(ctx, c); !errors.Is(err, eventlog.ErrVersion) {
			return err
		}
	}
	return err
}

func single(eventType string, data any) []eventlog.Event {
	return []eventlog.Event{eventlog.NewEvent(eventType, data)}
}

// Register adds an endpoint and returns it with its key, which is never shown again. A URL that the account has
// registered already is Conflict, so that a repeated request adds nothing.
func (s *Service) Register(ctx context.Context, account string, w Request, by eventlog.By) (EndpointWithURL, string, error) {
	if w.URL == nil {
		return EndpointWithURL{}, "", badAddress("must be an absolute https address")
	}
	if w.Events == nil {
		w.Events = []string{}
	}
	w, host, err := w.check(s.Allow)
	if err != nil {
		return EndpointWithURL{}, "", err
	}
	id, p := ID(uuid.NewString()), endpointSecrets{URL: *w.URL, Secret: newSecret()}
	sealed, err := p.seal(s.Sealer, id)
	if err != nil {
		return EndpointWithURL{}, "", err
	}
	made := RegisteredV1{Webhook: id, Host: host, Events: w.Events}
	if w.Description != nil {
		made.Description = *w.Description
	}
	err = s.change(ctx, account, by, func(b Book) (Change, error) {
		if len(b.Endpoints) >= MaxEndpoints {
			return Change{}, fault.New(fault.Exhausted, fault.CodeWebhookLimit, "an account may have at most %d webhooks", MaxEndpoints)
		}
		if err := s.unused(ctx, account, p.URL, ""); err != nil {
			return Change{}, err
		}
		return Change{Webhook: id, Effect: Put, Sealed: sealed, Events: single(TypeRegistered, made)}, nil
	})
	if err != nil {
		return EndpointWithURL{}, "", err
	}
	shown, err := s.Endpoint(ctx, account, id)
	return shown, p.Secret, err
}

// unused refuses a URL that another endpoint of the account has.
func (s *Service) unused(ctx context.Context, account, url string, but ID) error {
	places, err := s.secretsOfAll(ctx, account)
	if err != nil {
		return err
	}
	for id, p := range places {
		if p.URL == url && id != but {
			return fault.New(fault.Conflict, fault.CodeWebhookExists, "the account has a webhook with this url: %s", id)
		}
	}
	return nil
}

// secretsOfAll returns the decrypted secrets of the endpoints of an account. An endpoint whose secret key is lost is
// absent; its owner can remove it and register it again.
func (s *Service) secretsOfAll(ctx context.Context, account string) (map[ID]endpointSecrets, error) {
	sealed, err := s.Store.Sealed(ctx, account)
	if err != nil {
		return nil, err
	}
	places := make(map[ID]endpointSecrets, len(sealed))
	for id, raw := range sealed {
		if p, err := openSecrets(s.Sealer, id, raw); err == nil {
			places[id] = p
		}
	}
	return places, nil
}

// Reseal encrypts again all secrets that were not encrypted with the current key. It returns the number of endpoints.
func (s *Service) Reseal(ctx context.Context, account string, present Sealer) (int, error) {
	sealed, err := s.Store.Sealed(ctx, account)
	if err != nil {
		return 0, err
	}
	n := 0
	for id, old := range sealed {
		if _, err := openSecrets(present, id, old); err == nil {
			continue
		}
		p, err := openSecrets(s.Sealer, id, old)
		if err != nil {
			continue // encrypted with a lost key
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

// secretsOf returns the decrypted secrets of an existing endpoint.
func (s *Service) secretsOf(ctx context.Context, account string, id ID) (endpointSecrets, error) {
	places, err := s.secretsOfAll(ctx, account)
	if err != nil {
		return endpointSecrets{}, err
	}
	p, ok := places[id]
	if !ok {
		return endpointSecrets{}, ErrNoEndpoint()
	}
	return p, nil
}

// Endpoints returns the endpoints of an account, oldest first.
func (s *Service) Endpoints(ctx context.Context, account string) ([]EndpointWithURL, error) {
	book, err := s.Reader.Book(ctx, account)
	if err != nil || len(book.Endpoints) == 0 {
		return nil, err
	}
	places, err := s.secretsOfAll(ctx, account)
	if err != nil {
		return nil, err
	}
	shown := make([]EndpointWithURL, len(book.Endpoints))
	for i, e := range book.Endpoints {
		shown[i] = EndpointWithURL{Endpoint: e, URL: places[e.ID].URL}
	}
	return shown, nil
}

// Endpoint returns one endpoint of an account. An unknown endpoint, or another account's, is NotFound.
func (s *Service) Endpoint(ctx context.Context, account string, id ID) (EndpointWithURL, error) {
	all, err := s.Endpoints(ctx, account)
	if err != nil {
		return EndpointWithURL{}, err
	}
	for _, e := range all {
		if e.ID == id {
			return e, nil
		}
	}
	return EndpointWithURL{}, ErrNoEndpoint()
}
