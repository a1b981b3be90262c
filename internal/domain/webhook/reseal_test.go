package webhook_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/secret"
)

// oneEndpoint keeps what is secret of the endpoint that was put last; its book stays empty.
type oneEndpoint struct {
	webhook.Store
	id     webhook.ID
	sealed []byte
	away   error
}

func (o *oneEndpoint) Book(context.Context, string) (webhook.Book, error) { return webhook.Book{}, nil }

func (o *oneEndpoint) Commit(_ context.Context, c webhook.Change) error {
	o.id, o.sealed = c.Webhook, c.Sealed
	return nil
}

func (o *oneEndpoint) Sealed(context.Context, string) (map[webhook.ID][]byte, error) {
	if o.id == "" {
		return nil, nil
	}
	return map[webhook.ID][]byte{o.id: o.sealed}, nil
}

func (o *oneEndpoint) Reseal(_ context.Context, _ webhook.ID, _, fresh []byte) error {
	if o.away == nil {
		o.sealed = fresh
	}
	return o.away
}

// either seals with the first and opens with any.
type either []webhook.Sealer

func (e either) Seal(owner, text string) []byte { return e[0].Seal(owner, text) }

func (e either) Open(owner string, sealed []byte) (text string, err error) {
	for _, one := range e {
		if text, err = one.Open(owner, sealed); err == nil {
			return text, nil
		}
	}
	return "", err
}

func newSealer(t *testing.T) *secret.Sealer {
	t.Helper()
	key, err := secret.LoadOrCreate(filepath.Join(t.TempDir(), "secret.key"))
	require.NoError(t, err)
	sealer, err := key.Sealer()
	require.NoError(t, err)
	return sealer
}

// What is registered outlives the secret key: a former key opens it, and it is sealed anew.
func TestEndpointsOutliveTheSecretKey(t *testing.T) {
	t.Parallel()
	former, present := newSealer(t), newSealer(t)
	one := &oneEndpoint{}
	url := "https://example.com/x"
	_, _, err := webhook.NewService(webhook.Deps{Store: one, Reader: one, Sealer: former}).Register(t.Context(), "acme",
		webhook.Request{URL: &url}, eventlog.By{Actor: "acme"})
	require.True(t, fault.Is(err, fault.NotFound), "the book is empty: %v", err)
	both := webhook.NewService(webhook.Deps{Store: one, Reader: one, Sealer: either{present, former}})
	one.away = fault.New(fault.Unavailable, "", "the database is away")
	_, err = both.Reseal(t.Context(), "acme", present)
	require.ErrorIs(t, err, one.away)
	one.away = nil
	for _, want := range []int{1, 0} {
		n, err := both.Reseal(t.Context(), "acme", present)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	alone := webhook.NewService(webhook.Deps{Store: one, Reader: one, Sealer: present})
	_, _, err = alone.Register(t.Context(), "acme", webhook.Request{URL: &url}, eventlog.By{Actor: "acme"})
	require.Equal(t, fault.CodeWebhookExists, fault.CodeOf(err), "its address is read with the present key alone")
}
