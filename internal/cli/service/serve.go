// Package service holds the commands that run the service: dev, serve, migrate and the provider simulator.
package service

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/config"
)

// Serve returns the command that runs roles against existing servers.
func Serve(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run one or more roles against an existing PostgreSQL and Temporal",
		Long: `Run one or more roles of the service against DATABASE_URL and TEMPORAL_ADDRESS.

  api        HTTP and WebSocket; any number, behind a load balancer
  worker     runs graphs; any number
  projector  maintains the views; one is active, the others stand by

All processes of a deployment share the database, the Temporal namespace, the blob
store (--data) and the secret key (MILLRACE_SECRET_KEY, or secret.key in --data).`,
		Example: `  millrace serve --roles api --addr 0.0.0.0:8188 --auth keys
  millrace serve --roles worker
  millrace serve --roles projector`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			roles, err := app.ParseRoles(s.Config.Roles)
			if err != nil {
				return err
			}
			if s.Config.DatabaseURL == "" || s.Config.TemporalAddress == "" {
				return errors.New("serve needs DATABASE_URL and TEMPORAL_ADDRESS; `millrace dev` starts both by itself")
			}
			log, err := s.Logger()
			if err != nil {
				return err
			}
			tuneMemory()
			go releaseAtRest(cmd.Context())
			return app.Serve(cmd.Context(), s.Config, roles, log, nil)
		},
	}
	cmd.Flags().StringVar(&s.Config.InternalAddr, "internal-addr", s.Config.InternalAddr,
		"address for health checks and for live frames between processes; not for clients (MILLRACE_INTERNAL_ADDR)")
	cmd.Flags().StringVar(&s.Config.AdvertiseURL, "advertise-url", s.Config.AdvertiseURL,
		"URL at which other processes reach that address; default: this host's name (MILLRACE_ADVERTISE_URL)")
	cmd.Flags().StringVar(&s.Config.Roles, "roles", s.Config.Roles, "roles of this process: api, worker, projector (MILLRACE_ROLES)")
	serverFlags(s, cmd)
	return cmd
}

// serverFlags are the flags that dev and serve share.
func serverFlags(s *shell.Shell, cmd *cobra.Command) {
	c, f := &s.Config, cmd.Flags()
	f.StringVar(&c.Addr, "addr", c.Addr, "listen address (MILLRACE_ADDR)")
	f.StringVar(&c.Auth, "auth", c.Auth, "authentication: none (loopback only), token, keys (MILLRACE_AUTH)")
	f.StringVar(&c.Token, "token", c.Token, "static bearer token of --auth token; better in MILLRACE_TOKEN, where ps does not show it")
	f.StringVar(&c.PublicURL, "public-url", c.PublicURL, "base of the URLs in responses (MILLRACE_PUBLIC_URL); default: the request's own")
	f.StringVar(&c.Editor, "editor", c.Editor, "directory of an unpacked comfyui-frontend-package to serve at /, or auto to fetch it "+
		"(MILLRACE_EDITOR); browsers then sign in with a key, see docs/editor.md")
	f.BoolVar(&c.AllowWide, "allow-unauthenticated", c.AllowWide,
		"allow --auth none on an address that is not loopback (MILLRACE_ALLOW_UNAUTHENTICATED)")
	f.StringVar(&c.AdminToken, "admin-token", c.AdminToken,
		"bearer token of the admin API, which is off without a token; better in MILLRACE_ADMIN_TOKEN, where ps does not show it")
	f.StringVar(&c.AdminAddr, "admin-addr", c.AdminAddr,
		"address of the admin API; default: below /admin on the listen address (MILLRACE_ADMIN_ADDR)")
	f.StringVar(&c.MetricsAddr, "metrics-addr", c.MetricsAddr,
		"address of /metrics, which needs no credential; default: not served (MILLRACE_METRICS_ADDR)")
	f.StringVar(&c.DataDir, "data", c.DataDir, "data directory (MILLRACE_DATA)")
	f.StringVar(&c.DatabaseURL, "database-url", c.DatabaseURL, "PostgreSQL to use (DATABASE_URL)")
	f.StringVar(&c.DirectURL, "database-direct-url", c.DirectURL,
		"URL of PostgreSQL itself, if --database-url is that of a pooler (DATABASE_DIRECT_URL)")
	s.TemporalFlags(cmd)
	f.StringVar(&c.TaskQueue, "task-queue", c.TaskQueue, "Temporal task queue (MILLRACE_TASK_QUEUE)")
	f.StringSliceVar(&c.Router.Catalog, "catalog", c.Router.Catalog,
		"directories with catalog files of models, in addition to the built-in ones (MILLRACE_CATALOG)")
	f.StringToStringVar(&c.Router.Bases, "provider-url", c.Router.Bases,
		"address of a provider in place of the catalog's, PROVIDER=URL; may be a private address (MILLRACE_PROVIDER_URLS)")
	f.StringArrayVar(&c.Servers.Fixed, "comfyui", c.Servers.Fixed,
		"ComfyUI server for classes that are not native, URL[,label=NAME]…[,models=FOLDER]; may be repeated (MILLRACE_COMFYUI, separated by "+
			"spaces)")
	ownServerFlags(&c.Servers.Own, f)
	f.Int64Var(&c.Servers.MaxOutput, "max-output", c.Servers.MaxOutput,
		"maximum bytes of one output file of a ComfyUI server (MILLRACE_MAX_OUTPUT)")
	f.IntVar(&c.Slots, "slots", c.Slots, "jobs of the local account that run at the same time (MILLRACE_SLOTS)")
	f.IntVar(&c.QueueDepth, "queue-depth", c.QueueDepth, "jobs of one account that may wait (MILLRACE_QUEUE_DEPTH)")
	f.IntVar(&c.MaxNodes, "max-nodes", c.MaxNodes, "nodes of one graph (MILLRACE_MAX_NODES)")
	f.Int64Var(&c.MaxPixels, "max-pixels", c.MaxPixels, "pixels of one value, width × height × batch (MILLRACE_MAX_PIXELS)")
	f.DurationVar(&c.NodeTimeout, "node-timeout", c.NodeTimeout, "time of one node, 0 for no bound (MILLRACE_NODE_TIMEOUT)")
	f.Int64Var(&c.MaxUpload, "max-upload", c.MaxUpload, "bytes of one upload (MILLRACE_MAX_UPLOAD)")
}

// ownServerFlags are the flags of the ComfyUI processes that Millrace starts.
func ownServerFlags(o *config.OwnServers, f *pflag.FlagSet) {
	f.StringVar(&o.Dir, "comfyui-dir", o.Dir,
		"directory of ComfyUI: start one process for each GPU, register it, restart it when it fails, and end it with this one")
	f.StringVar(&o.Python, "comfyui-python", o.Python, "interpreter of these processes; default: that of the directory's venv, or python3")
	f.StringVar(&o.Args, "comfyui-args", o.Args, "further arguments of these processes, separated by spaces")
	f.StringVar(&o.GPUs, "comfyui-gpus", o.GPUs, "GPUs of these processes: all, none, or numbers such as 0,1")
	f.IntVar(&o.Count, "comfyui-count", o.Count, "processes on each GPU, or on the CPU if there is no GPU")
	f.BoolVar(&o.Pool, "comfyui-pool", o.Pool,
		"start one of these processes when a pool of the kind process needs a machine, and none before (docs/machines.md)")
	f.StringVar(&o.RecycleMemory, "comfyui-recycle-memory", o.RecycleMemory,
		"restart a process that has more memory, such as 80% or 24GiB, after its segment; default: never")
	f.IntVar(&o.RecyclePrompts, "comfyui-recycle-prompts", o.RecyclePrompts,
		"restart a process after this many prompts, after its segment; 0 = never")
}
