package provider_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/provider"
)

// entry describes a provider that each test serves itself.
const entry = `provider: acme
base: https://api.acme.example
auth: {kind: header, header: x-key, env: [ACME_KEY]}
defaults:
  price: {exact: "1", as_of: 2026-01-01}
  limits: {answer: 1m, stall: 30s, bytes: 1MiB, first_poll: 1ms, poll_every: 1ms}
  idempotency_header: Idempotency-Key
models:
  - {model: whole, protocol: sync, submit: {url: /run}}
  - {model: hurried, protocol: sync, submit: {url: /run}, limits: {answer: 3s, stall: 2s}}
  - {model: audio, protocol: bytes, submit: {url: /run}}
  - {model: later, protocol: submit-poll, submit: {url: /run}, handle: body.url, poll: {url: "{handle}"}, cancel: {url: ` +
	`"{handle}", method: DELETE}, done: body.done == true}
  - {model: drawn, protocol: submit-poll, submit: {url: /run}, handle: body.url, poll: {url: "{handle}"}, done: body.done == true, ` +
	`result: {url: /result}}
  - {model: form, protocol: sync, encoding: multipart, submit: {url: /run}}
  - {model: tasks, protocol: sync, encoding: tasks, task: {id: id, members: {kind: draw, paid: true}}, submit: {url: /run}}
`

// acme returns the models of entry, served by h, and a client.
func acme(t *testing.T, h http.HandlerFunc) (*catalog.Snapshot, *provider.Client, string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return models(t, server.URL), client(t), server.URL
}

func models(t *testing.T, base string) *catalog.Snapshot {
	t.Helper()
	return modelsOf(t, entry, base)
}

func modelsOf(t *testing.T, entries, base string) *catalog.Snapshot {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(entries), 0o600))
	c, err := catalog.Load(catalog.Options{Dirs: []string{dir}, Bases: map[string]string{"acme": base}})
	require.NoError(t, err)
	return c.Snapshot()
}

func client(t *testing.T) *provider.Client {
	t.Helper()
	http := outbound.New(outbound.Options{})
	t.Cleanup(http.Close)
	return provider.New(http, func(string) (string, bool) { return secret, true }, slog.New(slog.DiscardHandler))
}

func find(t *testing.T, s *catalog.Snapshot, id string) *catalog.Model {
	t.Helper()
	m, ok := s.Find(id)
	require.True(t, ok)
	return m
}

func TestBodyAndAnswerPassByteForByte(t *testing.T) {
	t.Parallel()
	const sent = "{ \"b\":1.50,\t\"a\":\"\\u00e9\", \"a\":2 }\n"
	const answered = "{\"z\" : 1e2 , \"y\":[ ] }  \n"
	var got []byte
	var headers http.Header
	s, c, _ := acme(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body) // compared below
		headers = r.Header
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Write([]byte(answered))
	})
	var sink bytes.Buffer
	out, err := c.Dispatch(t.Context(), request(find(t, s, "acme/whole"), sent), &sink)
	require.NoError(t, err)
	require.Equal(t, provider.Answered, out.Phase)
	require.Equal(t, sent, string(got))
	require.Equal(t, answered, sink.String())
	require.Equal(t, "application/json; charset=utf-8", out.ContentType)
	require.Equal(t, "call-1", headers.Get("Idempotency-Key"))
	require.Equal(t, secret, headers.Get("x-key"))
}

func TestAFormCarriesTheMembersInOrder(t *testing.T) {
	t.Parallel()
	var got string
	s, c, _ := acme(t, func(w http.ResponseWriter, r *http.Request) {
		form, err := r.MultipartReader()
		for err == nil {
			part, next := form.NextPart()
			if err = next; err != nil {
				break
			}
			value, _ := io.ReadAll(part) // compared below
			got += fmt.Sprintf("%s[%s]=%s;", part.FormName(), part.Header.Get("Content-Type"), value)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{}`))
	})
	out, err := c.Dispatch(t.Context(), request(find(t, s, "acme/form"),
		`{"n":9,"prompt":"a","n":2,"image":"data:image/png;base64,aGk=","none":null,"o":{"x":1}}`), io.Discard)
	require.NoError(t, err)
	require.Equal(t, provider.Answered, out.Phase)
	require.Equal(t, `prompt[]=a;n[]=2;image[image/png]=hi;o[]={"x":1};`, got)
}

// asJSON returns a handler that sends a text with the content type of JSON.
func asJSON(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(text))
	}
}

func TestUnexpectedAnswersAreProviderErrors(t *testing.T) {
	t.Parallel()
	answers := map[string]http.HandlerFunc{
		"no JSON":       func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) },
		"empty":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) },
		"cut off":       asJSON(`{"a":`),
		"two documents": asJSON(`{} {}`),
		"too large": func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte(`{"a":"` + strings.Repeat("x", 2<<20) + `"}`))
		},
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
					return
				}
			}
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
		},
	}
	for name, h := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c, _ := acme(t, h)
			out, err := c.Dispatch(t.Context(), request(find(t, s, "acme/whole"), `{}`), io.Discard)
			require.NoError(t, err)
			require.Equal(t, provider.Failed, out.Phase)
			require.Equal(t, "provider_error", out.Failure.Type, "%+v", out.Failure)
		})
	}
}

// A provider that begins a good answer has the result, and may have charged for it, although the connection breaks.
func TestOutcomeOfAnAnswerThatIsCutOffIsUnknown(t *testing.T) {
	t.Parallel()
	for name, declared := range map[string]string{"shorter than declared": "100", "in chunks": ""} {
		for _, model := range []string{"acme/whole", "acme/audio", "acme/later"} {
			t.Run(name+", "+model, func(t *testing.T) {
				t.Parallel()
				s, c, _ := acme(t, func(w http.ResponseWriter, _ *http.Request) {
					if declared != "" {
						w.Header().Set("Content-Length", declared)
					}
					w.Write([]byte(`{"url":"/a"}`))
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				})
				_, err := c.Dispatch(t.Context(), request(find(t, s, model), `{}`), io.Discard)
				require.ErrorIs(t, err, provider.ErrUnknown)
			})
		}
	}
}

// The result of a generation that is cut off is requested again.
func TestAResultThatIsCutOffIsPolledAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s, c, base := acme(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/result" {
			w.Write([]byte(`{"done":true}`))
			return
		}
		w.Header().Set("Content-Type", "image/png")
		w.Header().Set("Content-Length", "5")
		if asked.Add(1) == 1 {
			w.Write([]byte("pi"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		w.Write([]byte("pixel"))
	})
	m := find(t, s, "acme/drawn")
	_, err := c.Poll(t.Context(), m, base+"/status", io.Discard)
	require.ErrorIs(t, err, provider.ErrUnknown)
	var sink bytes.Buffer
	out, err := c.Poll(t.Context(), m, base+"/status", &sink)
	require.NoError(t, err)
	require.Equal(t, provider.Answered, out.Phase)
	require.Equal(t, "pixel", sink.String())
}

func TestSlowProviderTimesOut(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		// reads the body only to wait
		"before its answer": func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() },
		"in its answer": func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte(`{"a":`))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c, _ := acme(t, h)
			out, err := c.Dispatch(t.Context(), request(find(t, s, "acme/hurried"), `{}`), io.Discard)
			require.NoError(t, err)
			require.Equal(t, "provider_timeout", out.Failure.Type)
			require.Equal(t, catalog.ChargesUnknown, out.Failure.Charged)
			require.Zero(t, out.Failure.UpstreamStatus, "the outcome is unknown, although its status is known")
		})
	}
}

func TestAnErrorSaysWhetherTheRequestMayHaveArrived(t *testing.T) {
	t.Parallel()
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		nobody, err := ports.Address()
		require.NoError(t, err)
		_, err = client(t).Dispatch(t.Context(), request(find(t, models(t, "http://"+nobody), "acme/whole"), `{}`), io.Discard)
		require.ErrorIs(t, err, provider.ErrNotSent)
	})
	t.Run("no TLS", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.NotFoundHandler())
		t.Cleanup(server.Close)
		m := find(t, models(t, strings.Replace(server.URL, "http", "https", 1)), "acme/whole")
		_, err := client(t).Dispatch(t.Context(), request(m, `{}`), io.Discard)
		require.ErrorIs(t, err, provider.ErrNotSent)
	})
	t.Run("dropped", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int32
		s, c, base := acme(t, func(http.ResponseWriter, *http.Request) { calls.Add(1); panic(http.ErrAbortHandler) })
		_, err := c.Dispatch(t.Context(), request(find(t, s, "acme/whole"), `{}`), io.Discard)
		require.ErrorIs(t, err, provider.ErrUnknown)
		require.EqualValues(t, 1, calls.Load(), "the transport does not send a call twice")
		require.NotContains(t, err.Error(), base, "an error holds no address")
	})
	t.Run("dropped on a connection that was used before", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int32
		s, c, _ := acme(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // keeps the connection usable
			if calls.Add(1) > 1 {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{}`))
		})
		m := find(t, s, "acme/whole")
		out, err := c.Dispatch(t.Context(), request(m, `{"a":1}`), io.Discard)
		require.NoError(t, err)
		require.Equal(t, provider.Answered, out.Phase)
		_, err = c.Dispatch(t.Context(), request(m, `{"a":2}`), io.Discard)
		require.ErrorIs(t, err, provider.ErrUnknown)
		require.EqualValues(t, 2, calls.Load(), "the transport does not send a call twice, whatever its headers")
	})
	t.Run("cancelled before sending", func(t *testing.T) {
		t.Parallel()
		s, c, _ := acme(t, http.NotFound)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.Dispatch(ctx, request(find(t, s, "acme/whole"), `{}`), io.Discard)
		require.ErrorIs(t, err, provider.ErrNotSent)
	})
	t.Run("the answer cannot be kept", func(t *testing.T) {
		t.Parallel()
		s, c, _ := acme(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("sound")) })
		_, err := c.Dispatch(t.Context(), request(find(t, s, "acme/audio"), `{}`), brokenSink{})
		require.ErrorIs(t, err, provider.ErrUnknown)
	})
}

type brokenSink struct{}

func (brokenSink) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestACredentialGoesOnlyToTheProvidersHosts(t *testing.T) {
	t.Parallel()
	stolen := make(chan string, 1)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen <- r.Header.Get("x-key") }))
	t.Cleanup(thief.Close)
	s, c, _ := acme(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"url":%q}`, thief.URL+"/status") // the client reads it or fails
	})
	m := find(t, s, "acme/later")
	out, err := c.Dispatch(t.Context(), request(m, `{}`), io.Discard)
	require.NoError(t, err)
	require.Equal(t, provider.Accepted, out.Phase)
	out, err = c.Poll(t.Context(), m, out.Handle, io.Discard)
	require.NoError(t, err)
	require.Equal(t, provider.Failed, out.Phase)
	require.Empty(t, stolen)
}

func TestValidationErrorsOfAProviderPassVerbatim(t *testing.T) {
	t.Parallel()
	const violations = `[ {"loc":["body","image",0],"msg":"too small","type":"image_too_small","ctx":{"min_width":64},"input": 1.50,` +
		`"url":"https://x"} ]`
	s, c, _ := acme(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		w.Write([]byte(`{"detail":` + violations + `}`))
	})
	out, err := c.Dispatch(t.Context(), request(find(t, s, "acme/whole"), `{}`), io.Discard)
	require.NoError(t, err)
	require.Equal(t, "invalid_input", out.Failure.Type)
	require.Equal(t, violations, string(out.Failure.Validation))
	require.Equal(t, 422, out.Failure.UpstreamStatus)
}

func TestProvidersMessagesAreCleaned(t *testing.T) {
	t.Parallel()
	s, c, _ := acme(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		w.Write([]byte(`{"error":{"message":"bad size\nfor key ` + secret + ` of org-abcdef123456 \u0007` + strings.Repeat("long ", 300) + `"}}`))
	})
	out, err := c.Dispatch(t.Context(), request(find(t, s, "acme/whole"), `{}`), io.Discard)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(out.Failure.UpstreamDetail, "bad size for key *** of *** long"), out.Failure.UpstreamDetail)
	require.LessOrEqual(t, len([]rune(out.Failure.UpstreamDetail)), 501)
}

func TestALongByteAnswerStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hash := sha256.New()
	out, err := w.client.Dispatch(t.Context(), request(w.model(t, "sim/speech"), `{"prompt":"[sim:size=20971520]"}`), hash)
	require.NoError(t, err)
	require.Equal(t, provider.Answered, out.Phase)
	require.EqualValues(t, 20971520, out.Size)
	require.Equal(t, "audio/wav", out.ContentType)
}

func TestRetryAfterOfAStatusAnswerIsKept(t *testing.T) {
	t.Parallel()
	s, c, base := acme(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	out, err := c.Poll(t.Context(), find(t, s, "acme/later"), base+"/status", io.Discard)
	require.NoError(t, err)
	require.Equal(t, provider.Pending, out.Phase)
	require.Equal(t, 7*time.Second, out.PollAfter)
}

func TestAStalledStatusRequestIsRepeated(t *testing.T) {
	t.Parallel()
	asked := 0
	s, c, base := acme(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch asked {
		case 1: // no answer
			<-r.Context().Done()
		case 2: // a part of an answer
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"done":`))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"done":true}`))
		}
	})
	m := find(t, s, "acme/later")
	_, err := c.Poll(t.Context(), m, base+"/status", io.Discard)
	require.ErrorIs(t, err, provider.ErrUnknown)
	for _, want := range []provider.Phase{provider.Pending, provider.Answered} {
		out, err := c.Poll(t.Context(), m, base+"/status", io.Discard)
		require.NoError(t, err)
		require.Equal(t, want, out.Phase, "%+v", out.Failure)
	}
}

func TestARefusedCancelIsReported(t *testing.T) {
	t.Parallel()
	s, c, base := acme(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(path.Base(r.URL.Path)) // the test made the address
		w.WriteHeader(status)
	})
	m := find(t, s, "acme/later")
	for status, want := range map[int]error{
		200: nil, 202: nil, 204: nil, 404: nil, 410: nil,
		400: provider.ErrCannotCancel, 401: provider.ErrCannotCancel, 409: provider.ErrCannotCancel,
		408: provider.ErrUnknown, 429: provider.ErrUnknown, 503: provider.ErrUnknown,
	} {
		err := c.Cancel(t.Context(), m, fmt.Sprintf("%s/%d", base, status))
		if want == nil {
			require.NoError(t, err, status)
			continue
		}
		require.ErrorIs(t, err, want, status)
	}
}

func TestATaskIsWrappedWithItsID(t *testing.T) {
	t.Parallel()
	var got []string
	s, c, _ := acme(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // compared below
		got = append(got, string(body))
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{}`))
	})
	m := find(t, s, "acme/tasks")
	for body, want := range map[string]string{
		" { \"p\":1.50,\t\"a\":\"\\u00e9\" }\n": `[{"id":"ID","kind":"draw","paid":true, "p":1.50,` + "\t" + `"a":"\u00e9" }` + "\n]",
		`{}`:                                    `[{"id":"ID","kind":"draw","paid":true}]`,
		`{"kind":"paint"}`:                      `[{"id":"ID","paid":true,"kind":"paint"}]`,
	} {
		got = nil
		for range 2 { // a second attempt has the same task
			out, err := c.Dispatch(t.Context(), request(m, body), io.Discard)
			require.NoError(t, err)
			require.Equal(t, provider.Answered, out.Phase, "%+v", out.Failure)
		}
		id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`).FindString(got[0])
		require.NotEmpty(t, id, got[0])
		require.Equal(t, strings.Replace(want, "ID", id, 1), got[0])
		require.Equal(t, got[0], got[1])
	}
}
