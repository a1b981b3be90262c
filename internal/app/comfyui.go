package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/catalogue"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/comfyui/packroutes"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/comfyui/processes"
	"github.com/millrace-dev/millrace/internal/comfyui/weights"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
)

// openServers makes the pool of ComfyUI servers. If the database has no tables for them, because it is not migrated
// yet, the pool is empty.
func (in *Instance) openServers(ctx context.Context) error {
	store := serverstore.New(in.pool, in.events)
	in.servers = placement.New(store, in.dialServer, in.classes, in.name, placement.Options{
		Silence: in.cfg.Servers.Silence, Lacks: packroutes.Lacking(in.settings.packRoutes), Pools: in.OperatedPools().Store.Pools,
		Home: in.cfg.HomeOf, Log: in.log,
	})
	for _, fixed := range in.fixedServers() {
		if len(in.roles) == 0 {
			break // commands register no servers
		}
		if _, err := store.Register(ctx, fixed, nil); err != nil {
			return fmt.Errorf("register the server %s: %w", fixed.URL, err)
		}
	}
	if _, err := in.servers.Refresh(ctx); err != nil && len(in.roles) > 0 {
		return err
	}
	return nil
}

// fixedServers returns the servers of the configuration. A server that cannot be used is registered all the same, so
// that it is listed with the reason.
func (in *Instance) fixedServers() []server.Registration {
	var all []server.Registration
	for _, text := range in.cfg.Servers.Fixed {
		r, err := server.ParseFixed(text)
		if err != nil {
			in.log.Error("configured ComfyUI server is not valid", "server", server.Unnamed(text), "error", err)
			r = server.UnusableFixed(text)
		}
		all = append(all, r)
	}
	return all
}

// dialServer makes the client of a server. It does not connect.
func (in *Instance) dialServer(s *server.Server) (comfyui.Server, error) {
	header := http.Header{}
	if len(s.Sealed) > 0 {
		raw, err := in.sealer.Open(s.URL, s.Sealed)
		if err != nil {
			return nil, fmt.Errorf("headers of server %s: %w", s.URL, err)
		}
		var headers map[string]string
		if err := json.Unmarshal([]byte(raw), &headers); err != nil {
			return nil, fmt.Errorf("headers of server %s: %w", s.URL, err)
		}
		for name, value := range headers {
			header.Set(name, value)
		}
	}
	return comfyui.New(s.URL, comfyui.Options{Header: header, Silence: in.cfg.Servers.Silence})
}

// startServers keeps the view of the servers current, and probes them in processes that run jobs.
func (in *Instance) startServers(ctx context.Context, group *errgroup.Group) {
	group.Go(func() error { return in.servers.Run(ctx) })
	group.Go(func() error {
		return in.follow(ctx, func(events []eventlog.Recorded) {
			for _, e := range events {
				switch e.Type {
				case pool.TypeApplied, server.TypeRegistered, server.TypeDrained, server.TypeResumed, server.TypeRemoved, server.TypeExpired:
					in.servers.Notify()
					in.servers.Freed()
				case job.TypeSegmentEnded: // in another process, which has freed its slot on the server
					in.servers.Freed()
					in.own.SegmentEnded(in.types, e)
				}
			}
		})
	})
	if in.has(Worker) {
		records := in.OperatedServers().Store
		group.Go(func() error { return in.own.Run(ctx, processDir(in.cfg), records, in.servers.Servers, in.log) })
		group.Go(func() error { return in.servers.Watch(ctx) })
		group.Go(func() error { return in.servers.Serve(ctx) })
		options := weights.Options{Reserve: in.cfg.DiskReserve, Links: in.signer, Log: in.log}
		group.Go(func() error { return weights.Run(ctx, in.servers, records, in.assets, in.blobs, options) })
		group.Go(func() error {
			serverstore.Listen(ctx, in.cfg.SessionURL(), in.name, in.servers.Granted, in.log)
			return nil
		})
	}
}

// OperatedServers returns the operators' service for servers.
func (in *Instance) OperatedServers() *servers.Service {
	return &servers.Service{Pool: in.pool, Store: serverstore.New(in.pool, in.events), Seal: in.sealer}
}

// segments returns the parts with which segments of graphs run on servers.
func (in *Instance) segments() *activities.Segments {
	s := activities.NewSegments(in.servers, driving.New(driving.Options{
		MaxOutput: in.cfg.Servers.MaxOutput, MaxPixels: in.cfg.MaxPixels, Sounds: in.ffmpeg, NodeTimeout: in.cfg.NodeTimeout,
	}))
	s.Slots, s.Sources = in.jobs, in.OperatedWeights()
	if len(in.settings.comfyOrg) > 0 {
		s.Credentials = in.jobCredentials()
	}
	return s
}

// segmentStop bounds the time for detaching from segments when a worker stops. The servers continue to run them.
const segmentStop = 5 * time.Second

// catalogue keeps, for editors, the lists that ComfyUI servers offer besides their classes.
func (in *Instance) catalogue() *catalogue.Catalogue {
	return catalogue.New(in.Members, catalogue.Options{Web: in.settings.web, Log: in.log})
}

// Members returns the supported servers.
func (in *Instance) Members() []catalogue.Member {
	var members []catalogue.Member
	for _, s := range in.servers.Servers() {
		if s.Health == server.Unusable {
			continue
		}
		client, _, err := in.servers.Server(s.ID)
		if err != nil { // the server was removed, or its headers cannot be decrypted, which the probe of the server reports
			continue
		}
		members = append(members, catalogue.Member{Address: s.URL, Server: client})
	}
	return members
}

// openProcesses checks whether the ComfyUI processes of the configuration can be started.
func (in *Instance) openProcesses(ctx context.Context) (err error) {
	if own := in.cfg.Servers.Own; in.has(Worker) {
		in.own, err = processes.Open(ctx, processes.Options{
			Dir: own.Dir, Python: own.Python, Args: own.Args, GPUs: own.GPUs, Count: own.Count, RecycleMemory: own.RecycleMemory,
			RecyclePrompts: own.RecyclePrompts, Data: processDir(in.cfg), Silence: 2 * in.cfg.Servers.Silence, Log: in.log,
			ForPools: own.Pool, Pools: in.OperatedPools().Store.Pools,
		})
	}
	return err
}
