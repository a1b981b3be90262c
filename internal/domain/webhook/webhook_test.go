package webhook_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
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

// Each key has its signature, and a key that is not base64 signs nothing.
func TestAMessageHasASignatureForEachKey(t *testing.T) {
	t.Parallel()
	const secret, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	at, body := time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)
	one, two, both := http.Header{}, http.Header{}, http.Header{}
	require.NoError(t, webhook.Sign(one, "x", at, body, secret))
	require.NoError(t, webhook.Sign(two, "x", at, body, other))
	require.NoError(t, webhook.Sign(both, "x", at, body, secret, other))
	require.Equal(t, one.Get("Webhook-Signature")+" "+two.Get("Webhook-Signature"), both.Get("Webhook-Signature"))
	require.NotEqual(t, one.Get("Webhook-Signature"), two.Get("Webhook-Signature"))
	none := http.Header{}
	require.Error(t, webhook.Sign(none, "x", at, body, secret, "whsec_!"))
	require.Empty(t, none)
}

// An address is accepted with its host, or refused with the reason that its owner can mend.
func TestAnAddressIsAcceptedOrRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	const (
		absolute = "url must be an absolute https address"
		public   = "url must be a public address"
		port     = "url must have a port from 1 to 65535"
		bare     = "url must have no user, password or fragment: messages are signed instead"
		long     = "url is longer than 2048 bytes"
	)
	allow := []string{"127.0.0.1:8080", "inside:80", "within:443", "localhost:443"}
	longest := "https://example.com/" + strings.Repeat("x", 2048-len("https://example.com/"))
	for address, want := range map[string]struct{ host, refused string }{
		"https://example.com/":            {host: "example.com"},
		"https://example.com:8443/":       {host: "example.com:8443"},
		"https://example.com:1/":          {host: "example.com:1"},
		"https://example.com:65535/":      {host: "example.com:65535"},
		"https://1and1.example/":          {host: "1and1.example"},
		"https://203.0.113.99x/":          {host: "203.0.113.99x"},
		"https://8.8.8.8/":                {host: "8.8.8.8"},
		"https://localhost.example/":      {host: "localhost.example"},
		"https://alocalhost/":             {host: "alocalhost"},
		longest:                           {host: "example.com"},
		longest + "x":                     {refused: long},
		"http://127.0.0.1:8080/x":         {host: "127.0.0.1:8080"},
		"https://127.0.0.1:8080/x":        {host: "127.0.0.1:8080"},
		"http://inside/":                  {host: "inside"},
		"https://within/":                 {host: "within"},
		"https://localhost/":              {host: "localhost"},
		"http://within/":                  {refused: absolute},
		"http://localhost/":               {refused: absolute},
		"http://127.0.0.1:8081/x":         {refused: absolute},
		"http://localhost:8080/x":         {refused: absolute},
		"gopher://127.0.0.1:8080/x":       {refused: absolute},
		"http://a:b@127.0.0.1:8080/":      {refused: bare},
		"https://127.0.0.1:8081/":         {refused: public},
		"http://example.com/":             {refused: absolute},
		"one.example":                     {refused: absolute},
		"https:one.example":               {refused: absolute},
		"https:///x":                      {refused: absolute},
		"https://:443/x":                  {refused: absolute},
		"https://one.example/%zz":         {refused: absolute},
		"":                                {refused: absolute},
		"https://a@example.com/":          {refused: bare},
		"https://example.com/#part":       {refused: bare},
		"https://example.com/#":           {refused: bare},
		"https://example.com:0/":          {refused: port},
		"https://example.com:65536/":      {refused: port},
		"https://2130706433/":             {refused: public},
		"https://0x7f000001/":             {refused: public},
		"https://127.1/":                  {refused: public},
		"https://x.99999999999999999999/": {refused: public},
		"https://017700000001./":          {refused: public},
		"https://[::1]/":                  {refused: public},
		"https://10.0.0.1/":               {refused: public},
		"https://localhost/.":             {host: "localhost"},
		"https://LOCALHOST.:8443/":        {refused: public},
		"https://x.LocalHost:8443/":       {refused: public},
	} {
		host, err := webhook.CheckAddress(address, allow...)
		require.Equal(t, want.host, host, address)
		if want.refused == "" {
			require.NoError(t, err, address)
			continue
		}
		require.Equal(t, fault.CodeWebhookURLInvalid, fault.CodeOf(err), address)
		require.True(t, fault.Is(err, fault.Invalid), address)
		require.EqualError(t, err, want.refused, address)
	}
}

// A selection is sorted, each kind once; one that is empty selects the ends of jobs, and an unknown kind is named with those that exist.
func TestASelectionOfEventsIsSorted(t *testing.T) {
	t.Parallel()
	_, s := newAccount(t)
	url := "https://one.example/"
	for _, c := range []struct{ asked, want []string }{
		{nil, []string{"job.*"}},
		{[]string{}, []string{"job.*"}},
		{[]string{"job.failed", "call.*", "job.failed"}, []string{"call.*", "job.failed"}},
	} {
		asked := slices.Clone(c.asked)
		made, _, err := s.Register(t.Context(), "acme", webhook.Request{URL: &url, Events: asked}, acme)
		require.NoError(t, err)
		require.Equal(t, c.want, made.Events)
		require.Equal(t, c.asked, asked, "the caller's own list is not changed")
		require.NoError(t, s.Remove(t.Context(), "acme", made.ID, acme))
	}
	for _, wrong := range []string{"webhook.test", "webhook.*", "job", "*", ""} {
		_, _, err := s.Register(t.Context(), "acme", webhook.Request{URL: &url, Events: []string{"job.*", wrong}}, acme)
		require.EqualError(t, err, fmt.Sprintf("events takes job.*, call.* and call.cancelled, call.failed, call.outcome_unknown, "+
			"call.reconciled, call.succeeded, job.cancelled, job.completed, job.expired, job.failed, not %q", wrong))
		require.Equal(t, fault.CodeInvalidRequest, fault.CodeOf(err))
	}
}

// A description has at most 200 characters, however many bytes they are, and is text.
func TestADescriptionIsAShortText(t *testing.T) {
	t.Parallel()
	_, s := newAccount(t)
	e := register(t, s, "https://one.example/")
	for text, accepted := range map[string]bool{
		strings.Repeat("ä", 200): true, strings.Repeat("x", 201): false, "\xff": false, "": true,
	} {
		got, err := s.Change(t.Context(), "acme", e.ID, webhook.Request{Description: &text}, acme)
		if accepted {
			require.NoError(t, err)
			require.Equal(t, text, got.Description)
			continue
		}
		require.EqualError(t, err, "description may have at most 200 characters")
		require.Equal(t, fault.CodeInvalidRequest, fault.CodeOf(err))
		require.Zero(t, got)
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
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ended := began.Add(time.Minute)
	const base = "https://api.example"
	plain := webhook.Origin{At: &began}
	chosen := webhook.Origin{At: &began, Job: "mine"}
	queued := webhook.Origin{At: &began, Call: &call.AcceptedV1{Model: "acme/m", Mode: call.Queued}}
	direct := webhook.Origin{Call: &call.AcceptedV1{Model: "acme/m", Mode: call.Sync}}
	jobSelf := `{"self":"` + base + `/api/v2/jobs/` + string(ofJob) + `"}`
	callSelf := `{"self":"` + base + `/v2/models/acme/m/requests/` + string(ofCall) + `"}`
	failure := job.Failure{Code: "c", Message: "secret", Node: "7", Class: "KSampler"}
	for _, c := range []struct {
		stream, eventType string
		event             any
		from              webhook.Origin
		kind              webhook.Kind
		id                string // "" = of the stream
		status, err, urls string // err: "" = null
	}{
		{ofJob.Stream(), job.TypeSucceeded, job.SucceededV1{}, plain, webhook.JobCompleted, "", "succeeded", "", jobSelf},
		{
			ofJob.Stream(), job.TypeFailed,
			job.FailedV1{Failure: failure},
			plain, webhook.JobFailed, "", "failed",
			`{"code":"c","node_id":"7","class_type":"KSampler"}`, jobSelf,
		},
		{ofJob.Stream(), job.TypeCanceled, job.CanceledV1{}, plain, webhook.JobCancelled, "", "canceled", "", jobSelf},
		{ofJob.Stream(), job.TypeExpired, job.ExpiredV1{}, plain, webhook.JobExpired, "", "expired", "", jobSelf},
		{
			ofJob.Stream(), job.TypeExpired,
			job.ExpiredV1{},
			chosen, webhook.JobExpired, "mine", "expired", "",
			`{"self":"` + base + `/api/v2/jobs/mine"}`,
		},
		{ofCall.Stream(), call.TypeSucceeded, call.SucceededV1{}, queued, webhook.CallSucceeded, "", "succeeded", "", callSelf},
		{ofCall.Stream(), call.TypeSucceeded, call.SucceededV1{}, direct, webhook.CallSucceeded, "", "succeeded", "", `{}`},
		{
			ofCall.Stream(), call.TypeFailed,
			call.FailedV1{Failure: call.Failure{Type: "c", Detail: "secret"}},
			queued, webhook.CallFailed, "",
			"failed", `{"code":"c"}`, callSelf,
		},
		{ofCall.Stream(), call.TypeCanceled, call.CanceledV1{}, queued, webhook.CallCancelled, "", "canceled", "", callSelf},
		{
			ofCall.Stream(), call.TypeOutcomeUnknown,
			call.OutcomeUnknownV1{Failure: call.Failure{Type: "c"}},
			queued, webhook.CallUnknown, "",
			"unknown", `{"code":"c"}`, callSelf,
		},
		{ofCall.Stream(), call.TypeReconciled, call.ReconciledV1{}, queued, webhook.CallReconciled, "", "unknown", "", callSelf},
	} {
		rec := eventlog.Recorded{Stream: c.stream, Type: c.eventType, RecordedAt: ended.In(time.FixedZone("", 3600))}
		kind, body, ok, err := webhook.Message(rec, c.event, c.from, base)
		require.NoError(t, err, c.eventType)
		require.True(t, ok, c.eventType)
		require.Equal(t, c.kind, kind)
		object, created, more := "job", "null", ""
		if c.from.At != nil {
			created = `"2026-01-02T03:04:05Z"`
		}
		if from := c.from.Call; from != nil {
			object, more = "call", `"model":"acme/m","mode":"`+string(from.Mode)+`",`
		}
		id := cmp.Or(c.id, map[string]string{"job": string(ofJob), "call": string(ofCall)}[object])
		require.JSONEq(t, `{"type":"`+string(c.kind)+`","timestamp":"2026-01-02T03:05:05Z","data":{"object":"`+object+`","id":"`+id+`",`+more+
			`"status":"`+c.status+`","created_at":`+created+`,"completed_at":"2026-01-02T03:05:05Z","error":`+cmp.Or(c.err, "null")+
			`,"urls":`+c.urls+`}}`, string(body))
	}
	for name, c := range map[string]struct {
		rec  eventlog.Recorded
		from webhook.Origin
		err  bool
	}{
		"an event within a job": {rec: eventlog.Recorded{Stream: ofJob.Stream(), Type: job.TypeSubmitted}},
		"a call of a partner node": {
			rec: eventlog.Recorded{Stream: ofCall.Stream(), Type: call.TypeSucceeded}, from: webhook.Origin{Call: &call.AcceptedV1{Mode: call.Node}},
		},
		"another stream": {rec: eventlog.Recorded{Stream: "webhooks-acme", Type: job.TypeSucceeded}, err: true},
	} {
		_, body, ok, err := webhook.Message(c.rec, job.SucceededV1{}, c.from, base)
		require.Equal(t, c.err, err != nil, name)
		require.False(t, ok, name)
		require.Nil(t, body, name)
	}
}

// The id of a delivery depends on its event and its endpoint alone, and never changes.
func TestTheIDOfADeliveryIsThatOfItsEventAndEndpoint(t *testing.T) {
	t.Parallel()
	const id = "00000000-0000-4000-8000-000000000001"
	event := uuid.MustParse("00000000-0000-7000-8000-000000000002")
	require.Equal(t, "735af98b-1e7c-51c2-82b2-dddc8529f29b", webhook.DeliveryID(id, event).String())
	require.NotEqual(t, webhook.DeliveryID(id, event), webhook.DeliveryID(id, uuid.UUID{}))
	require.NotEqual(t, webhook.DeliveryID(id, event), webhook.DeliveryID("x", event))
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

// The state of an endpoint has what its events say, and those of one endpoint do not change another.
func TestTheStateOfAnEndpointHasWhatItsEventsSay(t *testing.T) {
	t.Parallel()
	at := func(version int64) time.Time { return time.Unix(version, 0).UTC() }
	stamp := func(version int64) *time.Time { at := at(version); return &at }
	var book webhook.Book
	fold := func(data any) {
		version := book.Version + 1
		book = book.Fold(eventlog.Recorded{
			Version: version, Position: 10 * version, RecordedAt: at(version).In(time.FixedZone("", 3600)),
		}, data)
	}
	host, text := "other:8443", "new"
	fold(webhook.RegisteredV1{Webhook: "a", Host: "one", Events: []string{"job.*"}, Description: "d"})
	fold(webhook.RegisteredV1{Webhook: "b", Host: "two", Events: []string{"call.*"}})
	a := webhook.Endpoint{ID: "a", Host: "one", Events: []string{"job.*"}, Description: "d", Position: 10, CreatedAt: at(1)}
	b := webhook.Endpoint{ID: "b", Host: "two", Events: []string{"call.*"}, Position: 20, CreatedAt: at(2)}
	require.Equal(t, webhook.Book{Version: 2, Endpoints: []webhook.Endpoint{a, b}}, book)
	for _, c := range []struct {
		event any
		apply func()
	}{
		{webhook.ChangedV1{Webhook: "a", Host: &host}, func() { a.Host = host }},
		{webhook.ChangedV1{Webhook: "a", Events: []string{"x"}}, func() { a.Events = []string{"x"} }},
		{webhook.ChangedV1{Webhook: "a", Description: &text}, func() { a.Description = text }},
		{webhook.SecretRotatedV1{Webhook: "a"}, func() { a.RotatedAt = stamp(6) }},
		{webhook.DisabledV1{Webhook: "a", Cause: webhook.Gone}, func() { a.Disabled, a.DisabledAt = webhook.Gone, stamp(7) }},
		{webhook.EnabledV1{Webhook: "b"}, func() {}},
		{webhook.EnabledV1{Webhook: "a"}, func() { a.Disabled, a.DisabledAt = "", nil }},
		{webhook.TestedV1{Webhook: "a"}, func() {}},
	} {
		fold(c.event)
		c.apply()
		require.Equal(t, []webhook.Endpoint{a, b}, book.Endpoints, "%T", c.event)
	}
	fold(webhook.RemovedV1{Webhook: "a"})
	require.Equal(t, webhook.Book{Version: 11, Endpoints: []webhook.Endpoint{b}}, book)
	require.Equal(t, []webhook.State{webhook.Pending, webhook.Delivered, webhook.Dead}, webhook.States())
	require.Equal(t, fault.CodeDeliveryNotFound, fault.CodeOf(webhook.ErrNoDelivery()))
	for kind, known := range map[string]bool{job.TypeFailed: true, call.TypeReconciled: true, job.TypeSubmitted: false, "": false} {
		_, ok := webhook.KindOf(kind)
		require.Equal(t, known, ok, kind)
	}
}
