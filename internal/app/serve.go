package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/postgres"
)

func (s *shell) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run one or more roles against a PostgreSQL and a Temporal that exist",
		Long: `Run one or more roles of the service against DATABASE_URL and TEMPORAL_ADDRESS.

  api        HTTP and WebSocket; any number, behind a load balancer
  worker     runs graphs; any number
  projector  keeps the views; one is active, the others stand by

All processes of a deployment share the database, the Temporal namespace, the blob
store (--data) and the secret key (MILLRACE_SECRET_KEY, or secret.key in --data).`,
		Example: `  millrace serve --roles api --addr 0.0.0.0:8188 --auth keys
  millrace serve --roles worker
  millrace serve --roles projector`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			roles, err := parseRoles(s.cfg.Roles)
			if err != nil {
				return err
			}
			if s.cfg.DatabaseURL == "" || s.cfg.TemporalAddress == "" {
				return errors.New("serve needs DATABASE_URL and TEMPORAL_ADDRESS; `millrace dev` starts both by itself")
			}
			log, err := s.logger()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), s.cfg, roles, log, nil)
		},
	}
	cmd.Flags().StringVar(&s.cfg.InternalAddr, "internal-addr", s.cfg.InternalAddr, "address for health checks and for live frames between processes; not for clients (MILLRACE_INTERNAL_ADDR)")
	cmd.Flags().StringVar(&s.cfg.AdvertiseURL, "advertise-url", s.cfg.AdvertiseURL, "where other processes reach that address; default: this host's name (MILLRACE_ADVERTISE_URL)")
	cmd.Flags().StringVar(&s.cfg.Roles, "roles", s.cfg.Roles, "roles of this process: api, worker, projector (MILLRACE_ROLES)")
	s.serverFlags(cmd)
	return cmd
}

// serverFlags are the flags that dev and serve share.
func (s *shell) serverFlags(cmd *cobra.Command) {
	c, f := &s.cfg, cmd.Flags()
	f.StringVar(&c.Addr, "addr", c.Addr, "listen address (MILLRACE_ADDR)")
	f.StringVar((*string)(&c.Auth), "auth", string(c.Auth), "who may call: none (loopback only), token, keys (MILLRACE_AUTH)")
	f.StringVar(&c.Token, "token", c.Token, "static bearer token of --auth token; better in MILLRACE_TOKEN, where ps does not show it")
	f.StringVar(&c.PublicURL, "public-url", c.PublicURL, "base of the URLs in responses (MILLRACE_PUBLIC_URL); default: the request's own")
	f.StringVar(&c.Editor, "editor", c.Editor, "directory of an unpacked comfyui-frontend-package to serve at / (MILLRACE_EDITOR); browsers then sign in with a key, see docs/editor.md")
	f.BoolVar(&c.AllowWide, "allow-unauthenticated", c.AllowWide, "serve --auth none on an address that is not loopback (MILLRACE_ALLOW_UNAUTHENTICATED)")
	f.StringVar(&c.AdminToken, "admin-token", c.AdminToken, "bearer token of the admin API, which is off without; better in MILLRACE_ADMIN_TOKEN, where ps does not show it")
	f.StringVar(&c.AdminAddr, "admin-addr", c.AdminAddr, "address of the admin API; default: below /admin on the listen address (MILLRACE_ADMIN_ADDR)")
	f.StringVar(&c.MetricsAddr, "metrics-addr", c.MetricsAddr, "address of /metrics, for scrapers and without a credential; default: none (MILLRACE_METRICS_ADDR)")
	f.StringVar(&c.DataDir, "data", c.DataDir, "data directory (MILLRACE_DATA)")
	f.StringVar(&c.DatabaseURL, "database-url", c.DatabaseURL, "PostgreSQL to use (DATABASE_URL)")
	f.StringVar(&c.TemporalAddress, "temporal-address", c.TemporalAddress, "Temporal frontend to use, HOST:PORT (TEMPORAL_ADDRESS)")
	f.StringVar(&c.TemporalNamespace, "temporal-namespace", c.TemporalNamespace, "Temporal namespace (TEMPORAL_NAMESPACE)")
	f.StringVar(&c.TaskQueue, "task-queue", c.TaskQueue, "Temporal task queue (MILLRACE_TASK_QUEUE)")
	f.StringSliceVar(&c.Router.Catalog, "catalog", c.Router.Catalog, "directories with catalog files of models, beside the built-in ones (MILLRACE_CATALOG)")
	f.StringToStringVar(&c.Router.Bases, "provider-url", c.Router.Bases, "address of a provider in place of the catalog's, PROVIDER=URL; may be other than public (MILLRACE_PROVIDER_URLS)")
	f.IntVar(&c.Slots, "slots", c.Slots, "jobs of the local account that run at once (MILLRACE_SLOTS)")
	f.IntVar(&c.QueueDepth, "queue-depth", c.QueueDepth, "jobs of one account that may wait (MILLRACE_QUEUE_DEPTH)")
	f.IntVar(&c.MaxNodes, "max-nodes", c.MaxNodes, "nodes of one graph (MILLRACE_MAX_NODES)")
	f.Int64Var(&c.MaxPixels, "max-pixels", c.MaxPixels, "pixels of one value, width × height × batch (MILLRACE_MAX_PIXELS)")
	f.DurationVar(&c.NodeTimeout, "node-timeout", c.NodeTimeout, "time of one node, 0 for no bound (MILLRACE_NODE_TIMEOUT)")
	f.Int64Var(&c.MaxUpload, "max-upload", c.MaxUpload, "bytes of one upload (MILLRACE_MAX_UPLOAD)")
}

// serve runs the roles until ctx ends or one of them fails. ready, if not nil, is called once the
// address is listening.
func serve(ctx context.Context, cfg config.Config, roles []role, log *slog.Logger, ready func(base string)) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	tuneMemory()
	if err := postgres.Migrate(ctx, cfg.DatabaseURL, func(format string, args ...any) {
		log.Info("schema", "change", fmt.Sprintf(format, args...))
	}); err != nil {
		return err
	}
	in, err := open(ctx, cfg, log, roles)
	if err != nil {
		return err
	}
	defer in.close()
	// The listener comes first, so that a taken port is found before anything runs.
	var listener net.Listener
	if slices.Contains(roles, roleAPI) {
		if listener, err = listen(cfg.Addr); err != nil {
			return err
		}
	}
	asked := ctx
	group, ctx := errgroup.WithContext(ctx)
	if err := in.openBus(ctx, group); err != nil {
		return err
	}
	in.start(ctx, group)
	var handler http.Handler
	if listener != nil {
		if handler, err = in.handler(ctx, group); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	if handler, err = in.serveOperators(ctx, group, in.tracedRequests(handler)); err != nil {
		return err
	}
	if listener != nil {
		group.Go(func() error { return serveHTTP(ctx, listener, handler, cfg.StopAfter) })
		if ready != nil {
			ready("http://" + listener.Addr().String())
		}
	}
	return stopped(asked, group.Wait(), log)
}

// stopped is how a process ends: cleanly when it was asked to, whatever its parts ran into while they
// were stopped, and with its first error otherwise.
func stopped(asked context.Context, err error, log *slog.Logger) error {
	if asked.Err() == nil {
		return err
	}
	if ignoreStop(err) != nil {
		log.Warn("while stopping", "error", err)
	}
	return nil
}

func ignoreStop(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; stop what uses it, or choose another with --addr", addr, errors.Unwrap(err))
	}
	return l, nil
}

// headerTimeout bounds how long a client may take to say what it wants; bodyTimeout, how long the body may take that
// a route does not read by bounds of its own. Streams have theirs.
const (
	headerTimeout = 15 * time.Second
	bodyTimeout   = time.Minute
)

func serveHTTP(ctx context.Context, l net.Listener, handler http.Handler, grace time.Duration) error {
	srv := &http.Server{
		Handler: request.BoundWaiting(handler, bodyTimeout), ReadHeaderTimeout: headerTimeout, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Serve(l) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		return srv.Close() // streams that outlast the grace are cut; their clients reconnect
	}
	return nil
}

// paths within the data directory.
func blobDir(cfg config.Config) string    { return filepath.Join(cfg.DataDir, "blobs") }
func valueDir(cfg config.Config) string   { return filepath.Join(cfg.DataDir, "values") }
func secretFile(cfg config.Config) string { return filepath.Join(cfg.DataDir, "secret.key") }
