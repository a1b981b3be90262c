package webhook_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
)

// unsteady is an account of which one call fails, before or after its work.
type unsteady struct {
	*account
	faulttest.Calls
}

func (u *unsteady) Book(ctx context.Context, name string) (webhook.Book, error) {
	return faulttest.Try(&u.Calls, "book", func() (webhook.Book, error) { return u.account.Book(ctx, name) })
}

func (u *unsteady) Commit(ctx context.Context, c webhook.Change) error {
	return u.Do("commit", func() error { return u.account.Commit(ctx, c) })
}

func (u *unsteady) Sealed(ctx context.Context, name string) (map[webhook.ID][]byte, error) {
	return faulttest.Try(&u.Calls, "sealed", func() (map[webhook.ID][]byte, error) { return u.account.Sealed(ctx, name) })
}

func (u *unsteady) Reseal(ctx context.Context, id webhook.ID, old, fresh []byte) error {
	return u.Do("reseal", func() error { return u.account.Reseal(ctx, id, old, fresh) })
}

func (u *unsteady) Replay(ctx context.Context, r webhook.ReplayRequest) (int, error) {
	return faulttest.Try(&u.Calls, "replay", func() (int, error) { return u.account.Replay(ctx, r) })
}

// command is a command of the service. It reads the calls of the store in this order; result is what it returns without its error.
type command struct {
	do    func(context.Context, *webhook.Service) (result any, err error)
	calls []string
}

// none stands for the result of a command that has none, or none that counts after an error.
func none(err error) (done any, _ error) { return err == nil, err }

// commands returns a command of each kind on an account with an endpoint that is enabled and one that is disabled.
func commands(on, off webhook.ID, next webhook.Sealer) map[string]command {
	text := func(s string) *string { return &s }
	change := func(id webhook.ID, w webhook.Request) func(context.Context, *webhook.Service) (any, error) {
		return func(ctx context.Context, s *webhook.Service) (any, error) { return s.Change(ctx, "acme", id, w, acme) }
	}
	yes, no := true, false
	return map[string]command{
		"register": {func(ctx context.Context, s *webhook.Service) (any, error) {
			e, _, err := s.Register(ctx, "acme", webhook.Request{URL: text("https://three.example/")}, acme)
			return e, err
		}, []string{"book", "sealed", "commit", "book", "sealed"}},
		"change the address": {
			change(on, webhook.Request{URL: text("https://three.example/")}), []string{"book", "sealed", "sealed", "commit", "book", "sealed"},
		},
		"change the description": {change(on, webhook.Request{Description: text("new")}), []string{"book", "commit", "book", "sealed"}},
		"change and disable": {
			change(on, webhook.Request{Description: text("new"), Enabled: &no}), []string{"book", "commit", "book", "commit", "book", "sealed"},
		},
		"change nothing": {change(on, webhook.Request{Enabled: &yes}), []string{"book", "book", "book", "sealed"}},
		"enable":         {change(off, webhook.Request{Enabled: &yes}), []string{"book", "book", "commit", "book", "sealed"}},
		"disable": {func(ctx context.Context, s *webhook.Service) (any, error) {
			return none(s.Disable(ctx, "acme", on, webhook.Gone, acme))
		}, []string{"book", "commit"}},
		"remove": {func(ctx context.Context, s *webhook.Service) (any, error) {
			return none(s.Remove(ctx, "acme", on, acme))
		}, []string{"book", "commit"}},
		"rotate": {func(ctx context.Context, s *webhook.Service) (any, error) {
			_, _, err := s.Rotate(ctx, "acme", on, time.Hour, acme)
			return none(err)
		}, []string{"book", "sealed", "commit"}},
		"test": {func(ctx context.Context, s *webhook.Service) (any, error) {
			_, err := s.Test(ctx, "acme", on, acme)
			return none(err)
		}, []string{"book", "commit"}},
		"replay": {func(ctx context.Context, s *webhook.Service) (any, error) {
			return s.Replay(ctx, "acme", on, nil, acme)
		}, []string{"book", "replay"}},
		"read one": {func(ctx context.Context, s *webhook.Service) (any, error) {
			return s.Endpoint(ctx, "acme", on)
		}, []string{"book", "sealed"}},
		"read all": {func(ctx context.Context, s *webhook.Service) (any, error) {
			return s.Endpoints(ctx, "acme")
		}, []string{"book", "sealed"}},
		"encrypt anew": {func(ctx context.Context, s *webhook.Service) (any, error) {
			_, err := s.Reseal(ctx, "acme", next)
			return none(err)
		}, []string{"sealed", "reseal", "reseal"}},
	}
}

// Whichever call of the store a command makes fails, the command fails with that error, shows nothing of an endpoint, and makes no
// further call.
func TestEachCallOfTheStoreMayFail(t *testing.T) {
	t.Parallel()
	a, s := newAccount(t)
	on, off := register(t, s, "https://one.example/x").ID, register(t, s, "https://two.example/x").ID
	require.NoError(t, s.Disable(t.Context(), "acme", off, webhook.ByOwner, acme))
	for name, c := range commands(on, off, newSealer(t)) {
		run := func(fails int, after bool) (*unsteady, any, error) {
			b := &unsteady{&account{book: a.book, sealed: maps.Clone(a.sealed)}, faulttest.Calls{Fail: fails, After: after}}
			result, err := c.do(t.Context(), webhook.NewService(webhook.Deps{Reader: b, Store: b, Sealer: s.Sealer}))
			return b, result, err
		}
		b, result, err := run(0, false)
		require.NoError(t, err, name)
		require.NotZero(t, result, name)
		require.Equal(t, c.calls, b.Made(), name)
		for n := range c.calls {
			for _, after := range []bool{false, true} {
				b, result, err := run(n+1, after)
				require.ErrorIs(t, err, faulttest.ErrAway, "%s: %s", name, b.Made())
				require.Equal(t, c.calls[:n+1], b.Made(), name)
				require.Empty(t, result, "%s: %s", name, b.Made())
				made := 0
				for i, call := range b.Made() {
					if call == "commit" && (i < n || after) {
						made++
					}
				}
				require.Len(t, b.changes, made, "%s: %s", name, b.Made())
			}
		}
	}
}

// The secrets that a lost key encrypted hide the address alone: the endpoint is shown and removed, and what needs the address is refused.
func TestAnEndpointWithALostKeyIsShownAndRemoved(t *testing.T) {
	t.Parallel()
	a, s := newAccount(t)
	e, other := register(t, s, "https://one.example/x"), register(t, s, "https://two.example/x")
	lost := webhook.NewService(webhook.Deps{Reader: a, Store: a, Sealer: newSealer(t)})
	all, err := lost.Endpoints(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, []webhook.EndpointWithURL{{Endpoint: e.Endpoint}, {Endpoint: other.Endpoint}}, all)
	before := len(a.changes)
	address := "https://three.example/"
	_, err = lost.Change(t.Context(), "acme", e.ID, webhook.Request{URL: &address}, acme)
	require.Equal(t, fault.CodeWebhookNotFound, fault.CodeOf(err))
	_, _, err = lost.Rotate(t.Context(), "acme", e.ID, time.Hour, acme)
	require.Equal(t, fault.CodeWebhookNotFound, fault.CodeOf(err))
	n, err := lost.Reseal(t.Context(), "acme", newSealer(t))
	require.NoError(t, err)
	require.Zero(t, n)
	require.Len(t, a.changes, before)
	require.NoError(t, lost.Remove(t.Context(), "acme", e.ID, acme))
	all, err = s.Endpoints(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, []webhook.EndpointWithURL{other}, all)
}

// All secrets are encrypted with the new key, and read with it alone afterwards; the count is that of the endpoints encrypted anew, also
// when the store fails in between.
func TestSecretsAreEncryptedWithTheNewKey(t *testing.T) {
	t.Parallel()
	a, s := newAccount(t)
	first := register(t, s, "https://one.example/x")
	next := newSealer(t)
	alone := webhook.NewService(webhook.Deps{Reader: a, Store: a, Sealer: next})
	second := register(t, alone, "https://two.example/x")
	b := &unsteady{account: a}
	both := webhook.NewService(webhook.Deps{Reader: b, Store: b, Sealer: either{next, s.Sealer}})
	third := register(t, s, "https://three.example/x")
	b.Reset(3)
	n, err := both.Reseal(t.Context(), "acme", next)
	require.ErrorIs(t, err, faulttest.ErrAway)
	require.Equal(t, 1, n)
	b.Reset(0)
	for _, want := range []int{1, 0} {
		n, err = both.Reseal(t.Context(), "acme", next)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	all, err := alone.Endpoints(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, []webhook.EndpointWithURL{first, second, third}, all)
}

// Commands on an unknown endpoint change nothing, and those of an account without endpoints show none.
func TestAnUnknownEndpointIsNotFound(t *testing.T) {
	t.Parallel()
	a, s := newAccount(t)
	none, err := s.Endpoints(t.Context(), "acme")
	require.NoError(t, err)
	require.Empty(t, none)
	e := register(t, s, "https://one.example/x")
	before := slices.Clone(a.changes)
	absent, yes := webhook.ID(uuid.NewString()), true
	_, err = s.Endpoint(t.Context(), "acme", absent)
	require.Equal(t, fault.CodeWebhookNotFound, fault.CodeOf(err))
	_, err = s.Change(t.Context(), "acme", absent, webhook.Request{Enabled: &yes}, acme)
	require.Equal(t, fault.CodeWebhookNotFound, fault.CodeOf(err))
	_, err = s.Change(t.Context(), "acme", absent, webhook.Request{URL: &e.URL}, acme)
	require.Equal(t, fault.CodeWebhookNotFound, fault.CodeOf(err))
	require.Equal(t, before, a.changes)
	got, err := s.Endpoint(t.Context(), "acme", e.ID)
	require.NoError(t, err)
	require.Equal(t, e, got)
}
