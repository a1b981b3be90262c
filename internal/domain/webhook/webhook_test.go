package webhook_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/outbound"
)

// The values are those with which libraries of the Standard Webhooks convention test themselves.
func TestSignaturesAreThoseOfTheConvention(t *testing.T) {
	t.Parallel()
	const secret, id = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
	at, body := time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)
	h := http.Header{}
	require.NoError(t, webhook.SignAs(h, secret, "", time.Time{}, id, at, body))
	require.Equal(t, id, h.Get("webhook-id"))
	require.Equal(t, "1614265330", h.Get("webhook-timestamp"))
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", h.Get("webhook-signature"))

	other := "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	require.NoError(t, webhook.SignAs(h, other, secret, at.Add(time.Second), id, at, body))
	both := strings.Fields(h.Get("webhook-signature"))
	require.Len(t, both, 2)
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", both[1])
	require.NoError(t, webhook.SignAs(h, other, secret, at, id, at, body))
	require.Len(t, strings.Fields(h.Get("webhook-signature")), 1, "the old key has ended")
}

func TestOperatorAllowsAddressesByHostAndPort(t *testing.T) {
	t.Parallel()
	host, err := webhook.CheckAddress("http://127.0.0.1:8080/x", "127.0.0.1:8080")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8080", host)
	for _, address := range []string{
		"http://127.0.0.1:8081/x", "http://localhost:8080/x", "gopher://127.0.0.1:8080/x",
		"http://a:b@127.0.0.1:8080/",
	} {
		_, err := webhook.CheckAddress(address, "127.0.0.1:8080")
		require.Error(t, err, address)
	}
}

func TestAddressesThatNothingCanBeDeliveredToAreRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"https://2130706433/", "https://0x7f000001/", "https://127.1/", "https://x.99999999999999999999/", "https://017700000001./",
		"https://example.com:0/", "https://example.com:99999/",
	} {
		_, err := webhook.CheckAddress(address)
		require.Error(t, err, address)
	}
	for _, address := range []string{"https://example.com/", "https://example.com:8443/", "https://1and1.example/", "https://203.0.113.99x/"} {
		_, err := webhook.CheckAddress(address)
		require.NoError(t, err, address)
	}
}

// An endpoint receives what happens after its registration, of the kinds and families that it chose, while it is enabled.
func TestAnEndpointReceivesLaterEventsOfItsKinds(t *testing.T) {
	t.Parallel()
	kinds := webhook.Kinds()
	first := kinds[0]
	family, _, _ := strings.Cut(string(first), ".")
	for name, c := range map[string]struct {
		events   []string
		disabled webhook.Cause
		position int64
		want     bool
	}{
		"the next event":            {[]string{string(first)}, "", 8, true},
		"its registration":          {[]string{string(first)}, "", 7, false},
		"an earlier event":          {[]string{string(first)}, "", 6, false},
		"of a family":               {[]string{family + ".*"}, "", 8, true},
		"of a kind that it has not": {[]string{string(kinds[1])}, "", 8, false},
		"of a disabled endpoint":    {[]string{string(first)}, webhook.ByOwner, 8, false},
	} {
		e := webhook.Endpoint{Events: c.events, Disabled: c.disabled, Position: 7}
		require.Equal(t, c.want, e.Wants(first, c.position), name)
	}
}

// A message says how its job or call ended, in the words of the API, with the code of a failure and not its text.
func TestAMessageSaysHowItEnded(t *testing.T) {
	t.Parallel()
	ofJob, ofCall := job.NewID(), call.NewID()
	for _, c := range []struct {
		stream, eventType string
		event             any
		kind              webhook.Kind
		status, code      string
	}{
		{ofJob.Stream(), job.TypeSucceeded, job.SucceededV1{}, webhook.JobCompleted, "succeeded", ""},
		{ofJob.Stream(), job.TypeFailed, job.FailedV1{Failure: job.Failure{Code: "c", Message: "secret"}}, webhook.JobFailed, "failed", "c"},
		{ofJob.Stream(), job.TypeCanceled, job.CanceledV1{}, webhook.JobCancelled, "canceled", ""},
		{ofJob.Stream(), job.TypeExpired, job.ExpiredV1{}, webhook.JobExpired, "expired", ""},
		{ofCall.Stream(), call.TypeSucceeded, call.SucceededV1{}, webhook.CallSucceeded, "succeeded", ""},
		{ofCall.Stream(), call.TypeFailed, call.FailedV1{Failure: call.Failure{Type: "c", Detail: "secret"}}, webhook.CallFailed, "failed", "c"},
		{ofCall.Stream(), call.TypeCanceled, call.CanceledV1{}, webhook.CallCancelled, "canceled", ""},
		{ofCall.Stream(), call.TypeOutcomeUnknown, call.OutcomeUnknownV1{Failure: call.Failure{Type: "c"}}, webhook.CallUnknown, "unknown", "c"},
		{ofCall.Stream(), call.TypeReconciled, call.ReconciledV1{}, webhook.CallReconciled, "unknown", ""},
	} {
		kind, body, ok, err := webhook.Message(eventlog.Recorded{Stream: c.stream, Type: c.eventType}, c.event, webhook.Origin{}, "")
		require.NoError(t, err, c.eventType)
		require.True(t, ok, c.eventType)
		require.Equal(t, c.kind, kind)
		var got struct {
			Data struct {
				Status string
				Error  struct{ Code string }
			}
		}
		require.NoError(t, json.Unmarshal(body, &got), c.eventType)
		require.Equal(t, []string{c.status, c.code}, []string{got.Data.Status, got.Data.Error.Code}, c.eventType)
		require.NotContains(t, string(body), "secret")
	}
}

func FuzzAnAcceptedAddressIsHTTPSAndNotInside(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/x?y=z", "https://[::1]/", "https://127.1/", "http://x", "https://a@b/",
		"https://localhost.:1/", "https://xn--/%zz",
	} {
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
