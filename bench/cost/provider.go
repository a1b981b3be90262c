package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// provider is a partner's service that answers at once with the request's body.
type provider struct {
	base   string
	server *http.Server
}

func newProvider() (*provider, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sim/echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","input":%s}`, body) // the caller sees a broken answer
	})
	p := &provider{base: "http://" + l.Addr().String(), server: &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}}
	go p.server.Serve(l) // ends with close
	return p, nil
}

func (p *provider) close() { p.server.Close() } // the measurement is over
