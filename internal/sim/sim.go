// Package sim is a simulator of partner providers. It speaks the wire formats of the providers in
// the catalog (submissions, status answers, webhooks, errors, refusals, bytes), so that everything
// that talks to providers can be shown and tested without a key, and it misbehaves on request:
// a word in the caller's own text, "[sim:drop]", picks what goes wrong. It generates nothing worth
// looking at and keeps nothing but a count of what it would have charged for; generations live in
// their ids, so a restarted simulator, or another one, finishes them.
package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Options are the tunables of a Server. The zero value works.
type Options struct {
	Delay time.Duration // of a generation that does not ask for another; default 300 ms
	Log   *slog.Logger  // default none
	// Credential is the credential that providers accept; "" accepts every credential but "wrong".
	Credential string
}

// Server simulates all providers, each below its own path: "/bfl/v1/flux-2-pro".
type Server struct {
	opts         Options
	mux          *http.ServeMux
	charges      *charges
	cancels      *charges // cancel requests by generation
	statusFaults *charges // status answers that misbehaved, by generation
	webhooks     sync.WaitGroup
	ctx          context.Context //nolint:containedctx // lives for one call
	stop         context.CancelFunc
}

const defaultDelay = 300 * time.Millisecond

// New returns a simulator. Close releases it.
func New(opts Options) *Server {
	opts.Delay = cmp.Or(opts.Delay, defaultDelay)
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		opts: opts, mux: http.NewServeMux(), charges: newCharges(), cancels: newCharges(), statusFaults: newCharges(), ctx: ctx,
		stop: stop,
	}
	s.routes()
	return s
}

// Close waits for the webhooks that are under way.
func (s *Server) Close() {
	s.stop()
	s.webhooks.Wait()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Providers are the names for which the simulator has wire formats; its address with one of them
// as path stands for the provider's base.
func Providers() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(formats)),
		"bfl", "byteplus", "elevenlabs", "fal", "google", "higgsfield", "kling", "minimax", "openai", "replicate", "runware",
		"sim", "stability", "vertexai", "wavespeed", "xai")))
}

// Bases are the addresses that stand for those of the real providers, where a simulator is at address. "sim"
// has no other: a catalog names it by itself.
func Bases(address string) map[string]string {
	bases := map[string]string{}
	for _, name := range Providers() {
		if name != "sim" {
			bases[name] = address + "/" + name
		}
	}
	return bases
}

func (s *Server) routes() {
	s.mux.HandleFunc("GET /charges", s.charges.list)
	s.mux.HandleFunc("DELETE /charges", s.charges.reset)
	s.mux.HandleFunc("GET /cancels", s.cancels.list)
	s.mux.HandleFunc("GET /files/{name}", serveFile)
	s.echoRoutes()
	s.bflRoutes()
	s.openAIRoutes()
	s.googleRoutes()
	s.stabilityRoutes()
	s.byteplusRoutes()
	s.minimaxRoutes()
	s.klingRoutes()
	s.elevenLabsRoutes()
	s.replicateRoutes()
	s.falRoutes()
	s.xaiRoutes()
	s.wavespeedRoutes()
	s.runwareRoutes()
	s.higgsfieldRoutes()
	s.formatRoutes()
}

// handler answers one request in a provider's format.
type handler func(*exchange) reply

// refusals are a provider's error answers by fault.
type refusals map[string]reply

// or answers with the refusal that the caller asked for, or else as next does.
func (r refusals) or(next handler) handler {
	return func(e *exchange) reply {
		if refused, found := r[e.scenario.Fault]; found {
			return refused
		}
		return next(e)
	}
}

// exchange is one request as a handler sees it.
type exchange struct {
	*http.Request
	raw      []byte
	body     map[string]any
	scenario scenario
	server   *Server
	now      time.Time
}

// reply is an answer. It is JSON unless ContentType is set.
type reply struct {
	status      int
	json        any
	bytes       []byte
	contentType string
	headers     map[string]string
	charged     bool // the provider takes money for this request
}

func ok(body any) reply { return reply{status: http.StatusOK, json: body} }

func fail(status int, body any) reply { return reply{status: status, json: body} }

// maxRequest bounds a request body: the router's maximum in a form.
const maxRequest = 80 << 20

// handle registers a route of a provider.
func (s *Server) handle(pattern string, auth credential, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			return // the client is gone, or sent too much and has its answer
		}
		e := &exchange{Request: r, raw: raw, server: s, now: time.Now()}
		e.body = decode(r.Header.Get("Content-Type"), raw)
		e.scenario = parseScenario(raw, r.URL.Path)
		if t, ok := e.ticket(); ok {
			e.scenario = e.polling(t)
		}
		rep := s.serve(e, auth, h)
		if !e.scenario.wait(r.Context()) { // what it did for a caller who is gone is not charged
			return
		}
		fault := e.scenario.Fault
		if rep.charged && !s.charges.once(chargeKey(r, raw), r.Header.Get("Idempotency-Key") != "") &&
			(fault == faultLose || fault == faultTruncate) {
			e.scenario.Fault = "" // the first answer was lost
		}
		e.scenario.send(w, r, rep)
	})
}

func (s *Server) serve(e *exchange, auth credential, h handler) reply {
	if refused := auth.check(e.Request, s.opts.Credential); refused != nil {
		return *refused
	}
	return h(e)
}

func decode(contentType string, raw []byte) map[string]any {
	if form, ok := decodeForm(contentType, raw); ok {
		return form
	}
	var body map[string]any
	if json.Unmarshal(raw, &body) == nil {
		return body
	}
	var tasks []map[string]any
	if json.Unmarshal(raw, &tasks) != nil || len(tasks) != 1 {
		return nil
	}
	return tasks[0]
}

// text returns a string member of the body, or "".
func (e *exchange) text(name string) string {
	s, _ := e.body[name].(string)
	return s
}

// base returns the simulator's own address as the caller reached it.
func (e *exchange) base() string { return "http://" + e.Host }
