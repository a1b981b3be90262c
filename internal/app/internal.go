package app

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/internal/stream/peer"
)

// openBus connects live frames with other processes over the internal address, which also answers health checks.
func (in *Instance) openBus(ctx context.Context, group *errgroup.Group) error {
	var inner stream.Bus = stream.NewLocal()
	if in.cfg.InternalAddr != "" {
		bus, err := in.openPeers(ctx, group)
		if err != nil {
			return err
		}
		inner = bus
	}
	recorder := stream.NewRecorder(inner, livestore.NewProgress(in.pool), in.log)
	group.Go(func() error { return ignoreStop(recorder.Run(ctx)) })
	in.bus = recorder
	return nil
}

func (in *Instance) openPeers(ctx context.Context, group *errgroup.Group) (*peer.Bus, error) {
	listener, err := Listen(in.cfg.InternalAddr)
	if err != nil {
		return nil, err
	}
	secret, err := in.key.Derive("peers")
	if err != nil {
		return nil, err
	}
	opts := peer.Options{
		Self:   peer.Replica{ID: uuid.NewString(), URL: in.advertised(listener.Addr())},
		Secret: hex.EncodeToString(secret), Log: in.log,
	}
	if in.has(API) {
		opts.Interest = in.hub
	}
	bus, err := peer.New(livestore.NewReplicas(in.pool), opts)
	if err != nil {
		return nil, err
	}
	group.Go(func() error { return ignoreStop(bus.Run(ctx)) })
	group.Go(func() error { return serveHTTP(ctx, listener, in.internalHandler(bus), in.cfg.StopAfter) })
	return bus, nil
}

// advertised returns the URL at which other processes reach the internal address. For a wildcard address it uses the
// name of this host.
func (in *Instance) advertised(addr net.Addr) string {
	if in.cfg.AdvertiseURL != "" {
		return in.cfg.AdvertiseURL
	}
	host, port, err := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	return "http://" + net.JoinHostPort(host, port)
}

// internalHandler serves other processes, not clients. The only credential is the secret that all processes share.
func (in *Instance) internalHandler(bus *peer.Bus) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(peer.Path, bus.Handler())
	profiles(mux)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"status":"ok"}`) //nolint:errcheck // the client may have disconnected
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		status, parts := http.StatusOK, readiness{in}.Check(r.Context())
		for _, p := range parts {
			if !p.OK && (p.Required || p.Name == "temporal" && in.has(Worker)) {
				status = http.StatusServiceUnavailable
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(parts) //nolint:errcheck // the client may have disconnected
	})
	return mux
}

// profiles serves the profiles of the Go runtime, which reveal memory and code. They are served to operators, never
// to clients.
func profiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}
