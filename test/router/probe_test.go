package router_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// probeEntries are the models of a provider whose behaviour depends on its input.
const probeEntries = `
provider: probe
title: Probe
base: https://probe.example
auth: {kind: none}
defaults: {charges_on_policy_rejection: no, price: {exact: "0", as_of: 2026-11-01}, limits: {bytes: 64KiB, stall: 5s, ` +
	`total: 30s}}
models:
  - {model: json, title: JSON, protocol: sync, submit: {url: /json}}
  - {model: typed, title: Typed, protocol: sync, submit: {url: /json}, output: {type: object, required: [url], properties: ` +
	`{url: {type: string}, a: {type: integer}}}}
  - {model: bytes, title: Bytes, protocol: bytes, content_type: application/octet-stream, submit: {url: /bytes}}
  - model: slow
    title: Slow
    protocol: submit-poll
    submit: {url: /slow}
    handle: body.id
    poll: {url: "/slow/{handle}"}
    done: body.done
    limits: {first_poll: 100ms, poll_every: 100ms, total: 10m}
  - model: form
    title: Form
    protocol: bytes
    encoding: multipart
    content_type: application/octet-stream
    submit: {url: /form}
    price: {exact: "input.n * 0.01", as_of: 2026-11-01}
    input:
      type: object
      required: [prompt]
      properties: {prompt: {type: string, minLength: 1}, n: {type: integer, minimum: 1, maximum: 4}, image: {type: string}}
`

// oddAnswer is a document that would change if it were encoded again.
const oddAnswer = "\n{ \"z\" : 1.0, \"a\":\"caf\\u00e9 <b>\" ,\"big\":12345678901234567890123, \"a\":null }\r\n"

// foreignAnswer is not a JSON document.
const foreignAnswer = "RIFF\x00\xff{\"a\":1}\r\n"

// probe is the provider of probeEntries. A word of the body selects its behaviour.
type probe struct {
	mux   *http.ServeMux
	mu    sync.Mutex // guards all below
	asked map[string]int
	gates map[string]chan struct{} // by the word of a slow generation; closed when it is done
}

func newProbe() *probe {
	p := &probe{mux: http.NewServeMux(), asked: map[string]int{}, gates: map[string]chan struct{}{}}
	p.mux.HandleFunc("POST /json", func(w http.ResponseWriter, r *http.Request) { p.misbehave(w, r, "application/json", `{"a":"`) })
	p.mux.HandleFunc("POST /bytes", func(w http.ResponseWriter, r *http.Request) {
		p.misbehave(w, r, "application/octet-stream", "bytes ")
	})
	p.mux.HandleFunc("POST /form", func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller sees it
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		io.WriteString(w, r.Header.Get("Content-Type")+"\n"+string(raw)) // the caller sees it
	})
	p.mux.HandleFunc("POST /slow", p.submit)
	p.mux.HandleFunc("GET /slow/{id}", p.poll)
	return p
}

func (p *probe) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// word returns the word after "how": in a body, and counts it.
func (p *probe) word(r *http.Request) string {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return "unread"
	}
	_, rest, _ := strings.Cut(string(raw), `"how":"`)
	word, _, _ := strings.Cut(rest, `"`)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[word]++
	return word
}

// count returns how many requests with that word the provider received.
func (p *probe) count(word string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[word]
}

// misbehave answers 200 and then misbehaves as the word says. A dash and any text may follow the word.
func (p *probe) misbehave(w http.ResponseWriter, r *http.Request, contentType, begin string) {
	how, _, _ := strings.Cut(p.word(r), "-")
	w.Header().Set("Content-Type", contentType)
	switch how {
	case "promises": // announces more bytes than it sends
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, begin) // the provider closes the connection early
		panic(http.ErrAbortHandler)
	case "truncated": // in chunks, without the last
		io.WriteString(w, begin)              // as above
		http.NewResponseController(w).Flush() // as above
		panic(http.ErrAbortHandler)
	case "exceeds": // sends more bytes than it announces: the rest is not part of the answer
		p.raw(w, "HTTP/1.1 200 OK\r\nContent-Type: "+contentType+"\r\nContent-Length: 2\r\n\r\n{}{}{}")
	case "negative":
		p.raw(w, "HTTP/1.1 200 OK\r\nContent-Type: "+contentType+"\r\nContent-Length: -1\r\n\r\n{}")
	case "large": // announces its size
		w.Header().Set("Content-Length", fmt.Sprint(1<<40))
		io.WriteString(w, begin) // as above
		panic(http.ErrAbortHandler)
	case "endless":
		for {
			if _, err := io.WriteString(w, begin+strings.Repeat("x", 4<<10)); err != nil {
				return
			}
		}
	case "wave", "note": // a content type other than the catalog's
		w.Header().Set("Content-Type", map[string]string{"wave": "audio/wav", "note": "text/plain; charset=utf-8"}[how])
		io.WriteString(w, foreignAnswer) // the caller sees it
	case "page": // an error page of a proxy
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<html>") // as above
	case "accepted": // as if it were not done yet
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, oddAnswer) // the caller sees it
	default:
		io.WriteString(w, oddAnswer) // the caller sees it
	}
}

// raw writes an answer that net/http would not write.
func (p *probe) raw(w http.ResponseWriter, answer string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	io.WriteString(conn, answer) // the caller sees it
}

// gate returns a channel that the test closes when a slow generation is done.
func (p *probe) gate(word string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gates[word] == nil {
		p.gates[word] = make(chan struct{})
	}
	return p.gates[word]
}

func (p *probe) submit(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":%q}`, p.word(r)) // the caller sees it
}

func (p *probe) poll(w http.ResponseWriter, r *http.Request) {
	done := false
	select {
	case <-p.gate(r.PathValue("id")):
		done = true
	default:
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":%q,"done":%t}`, r.PathValue("id"), done) // the caller sees it
}
