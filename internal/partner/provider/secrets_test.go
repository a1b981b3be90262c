package provider_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/provider"
)

// repeated returns a text that repeats the credential in all the ways that are recognized.
func repeated(r *http.Request) string {
	sent := r.Header.Get("x-key")
	var units strings.Builder
	for _, b := range []byte(sent) {
		fmt.Fprintf(&units, `\u%04x`, b)
	}
	return fmt.Sprintf("%s %s %s %s", sent, base64.StdEncoding.EncodeToString([]byte("x-key: "+sent)),
		url.QueryEscape("key "+sent), units.String())
}

// requireNoSecret fails if the result of an exchange contains the credential.
func requireNoSecret(t *testing.T, texts ...any) {
	t.Helper()
	all := fmt.Sprintf("%+v", texts)
	require.NotContains(t, all, secret)
	require.NotContains(t, all, fmt.Sprintf("u%04x", secret[0])) // escaped for JSON, once or twice
	for _, before := range []string{"", "-", "--"} {
		inner := base64.RawStdEncoding.EncodeToString([]byte(before + secret + "--"))
		require.NotContains(t, all, inner[4:len(inner)-4])
	}
}

// logging returns a client and its log.
func logging(t *testing.T) (*provider.Client, *record) {
	t.Helper()
	connections, logs := outbound.New(outbound.Options{}), &record{}
	t.Cleanup(connections.Close)
	return provider.New(connections, func(string) (string, bool) { return secret, true }, slog.New(slog.NewTextHandler(logs, nil))), logs
}

// A provider may repeat the credential in any part of an answer. Nothing that is passed on contains it.
func TestAnAnswerThatRepeatsTheCredentialIsHandedOnWithoutIt(t *testing.T) {
	t.Parallel()
	document := func(w http.ResponseWriter, r *http.Request, status int, format string) {
		w.Header().Set("Content-Type", "application/json; note="+r.Header.Get("x-key"))
		w.Header().Set("X-Cost", repeated(r))
		w.WriteHeader(status)
		fmt.Fprintf(w, format, repeated(r)) // the client reads it or fails
	}
	for name, c := range map[string]struct {
		model   string
		phase   provider.Phase
		handler http.HandlerFunc
	}{
		"a result": {"acme/whole", provider.Answered, func(w http.ResponseWriter, r *http.Request) { document(w, r, 200, `{"said":%q}`) }},
		"a 422": {"acme/whole", provider.Failed, func(w http.ResponseWriter, r *http.Request) {
			document(w, r, 422, `{"detail":[{"loc":["body"],"msg":%q,"type":"x"}]}`)
		}},
		"a 400": {"acme/whole", provider.Failed, func(w http.ResponseWriter,
			r *http.Request,
		) {
			document(w, r, 400, `{"error":{"message":%q}}`)
		}},
		"a 500":   {"acme/whole", provider.Failed, func(w http.ResponseWriter, r *http.Request) { document(w, r, 500, `%s`) }},
		"no JSON": {"acme/whole", provider.Failed, func(w http.ResponseWriter, r *http.Request) { document(w, r, 200, `{%s`) }},
		"bytes": {"acme/audio", provider.Answered, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "audio/mpeg; "+r.Header.Get("x-key"))
			io.WriteString(w, "\x00\xff"+repeated(r)+"\xfe") // as above
		}},
		"events, in pieces": {"acme/audio", provider.Answered, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, b := range []byte("data: " + repeated(r) + "\n\n") {
				w.Write([]byte{b}) // as above
				http.NewResponseController(w).Flush()
			}
		}},
		"bytes that break off": {"acme/audio", "", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, repeated(r)[:len(secret)-4]) // ends within the secret
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}},
		"a handle": {"acme/later", provider.Failed, func(w http.ResponseWriter, r *http.Request) { document(w, r, 200, `{"url":"/%s"}`) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.handler)
			t.Cleanup(server.Close)
			client, logs := logging(t)
			var sink bytes.Buffer
			out, err := client.Dispatch(t.Context(), request(find(t, models(t, server.URL), c.model), `{}`), &sink)
			require.Equal(t, c.phase, out.Phase, "%+v", out.Failure)
			if c.phase == "" {
				require.ErrorIs(t, err, provider.ErrUnknown)
			} else {
				require.NoError(t, err)
			}
			requireNoSecret(t, out, fmt.Sprint(err), out.Failure, sink.String(), logs.String())
			if out.Failure != nil {
				requireNoSecret(t, string(out.Failure.Validation))
			}
			require.NotContains(t, sink.String(), secret[:len(secret)-4], "no part of it either")
		})
	}
}

// The bytes around a credential, and their number, do not change.
func TestOnlyTheCredentialIsOverwritten(t *testing.T) {
	t.Parallel()
	s, c, _ := acme(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{ \"said\" : \""+r.Header.Get("x-key")+"\",\t\"n\":1e2 }\n") // compared below
	})
	var sink bytes.Buffer
	out, err := c.Dispatch(t.Context(), request(find(t, s, "acme/whole"), `{}`), &sink)
	require.NoError(t, err)
	require.Equal(t, "{ \"said\" : \""+strings.Repeat("*", len(secret))+"\",\t\"n\":1e2 }\n", sink.String())
	require.EqualValues(t, sink.Len(), out.Size)
}

func TestAStatusAnswerThatRepeatsTheCredentialIsHandedOnWithoutIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		phase  provider.Phase
	}{
		"pending": {200, `{"note":%q}`, provider.Pending}, "done": {200, `{"done":true,"note":%q}`, provider.Answered},
		"gone": {404, `{"error":{"message":%q}}`, provider.Failed}, "refused": {401, `%s`, provider.Pending},
		"unreadable": {200, `{%s`, provider.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				fmt.Fprintf(w, c.body, repeated(r)) // the client reads it or fails
			}))
			t.Cleanup(server.Close)
			client, logs := logging(t)
			var sink bytes.Buffer
			out, err := client.Poll(t.Context(), find(t, models(t, server.URL), "acme/later"), server.URL+"/status", &sink)
			require.NoError(t, err)
			require.Equal(t, c.phase, out.Phase)
			requireNoSecret(t, out, out.Failure, sink.String(), logs.String())
		})
	}
}

// Errors of net/http quote bytes that cannot be parsed.
func TestMalformedHTTPAnswerDoesNotShowTheCredential(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"status line": "HTTP/1.1 " + secret + "\r\n\r\n", "header": "HTTP/1.1 200 OK\r\nX " + secret + "\r\n\r\n",
		"chunk": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + secret + "\r\n",
		"trailer": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX " + secret +
			"\r\n\r\n",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			io.WriteString(conn, answer) // the client reads it or fails
		}))
		t.Cleanup(server.Close)
		client, logs := logging(t)
		out, err := client.Dispatch(t.Context(), request(find(t, models(t, server.URL), "acme/whole"), `{}`), io.Discard)
		if err == nil {
			require.Equal(t, provider.Failed, out.Phase, name)
		}
		requireNoSecret(t, name, err, out, out.Failure, logs.String())
	}
}

// A token that was made from the credential for one request is a secret, too.
func TestASignedTokenIsOverwritten(t *testing.T) {
	t.Parallel()
	const kling = `provider: acme
base: https://api.acme.example
auth: {kind: kling-jwt, env: [ACME_ACCESS, ACME_SECRET]}
defaults: {price: {exact: "1", as_of: 2026-01-01}}
models: [{model: whole, protocol: sync, submit: {url: /run}}]
`
	sent := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sent <- token
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"seen":%q}`, r.Header.Get("Authorization")) // compared below
	}))
	t.Cleanup(server.Close)
	client, _ := logging(t)
	var sink bytes.Buffer
	_, err := client.Dispatch(t.Context(), request(find(t, modelsOf(t, kling, server.URL), "acme/whole"), `{}`), &sink)
	require.NoError(t, err)
	require.Equal(t, `{"seen":"Bearer `+strings.Repeat("*", len(<-sent))+`"}`, sink.String())
}

// Handles are stored. A handle with a password is refused at once, and the generation, whose status cannot be read,
// ends with an unknown outcome.
func TestAPollingAddressWithAPasswordEndsTheCall(t *testing.T) {
	t.Parallel()
	polled := make(chan struct{}, 10)
	s, c, base := acme(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			polled <- struct{}{}
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"url":"http://user:p4ssword@%s/status"}`, r.Host) // the client reads it or fails
	})
	m := find(t, s, "acme/later")
	out, err := c.Dispatch(t.Context(), request(m, `{}`), io.Discard)
	require.NoError(t, err)
	requireAstray(t, out)

	// An earlier version may have stored such an address.
	out, err = c.Poll(t.Context(), m, strings.Replace(base, "http://", "http://user:p4ssword@", 1)+"/status", io.Discard)
	require.NoError(t, err)
	requireAstray(t, out)
	require.Empty(t, polled)
}

func requireAstray(t *testing.T, out provider.Outcome) {
	t.Helper()
	require.Equal(t, provider.Failed, out.Phase)
	require.Equal(t, "provider_error", out.Failure.Type)
	require.Equal(t, "The provider returned an address for the result that must not be used.", out.Failure.Detail)
	require.EqualValues(t, "unknown", out.Failure.Charged)
	require.False(t, out.Failure.Retryable)
	require.Contains(t, out.Failure.Cause, "user name or password")
	require.Empty(t, out.Handle)
	require.NotContains(t, fmt.Sprintf("%+v", out.Failure), "p4ssword")
}
