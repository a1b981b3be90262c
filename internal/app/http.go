package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/api/about"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

// handler builds the API and starts the readers of the log that it needs.
func (in *Instance) handler(ctx context.Context, group *errgroup.Group) (http.Handler, error) {
	s, err := in.newSurfaces(ctx)
	if err != nil {
		return nil, err
	}
	group.Go(func() error { return s.live.Run(ctx, in.tail, in.bus) })
	group.Go(func() error {
		defer s.ends.Stop()
		return in.follow(ctx, s.ends.Observe)
	})
	group.Go(func() error { return s.offered.Run(ctx) })
	all, err := s.all()
	if err != nil {
		return nil, err
	}
	return api.New(s.edge, all...)
}

// operates returns the console's check of the operators' credential; nil if the admin API has an address of its own.
func (in *Instance) operates() func(secret string) bool {
	if in.cfg.AdminToken == "" || in.cfg.AdminAddr != "" {
		return nil
	}
	want := sha256.Sum256([]byte(in.cfg.AdminToken))
	return func(secret string) bool {
		sum := sha256.Sum256([]byte(secret))
		return subtle.ConstantTimeCompare(sum[:], want[:]) == 1
	}
}

// price returns the price of runs of metered accounts.
func (in *Instance) price() job.Price {
	p := in.cfg.Prices
	p.Reserve = cmp.Or(p.Reserve, 60*p.NodeSecond)
	return job.Price{Run: p.Run, NodeSecond: p.NodeSecond, Reserve: p.Reserve}
}

// allowedHosts returns the names, besides loopback ones, to which mode none answers. If the operator has allowed
// other addresses, it answers to any name.
func (in *Instance) allowedHosts() []string {
	if in.cfg.AllowWide {
		return []string{"*"}
	}
	return nil
}

func (in *Instance) authenticator() (edge.Authenticator, error) {
	switch in.settings.mode {
	case account.ModeToken:
		return account.NewStatic(in.cfg.Token)
	case account.ModeKeys:
		return in.keysOrTokens()
	case account.ModeNone:
	}
	return account.Anyone{}, nil
}

// signer makes links to content. Its key is derived from the secret key, so that all replicas accept each other's links.
func (in *Instance) signer() (*signedurl.Signer, error) {
	keys, err := in.linkKeys()
	if err != nil {
		return nil, err
	}
	return signedurl.New(keys, signedurl.Options{})
}

// readiness reports whether a submission would now be accepted and stored.
type readiness struct{ in *Instance }

const (
	checkTimeout = 2 * time.Second
	// spaceRetry is the Retry-After when disk space is missing: an operator, or the sweep, must free space first.
	spaceRetry = time.Minute
)

// Check implements about.Readiness.
func (r readiness) Check(ctx context.Context) []about.Part {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return []about.Part{
		part("postgresql", true, r.writable(ctx)),
		part("log", true, r.following()),
		part("disk", true, r.CheckSpace()),
		part("temporal", false, r.temporal(ctx)),
		r.workers(ctx),
	}
}

func part(name string, required bool, err error) about.Part {
	p := about.Part{Name: name, OK: err == nil, Required: required, Detail: "ok"}
	if err != nil {
		p.Detail = "not available"
	}
	return p
}

// writable fails if the database does not answer or refuses writes, because it is a standby or was made read-only.
func (r readiness) writable(ctx context.Context) error {
	readOnly, err := operatestore.New(r.in.pool).ReadOnly(ctx)
	if err == nil && readOnly {
		err = errors.New("the database is read-only")
	}
	return err
}

// following fails until this process has read the log to its end: until then, nobody who waits in it learns of an end.
func (r readiness) following() error {
	if _, ok := r.in.tail.End(); !ok {
		return errors.New("the end of the event log is not known yet")
	}
	return nil
}

// CheckSpace implements edge.Space. Accepted work needs space for its outputs and, if the database is on the same
// disk, for its events, so new work is refused when the disk is nearly full.
func (r readiness) CheckSpace() error {
	err := freeSpace(r.in.cfg.DataDir, r.in.cfg.DiskReserve)
	if err == nil {
		return nil
	}
	return fault.Wrap(err, fault.Unavailable, "", "there is no space left to store this").WithRetryAfter(spaceRetry)
}

func (r readiness) temporal(ctx context.Context) error {
	_, err := r.in.client.CheckHealth(ctx, nil)
	return err
}

// workers checks that a worker process runs.
func (r readiness) workers(ctx context.Context) about.Part {
	force, err := livestore.NewWorkers(r.in.pool).Workforce(ctx)
	p := part("workers", false, err)
	if err == nil && force.Workers == 0 {
		p.OK, p.Detail = false, force.String()
	}
	return p
}

// freeSpace fails if fewer than reserve bytes are free on the disk of dir.
func freeSpace(dir string, reserve int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Clean(dir), &st); err != nil {
		return err
	}
	if free := int64(st.Bavail) * int64(st.Bsize); free < reserve { //nolint:unconvert // far from the bounds; other platforms have other types
		return fmt.Errorf("%d bytes are free in %s, less than the reserve of %d bytes", free, dir, reserve)
	}
	return nil
}

// JobService accepts commands on jobs.
func (in *Instance) JobService() (*job.Service, error) {
	sealer, err := in.key.Sealer()
	if err != nil {
		return nil, err
	}
	credentials, err := in.credentials()
	if err != nil {
		return nil, err
	}
	return job.NewService(job.Deps{
		Store: in.jobs, Validator: &graph.Validator{Classes: in.classes}, Limits: in.limits(), Files: in.files, Assets: in.files,
		Segments: in.servers, Labels: in.tiers, Blobs: in.blobs, Tiers: in.tiers, Sealer: sealer, Credentials: credentials,
		ForServers: len(in.settings.comfyOrg) > 0, Notify: in.starts.Notify, Graphs: in.graphs, Price: in.price(), Log: in.log,
	}), nil
}
