package router_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// parrotKey is the operator's credential of the provider parrot, which repeats it wherever possible.
const parrotKey = "p4rr0t/key+of=the-operator"

const parrotEntries = `
provider: parrot
title: Parrot
base: https://parrot.example
auth: {kind: header, header: Authorization, scheme: Bearer, env: [PARROT_API_KEY]}
defaults: {charges_on_policy_rejection: no, price: {exact: "0", as_of: 2026-11-01}, idempotency_header: X-Call}
models:
  - {model: says, title: Says, protocol: sync, submit: {url: /says}, input: {type: object, properties: {prompt: {type: string}}}}
  - {model: streams, title: Streams, protocol: bytes, content_type: text/event-stream, submit: {url: /streams}}
  - model: later
    title: Later
    protocol: submit-poll
    submit: {url: /later}
    handle: body.id
    poll: {url: "/later/{handle}"}
    done: body.done
    failed: body.failed
    limits: {first_poll: 100ms, poll_every: 100ms, total: 10m}
  - model: links
    title: Links
    protocol: submit-poll
    submit: {url: /links}
    handle: body.polling_url
    poll: {url: "{handle}"}
    done: body.done
    limits: {first_poll: 100ms, poll_every: 100ms, total: 10m}
  - model: files
    title: Files
    protocol: sync
    submit: {url: /files}
    hosting: {assets: [/url], lifetime: 1h}
  - model: loose
    title: Loose files
    protocol: sync
    submit: {url: /files}
    input: {type: object, properties: {prompt: {type: string}}}
    node: {outputs: [{name: file, type: FILE, from: [/url]}, {name: said, type: STRING, from: [/said]}]}
`

// parrot is this provider. The prompt may be the status of its answer.
func parrot() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /says", func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller sees it
		}
		switch {
		case strings.Contains(string(raw), `"422"`):
			parroted(w, r, 422, `{"detail":[{"loc":["body",%[1]q],"msg":%[1]q,"type":"value_error","ctx":{"key":%[1]q},"input":{%[1]q:1}}]}`)
		case strings.Contains(string(raw), `"400"`):
			parroted(w, r, 400, `{"error":{"message":%q}}`)
		case strings.Contains(string(raw), `"500"`):
			parroted(w, r, 500, `{"error":{"message":%q}}`)
		default:
			parroted(w, r, 200, `{"said":%q}`)
		}
	})
	mux.HandleFunc("POST /streams", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		text := "data: " + repeats(r) + "\n\n"
		for len(text) > 0 { // a credential is cut into pieces
			n := min(7, len(text))
			io.WriteString(w, text[:n])           // the caller sees it
			http.NewResponseController(w).Flush() // as above
			text = text[n:]
		}
	})
	mux.HandleFunc("POST /later", func(w http.ResponseWriter, r *http.Request) { parroted(w, r, 200, `{"id":"7","note":%q}`) })
	mux.HandleFunc("GET /later/{id}", later())
	mux.HandleFunc("POST /links", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"polling_url":"http://user:p4ssw0rd@%s/later/9"}`, r.Host) // the caller sees it
	})
	mux.HandleFunc("POST /files", func(w http.ResponseWriter, r *http.Request) {
		parroted(w, r, 200, `{"said":%q,"url":"http://`+r.Host+`/file.txt"}`)
	})
	mux.HandleFunc("GET /file.txt", func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+parrotKey) // a request for a file has no credential, so parrot uses a remembered one
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, repeats(r)) // the caller sees it
	})
	return mux
}

// later reports a running generation, and then a finished one.
func later() http.HandlerFunc {
	var mu sync.Mutex
	asked := map[string]int{}
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		call := r.PathValue("id")
		if asked[call]++; asked[call]%2 == 1 {
			parroted(w, r, 200, `{"note":%q}`)
			return
		}
		parroted(w, r, 200, `{"done":true,"said":%q}`)
	}
}

// repeats returns the credential of a request, unchanged and in other forms.
func repeats(r *http.Request) string {
	sent := r.Header.Get("Authorization")
	_, key, _ := strings.Cut(sent, " ")
	return strings.Join([]string{
		sent, key, url.QueryEscape(sent), url.PathEscape(key), base64.StdEncoding.EncodeToString([]byte(sent)),
		base64.URLEncoding.EncodeToString([]byte("k=" + key)),
	}, " ")
}

func parroted(w http.ResponseWriter, r *http.Request, status int, format string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Key", repeats(r))
	w.Header().Set("X-Request-Id", r.Header.Get("Authorization"))
	w.WriteHeader(status)
	fmt.Fprintf(w, format, repeats(r)) // the caller sees it
}

// parrotTraces are texts such that everything that contains the credential, in any form that parrot writes, or the
// password of an address, contains one of them.
func parrotTraces() []string {
	traces := []string{parrotKey, url.QueryEscape(parrotKey), "p4rr0t%2", "p4rr0t/", "the-operator", "p4ssw0rd"}
	for _, before := range []string{"", "-", "--"} {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(before + parrotKey))
		traces = append(traces, encoded[4:len(encoded)-4])
	}
	return traces
}

// mailbox keeps the messages of webhooks.
type mailbox struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

// ServeHTTP implements http.Handler.
func (m *mailbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the message will be sent again
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text.Write(raw)
}

func (m *mailbox) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.String()
}

// heard is a client that keeps the answers that it receives.
type heard struct {
	*client
	strings.Builder
}

func (h *heard) do(method, path, body string, headers ...string) reply {
	h.t.Helper()
	r := h.client.do(method, path, body, headers...)
	fmt.Fprintln(h, method, path, r.header, r.body)
	return r
}

// A provider repeats the operator's credential in every part of its answers. No answer, event, page, message, log,
// table or file of the service contains it.
func TestTheCredentialOfAProviderAppearsNowhere(t *testing.T) {
	t.Parallel()
	h := &heard{client: newClient(t)}
	r := h.do("POST", "/api/v2/webhooks", fmt.Sprintf(`{"url":%q,"events":["job.completed","job.failed","call.succeeded","call.failed",`+
		`"call.outcome_unknown"]}`, h.hooks))
	require.Equal(t, 201, r.status, r.body)
	calls := h.parrotCalls()
	queued := h.parrotRequests()
	jobs := h.parrotJobs()
	h.until("the webhook has the end of every job and call", func() bool {
		for _, id := range append(jobs, calls...) {
			if !strings.Contains(h.mail.String(), id) {
				return false
			}
		}
		return true
	})
	for _, id := range jobs {
		for _, path := range []string{"/api/jobs/", "/api/v2/jobs/", "/api/history/", "/api/history_v2/"} {
			h.do("GET", path+id, "")
		}
		h.do("GET", "/api/v2/jobs/"+id+"/logs", "")
		h.do("GET", "/api/v2/jobs/"+id+"/events", "")
	}
	for _, path := range []string{
		"/api/history", "/api/jobs", "/api/v2/jobs", "/api/assets", "/api/object_info/Partner_parrot_says",
		"/v2/models/parrot/says/openapi.json",
	} {
		h.do("GET", path, "")
	}
	for _, id := range append(calls, queued...) {
		r := h.operate("GET", "/calls/"+id, "")
		require.Equal(t, 200, r.status, r.body)
		fmt.Fprintln(h, r.body)
	}

	require.Contains(t, h.String(), strings.Repeat("*", len(parrotKey)), "it is overwritten")
	for _, trace := range parrotTraces() {
		require.NotContains(t, h.String(), trace)
		require.NotContains(t, h.log.String(), trace)
		require.NotContains(t, h.mail.String(), trace)
		for _, database := range []string{"millrace", "temporal"} {
			require.Empty(t, h.tablesWith(t, database, trace), database)
		}
		require.Empty(t, filesWith(t, h.data, trace))
	}
	require.NotEmpty(t, filesWith(t, h.data, strings.Repeat("*", len(parrotKey))), "the answers are kept")
}

// parrotCalls makes synchronous calls, each of them twice under one key, and follows the links of their answers. It
// returns the ids of the calls.
func (h *heard) parrotCalls() (ids []string) {
	h.t.Helper()
	for i, each := range []struct {
		model, body string
		status      int
	}{
		{"says", `{}`, 200},
		{"says", `{"prompt":"422"}`, 422},
		{"says", `{"prompt":"400"}`, 400},
		{"says", `{"prompt":"500"}`, 502},
		{"streams", `{}`, 200},
		{"later", `{}`, 200},
		{"files", `{}`, 200},
	} {
		for _, path := range []string{"/v2", "/v2", "/v1"} {
			r := h.do("POST", path+"/models/parrot/"+each.model, each.body, "Idempotency-Key", fmt.Sprint("parrot", path, i))
			require.Equal(h.t, each.status, r.status, "%s %s: %s", each.model, each.body, r.body)
			if r.header.Get("Idempotent-Replayed") == "" {
				ids = append(ids, r.header.Get("X-Service-Request-Id"))
			}
			if each.model == "files" {
				link := fmt.Sprint(decode(h.t, r.body)["url"])
				require.Equal(h.t, 200, h.do("GET", strings.TrimPrefix(link, "https://router.example"), "").status, link)
			}
		}
	}
	r := h.do("POST", "/v2/models/parrot/links", `{}`) // the outcome of the generation is unknown
	require.Equal(h.t, 502, r.status, r.body)
	return append(ids, r.header.Get("X-Service-Request-Id"))
}

// parrotRequests makes a queued call, and returns its id.
func (h *heard) parrotRequests() []string {
	h.t.Helper()
	const path = "/v2/models/parrot/later/requests"
	id := fmt.Sprint(decode(h.t, h.do("POST", path, `{}`).body)["request_id"])
	h.until("the request has ended", func() bool {
		return decode(h.t, h.do("GET", path+"/"+id+"/status", "").body)["status"] == "COMPLETED"
	})
	require.Equal(h.t, 200, h.do("GET", path+"/"+id, "").status)
	return []string{id}
}

// parrotJobs runs graphs whose nodes call the provider, and returns the ids of the jobs.
func (h *heard) parrotJobs() (ids []string) {
	h.t.Helper()
	for graph, want := range map[string]string{
		`{"1":{"class_type":"Partner_parrot_says","inputs":{"prompt":"a"}},"2":{"class_type":"PreviewAny","inputs":{"source":["1",` +
			`0]}}}`: "completed",
		`{"1":{"class_type":"Partner_parrot_loose","inputs":{"prompt":"b"}},"2":{"class_type":"PreviewAny","inputs":{"source":["1",0]}},` +
			`"3":{"class_type":"PreviewAny","inputs":{"source":["1",1]}}}`: "completed",
		`{"1":{"class_type":"Partner_parrot_says","inputs":{"prompt":"422"}},"2":{"class_type":"PreviewAny","inputs":{"source":["1",` +
			`0]}}}`: "failed",
		`{"1":{"class_type":"Partner_parrot_says","inputs":{"prompt":"400"}},"2":{"class_type":"PreviewAny","inputs":{"source":["1",` +
			`0]}}}`: "failed",
	} {
		r := h.do("POST", "/api/prompt", `{"prompt":`+graph+`,"extra_data":{"api_key_service":"`+h.key+`"}}`)
		require.Equal(h.t, 200, r.status, r.body)
		id := fmt.Sprint(decode(h.t, r.body)["prompt_id"])
		state := ""
		h.until("the job has ended", func() bool {
			state = fmt.Sprint(decode(h.t, h.do("GET", "/api/job/"+id+"/status", "").body)["status"])
			return state == "completed" || state == "failed"
		})
		require.Equal(h.t, want, state, h.do("GET", "/api/jobs/"+id, "").body)
		ids = append(ids, id)
	}
	return ids
}
