package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// account is the stream, secrets and queue of one account, in memory.
type account struct {
	book     webhook.Book
	sealed   map[webhook.ID][]byte
	changes  []webhook.Change // those that were committed
	replayed []webhook.ReplayRequest
	others   int // changes of somebody else that come before ours
}

func (a *account) Book(context.Context, string) (webhook.Book, error) { return a.book, nil }

func (a *account) Commit(_ context.Context, c webhook.Change) error {
	if a.others > 0 {
		a.others--
		a.book.Version++
	}
	if c.Expected != a.book.Version {
		return eventlog.ErrVersion
	}
	a.changes = append(a.changes, c)
	for _, e := range c.Events {
		a.book = a.book.Fold(eventlog.Recorded{Version: a.book.Version + 1, Position: 10 * (a.book.Version + 1), RecordedAt: time.Now()}, e.Data)
	}
	switch c.Effect {
	case webhook.Put:
		a.sealed[c.Webhook] = c.Sealed
	case webhook.Remove:
		delete(a.sealed, c.Webhook)
	case webhook.Record, webhook.Enable, webhook.Disable, webhook.Enqueue:
	}
	return nil
}

func (a *account) Sealed(context.Context, string) (map[webhook.ID][]byte, error) {
	return a.sealed, nil
}

func (a *account) Reseal(_ context.Context, id webhook.ID, old, fresh []byte) error {
	if bytes.Equal(a.sealed[id], old) {
		a.sealed[id] = fresh
	}
	return nil
}

func (a *account) Replay(_ context.Context, r webhook.ReplayRequest) (int, error) {
	a.replayed = append(a.replayed, r)
	return 3, nil
}

// effect returns the effect and the event of the last change, and how many there were since before.
func (a *account) effect(t *testing.T, before int) (webhook.Effect, any) {
	t.Helper()
	require.Len(t, a.changes, before+1)
	last := a.changes[before]
	require.Len(t, last.Events, 1)
	require.Equal(t, eventlog.Meta{Actor: "acme", Reason: "because", RequestID: "r"}, last.Meta)
	return last.Effect, last.Events[0].Data
}

var acme = eventlog.By{Actor: "acme", Reason: "because", RequestID: "r"}

func newAccount(t *testing.T) (*account, *webhook.Service) {
	t.Helper()
	a := &account{sealed: map[webhook.ID][]byte{}}
	return a, webhook.NewService(webhook.Deps{Reader: a, Store: a, Sealer: newSealer(t)})
}

func register(t *testing.T, s *webhook.Service, url string) webhook.EndpointWithURL {
	t.Helper()
	made, key, err := s.Register(t.Context(), "acme", webhook.Request{URL: &url}, acme)
	require.NoError(t, err)
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, key, "32 bytes")
	require.Equal(t, url, made.URL)
	return made
}

// A change to the current values records nothing; another one records only the fields that differ.
func TestOnlyDifferencesOfAnEndpointAreRecorded(t *testing.T) {
	t.Parallel()
	a, s := newAccount(t)
	text := func(s string) *string { return &s }
	first, second := register(t, s, "https://one.example/x"), register(t, s, "https://two.example/x")
	require.Equal(t, []string{"job.*"}, first.Events)
	host, description := "three.example", "of the night"
	for name, c := range map[string]struct {
		change webhook.Request
		want   webhook.ChangedV1
		effect webhook.Effect
	}{
		"nothing":              {},
		"the same address":     {change: webhook.Request{URL: text("https://one.example/x")}},
		"the same events":      {change: webhook.Request{Events: []string{"job.*"}}},
		"the same description": {change: webhook.Request{Description: text("")}},
		"another description":  {change: webhook.Request{Description: &description}, want: webhook.ChangedV1{Description: &description}},
		"other events":         {change: webhook.Request{Events: []string{"call.*"}}, want: webhook.ChangedV1{Events: []string{"call.*"}}},
		"another address":      {webhook.Request{URL: text("https://three.example/x")}, webhook.ChangedV1{Host: &host}, webhook.Put},
		"an address and old events": {
			webhook.Request{URL: text("https://three.example/y"), Events: []string{"job.*"}}, webhook.ChangedV1{Host: &host}, webhook.Put,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &account{book: a.book, sealed: map[webhook.ID][]byte{}}
			for id, raw := range a.sealed {
				b.sealed[id] = raw
			}
			s := webhook.NewService(webhook.Deps{Reader: b, Store: b, Sealer: s.Sealer})
			got, err := s.Change(t.Context(), "acme", first.ID, c.change, acme)
			require.NoError(t, err)
			if c.want.Host == nil && c.want.Events == nil && c.want.Description == nil {
				require.Empty(t, b.changes)
				require.Equal(t, first, got)
				return
			}
			effect, event := b.effect(t, 0)
			c.want.Webhook = first.ID
			require.Equal(t, c.want, event)
			require.Equal(t, c.effect, effect)
			require.Equal(t, c.change.URL != nil, got.URL != first.URL)
			require.Equal(t, c.change.Description != nil, got.Description != first.Description)
			untouched, err := s.Endpoint(t.Context(), "acme", second.ID)
			require.NoError(t, err)
			require.Equal(t, second, untouched)
		})
	}
	_, err := s.Change(t.Context(), "acme", first.ID, webhook.Request{URL: &second.URL}, acme)
	require.Equal(t, fault.CodeWebhookExists, fault.CodeOf(err))
	_, err = s.Change(t.Context(), "acme", "absent", webhook.Request{Description: &description}, acme)
	require.Equal(t, fault.CodeWebhookNotFound, fault.CodeOf(err))
	_, err = s.Change(t.Context(), "acme", first.ID, webhook.Request{URL: text("http://inside/")}, acme)
	require.True(t, fault.Is(err, fault.Invalid))
}

// Enabling, disabling and removing have an effect once, and what needs an enabled endpoint is refused meanwhile.
func TestAnEndpointIsDisabledEnabledAndRemovedOnce(t *testing.T) {
	t.Parallel()
	a, s := newAccount(t)
	e := register(t, s, "https://one.example/x")
	on, off := true, false
	step := func(enabled *bool, want webhook.Effect, event any) {
		t.Helper()
		for range 2 { // the second time it is so already
			before := len(a.changes)
			got, err := s.Change(t.Context(), "acme", e.ID, webhook.Request{Enabled: enabled}, acme)
			require.NoError(t, err)
			require.Equal(t, *enabled, got.Disabled == "")
			require.Equal(t, *enabled, got.DisabledAt == nil)
			if want != webhook.Record {
				effect, made := a.effect(t, before)
				require.Equal(t, want, effect)
				require.Equal(t, event, made)
			} else {
				require.Len(t, a.changes, before)
			}
			want = webhook.Record
		}
	}
	step(&on, webhook.Record, nil)
	step(&off, webhook.Disable, webhook.DisabledV1{Webhook: e.ID, Cause: webhook.ByOwner})
	_, err := s.Test(t.Context(), "acme", e.ID, acme)
	require.Equal(t, fault.CodeWebhookDisabled, fault.CodeOf(err))
	_, err = s.Replay(t.Context(), "acme", e.ID, nil, acme)
	require.Equal(t, fault.CodeWebhookDisabled, fault.CodeOf(err))
	require.Empty(t, a.replayed)
	step(&on, webhook.Enable, webhook.EnabledV1{Webhook: e.ID})

	before := len(a.changes)
	delivery, err := s.Test(t.Context(), "acme", e.ID, acme)
	require.NoError(t, err)
	effect, event := a.effect(t, before)
	require.Equal(t, webhook.Enqueue, effect)
	require.Equal(t, webhook.TestedV1{Webhook: e.ID, Delivery: delivery}, event)
	require.Equal(t, delivery, a.changes[before].Delivery.ID)
	only := uuid.New()
	for _, one := range []*uuid.UUID{nil, &only} {
		n, err := s.Replay(t.Context(), "acme", e.ID, one, acme)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		require.Equal(t, webhook.ReplayRequest{
			Account: "acme", Webhook: e.ID, Only: one, Most: 1000,
			Meta: eventlog.Meta{Actor: "acme", Reason: "because", RequestID: "r"},
		}, a.replayed[len(a.replayed)-1])
	}

	before = len(a.changes)
	require.NoError(t, s.Remove(t.Context(), "acme", e.ID, acme))
	effect, event = a.effect(t, before)
	require.Equal(t, webhook.Remove, effect)
	require.Equal(t, webhook.RemovedV1{Webhook: e.ID}, event)
	for name, err := range map[string]error{
		"removed": s.Remove(t.Context(), "acme", e.ID, acme), "disabled": s.Disable(t.Context(), "acme", e.ID, webhook.ByOwner, acme),
	} {
		require.Equal(t, fault.CodeWebhookNotFound, fault.CodeOf(err), name)
	}
	_, err = s.Test(t.Context(), "acme", e.ID, acme)
	require.Equal(t, fault.CodeWebhookNotFound, fault.CodeOf(err))
	_, err = s.Replay(t.Context(), "acme", e.ID, nil, acme)
	require.Equal(t, fault.CodeWebhookNotFound, fault.CodeOf(err))
	require.Empty(t, a.replayed[2:])
}

// A new key is another one, and the former one is valid for the overlap, within its bounds.
func TestAKeyIsRotatedWithinTheBoundsOfItsOverlap(t *testing.T) {
	t.Parallel()
	a, s := newAccount(t)
	e := register(t, s, "https://one.example/x")
	seen := map[string]bool{}
	for _, overlap := range []time.Duration{0, time.Hour, 7 * 24 * time.Hour} {
		before, now := len(a.changes), time.Now()
		key, until, err := s.Rotate(t.Context(), "acme", e.ID, overlap, acme)
		require.NoError(t, err)
		require.False(t, seen[key])
		seen[key] = true
		require.WithinDuration(t, now.Add(overlap), until, time.Minute)
		effect, event := a.effect(t, before)
		require.Equal(t, webhook.Put, effect)
		require.Equal(t, webhook.SecretRotatedV1{Webhook: e.ID, OldUntil: until}, event)
		got, err := s.Endpoint(t.Context(), "acme", e.ID)
		require.NoError(t, err)
		require.NotNil(t, got.RotatedAt)
		require.Equal(t, e.URL, got.URL, "only the key is another")
	}
	for _, overlap := range []time.Duration{-1, 7*24*time.Hour + 1} {
		_, _, err := s.Rotate(t.Context(), "acme", e.ID, overlap, acme)
		require.EqualError(t, err, "the old secret may stay valid for 0 to 604800 seconds")
		require.True(t, fault.Is(err, fault.Invalid), overlap)
	}
	require.Equal(t, 24*time.Hour, webhook.DefaultOverlap)
	_, _, err := s.Rotate(t.Context(), "acme", "absent", 0, acme)
	require.Equal(t, fault.CodeWebhookNotFound, fault.CodeOf(err))
}

// A command is decided again after a concurrent one, a few times, and an account has a limited number of endpoints.
func TestCommandsOnEndpointsAreBounded(t *testing.T) {
	t.Parallel()
	a, s := newAccount(t)
	e := register(t, s, "https://one.example/x")
	for others, fails := range map[int]bool{1: false, 4: false, 5: true} {
		a.others = others
		text := fmt.Sprint("after ", others)
		_, err := s.Change(t.Context(), "acme", e.ID, webhook.Request{Description: &text}, acme)
		require.Equal(t, fails, err != nil, "%d: %v", others, err)
	}
	a.others = 0
	for n := 1; n < 20; n++ {
		register(t, s, fmt.Sprintf("https://one.example/%d", n))
	}
	url := "https://one.example/more"
	_, _, err := s.Register(t.Context(), "acme", webhook.Request{URL: &url}, acme)
	require.Equal(t, fault.CodeWebhookLimit, fault.CodeOf(err))
	_, _, err = s.Register(t.Context(), "acme", webhook.Request{}, acme)
	require.True(t, fault.Is(err, fault.Invalid), "it has no address")
}

// An event that a book has folded, or that concerns another endpoint, changes nothing.
func TestABookFoldsEachEventOnce(t *testing.T) {
	t.Parallel()
	var b webhook.Book
	fold := func(version int64, data any) {
		b = b.Fold(eventlog.Recorded{Version: version, RecordedAt: time.Now()}, data)
	}
	fold(1, webhook.RegisteredV1{Webhook: "a", Host: "one"})
	fold(1, webhook.RegisteredV1{Webhook: "a", Host: "one"})
	fold(2, webhook.RegisteredV1{Webhook: "b", Host: "two"})
	before := b
	fold(3, webhook.DisabledV1{Webhook: "b", Cause: webhook.ByOwner})
	require.Len(t, b.Endpoints, 2)
	require.Empty(t, b.Endpoints[0].Disabled)
	require.NotEmpty(t, b.Endpoints[1].Disabled)
	require.Empty(t, before.Endpoints[1].Disabled, "a book that was read does not change")
	fold(4, "an event of a later version")
	require.EqualValues(t, 4, b.Version)
	fold(3, webhook.RemovedV1{Webhook: "a"})
	require.Len(t, b.Endpoints, 2)
}

func TestNamesOfEndpointsAndStreams(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	got, err := webhook.ParseID(id)
	require.NoError(t, err)
	require.Equal(t, webhook.ID(id), got)
	for _, wrong := range []string{"", "x", strings.ToUpper("abcdef00-0000-4000-8000-000000000001"), "{" + id + "}"} {
		_, err := webhook.ParseID(wrong)
		require.Equal(t, fault.CodeWebhookNotFound, fault.CodeOf(err), wrong)
	}
	require.IsIncreasing(t, webhook.Kinds())
	name, ok := webhook.AccountOfStream(webhook.Stream("acme"))
	require.True(t, ok)
	require.Equal(t, "acme", name)
	for _, stream := range []string{"", "webhooks-", "jobs-acme-and-more", "webhook-acme"} {
		_, ok := webhook.AccountOfStream(stream)
		require.False(t, ok, stream)
	}
}
