package webhook_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/outbound"
)

// The values are those with which libraries of the Standard Webhooks convention test themselves.
func TestSignaturesAreThoseOfTheConvention(t *testing.T) {
	t.Parallel()
	const secret, id = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
	at, body := time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)
	h := http.Header{}
	require.NoError(t, webhook.Sign(h, secret, "", time.Time{}, id, at, body))
	require.Equal(t, id, h.Get("webhook-id"))
	require.Equal(t, "1614265330", h.Get("webhook-timestamp"))
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", h.Get("webhook-signature"))

	other := "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	require.NoError(t, webhook.Sign(h, other, secret, at.Add(time.Second), id, at, body))
	both := strings.Fields(h.Get("webhook-signature"))
	require.Len(t, both, 2)
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", both[1])
	require.NoError(t, webhook.Sign(h, other, secret, at, id, at, body))
	require.Len(t, strings.Fields(h.Get("webhook-signature")), 1, "the old key has ended")
}

func TestPausesGrowAreScatteredAndEnd(t *testing.T) {
	t.Parallel()
	p := webhook.DefaultPolicy()
	var all time.Duration
	for attempt := 1; attempt <= len(p.Retries); attempt++ {
		seen := map[time.Duration]bool{}
		for range 50 {
			pause, ok := p.Next(attempt, 0)
			require.True(t, ok)
			require.InDelta(t, float64(p.Retries[attempt-1]), float64(pause), float64(p.Retries[attempt-1])/5+1)
			seen[pause] = true
		}
		require.Greater(t, len(seen), 10, "what failed together does not return together")
		all += p.Retries[attempt-1]
	}
	_, ok := p.Next(len(p.Retries)+1, 0)
	require.False(t, ok)
	require.Greater(t, all, 72*time.Hour, "a weekend's outage loses nothing")
	require.Less(t, all, p.DisableAfter, "a delivery ends before its endpoint is given up")
	asked, _ := p.Next(1, 10*time.Minute)
	require.Equal(t, 10*time.Minute, asked)
	asked, _ = p.Next(1, 48*time.Hour)
	require.Equal(t, time.Hour, asked, "within a bound")
}

func TestAnOperatorAllowsByHostAndPort(t *testing.T) {
	t.Parallel()
	host, err := webhook.CheckAddress("http://127.0.0.1:8080/x", "127.0.0.1:8080")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8080", host)
	for _, address := range []string{"http://127.0.0.1:8081/x", "http://localhost:8080/x", "gopher://127.0.0.1:8080/x", "http://a:b@127.0.0.1:8080/"} {
		_, err := webhook.CheckAddress(address, "127.0.0.1:8080")
		require.Error(t, err, address)
	}
}

func FuzzAnAcceptedAddressIsHTTPSAndNotInside(f *testing.F) {
	for _, seed := range []string{"https://example.com/x?y=z", "https://[::1]/", "https://127.1/", "http://x", "https://a@b/", "https://localhost.:1/", "https://xn--/%zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		host, err := webhook.CheckAddress(text)
		if err != nil {
			return
		}
		u, err := url.Parse(text)
		require.NoError(t, err)
		require.Equal(t, "https", u.Scheme)
		require.Equal(t, u.Host, host)
		require.Nil(t, u.User)
		if a, err := netip.ParseAddr(u.Hostname()); err == nil {
			require.True(t, outbound.Public(a))
		}
		_, err = http.NewRequest(http.MethodPost, text, nil)
		require.NoError(t, err)
	})
}
