// Package weights brings weights to the ComfyUI servers that need them: the model files of waiting segments are put into the folders of
// models that this process reaches, or the node packs of the servers fetch them. It promises that a file is sent to a folder once,
// whichever process sends it, that it has its hash before it has its name, and that no file of others is overwritten or removed. Package
// placement decides which server needs a weight.
package weights

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Store stores waits and copies; serverstore.Store implements it.
type Store interface {
	Waits(ctx context.Context) ([]server.Waiting, error)
	Copies(ctx context.Context, target string) ([]server.Copy, error)
	ClaimCopy(ctx context.Context, c server.Copy, holder string) (bool, error)
	KeepCopy(ctx context.Context, c server.Copy, holder string) (bool, error)
	EndCopy(ctx context.Context, c server.Copy, holder string, by server.By, id server.ID, eventType string, data any) error
	UseCopies(ctx context.Context, target string, names []string) error
	DropCopy(ctx context.Context, c server.Copy) error
}

// Weights lists the weights of accounts; assetstore.Store implements it.
type Weights interface {
	Weights(ctx context.Context, accounts []string) ([]asset.Weight, error)
}

// Options configure Run.
type Options struct {
	Reserve int64 // free bytes that a disk keeps
	Links   Links // by which node packs fetch weights
	Log     *slog.Logger
}

// bringer brings weights.
type bringer struct {
	Options
	Pool    *placement.Pool
	Store   Store
	Weights Weights
	Blobs   blob.Store
	host    string
	used    time.Time // when the use of copies was last recorded

	mu   sync.Mutex // guards busy
	busy map[string]bool
}

const (
	lookEvery = time.Second      // between two looks at the waiting segments
	useEvery  = 10 * time.Second // between two records of the use of copies
)

// Run brings weights of a blob store to servers of a pool until ctx ends.
func Run(ctx context.Context, pool *placement.Pool, store Store, weights Weights, blobs blob.Store, o Options) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this machine: %w", err)
	}
	b := &bringer{Options: o, Pool: pool, Store: store, Weights: weights, Blobs: blobs, host: host, busy: map[string]bool{}}
	var copies sync.WaitGroup
	defer copies.Wait()
	for range pause.Every(ctx, lookEvery) {
		if err := b.look(ctx, &copies); err != nil && ctx.Err() == nil {
			b.Log.Warn("weights for waiting segments not brought; it will be retried", "error", err)
		}
	}
	return nil
}

// look begins to bring what waiting segments need.
func (b *bringer) look(ctx context.Context, copies *sync.WaitGroup) error {
	reached := slices.DeleteFunc(b.Pool.Servers(), func(s *server.Server) bool { return !b.reaches(s) })
	if len(reached) == 0 {
		return nil
	}
	if err := b.noteUse(ctx, reached); err != nil {
		return err
	}
	waits, err := b.Store.Waits(ctx)
	if err != nil || len(waits) == 0 {
		return err
	}
	for _, want := range b.Pool.Wanted(waits, func(s *server.Server) bool { return slices.Contains(reached, s) || b.reaches(s) }) {
		target := want.Server.Target()
		if !b.begin(target) { // a disk is written by one copy at a time
			continue
		}
		copies.Go(func() {
			defer b.end(target)
			if err := b.bring(ctx, want); err != nil && ctx.Err() == nil {
				b.Log.Warn("a weight was not brought to a server", "server", want.Server.URL, "error", err)
			}
		})
	}
	return nil
}

// reaches reports whether this process can bring weights to a server: through its folder of models, or through its node pack.
func (b *bringer) reaches(s *server.Server) bool { return s.Reachable(b.host) || b.Pool.Home(s) != "" }

// noteUse records which copies running segments use.
func (b *bringer) noteUse(ctx context.Context, reached []*server.Server) error {
	if time.Since(b.used) < useEvery {
		return nil
	}
	b.used = time.Now()
	for _, s := range reached {
		var names []string
		for _, l := range s.Leases {
			names = append(names, l.Models...)
		}
		if len(names) == 0 {
			continue
		}
		if err := b.Store.UseCopies(ctx, s.Target(), names); err != nil {
			return err
		}
	}
	return nil
}

func (b *bringer) begin(target string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy[target] {
		return false
	}
	b.busy[target] = true
	return true
}

func (b *bringer) end(target string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.busy, target)
}

// bring brings the weights that a segment needs on a server.
func (b *bringer) bring(ctx context.Context, want placement.Want) error {
	all, err := b.Weights.Weights(ctx, []string{want.Wait.Account, account.Everyone})
	if err != nil {
		return err
	}
	var made []server.Copy
	for _, missing := range want.Missing {
		w, ok := choose(all, want.Wait.Account, missing.Folder, missing.Name)
		if !ok { // it was removed, or the segment needs a file that is no weight
			return nil
		}
		c := server.Copy{Target: want.Server.Target(), Folder: w.Folder, Name: w.Name, Hash: w.Hash, Size: w.Size}
		mine, err := b.Store.ClaimCopy(ctx, c, b.Pool.Holder())
		if err != nil || !mine {
			return err
		}
		if err := b.copy(ctx, want, w, &c); err != nil {
			return err
		}
		made = append(made, c)
	}
	return b.awaitListed(ctx, want, made)
}

// choose returns the weight of an account with a name, or the one of all accounts.
func choose(all []asset.Weight, owner, folder, name string) (found asset.Weight, ok bool) {
	for _, w := range all {
		if w.Name != name || w.Rejected || folder != node.AnyFolder && w.Folder != folder {
			continue
		}
		if !ok || w.Account == owner {
			found, ok = w, true
		}
	}
	return found, ok
}

// by attributes events of copies.
func by() server.By { return server.By{Actor: "worker", Reason: "a waiting segment needs the weight"} }

// copy makes a copy and records its end.
func (b *bringer) copy(ctx context.Context, want placement.Want, w asset.Weight, c *server.Copy) error {
	began := time.Now()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	placing := &placing{bringer: b, want: want, weight: w, copy: c, root: want.Server.ModelsFolder, stop: stop}
	err := placing.place(ctx)
	end := context.WithoutCancel(ctx)
	if err != nil {
		c.State, c.Problem = server.Failed, problem(err)
		failed := server.WeightFailedV1{Server: want.Server.ID, Folder: c.Folder, Name: c.Name, Hash: c.Hash, Problem: c.Problem}
		return errors.Join(err, b.Store.EndCopy(end, *c, b.Pool.Holder(), by(), want.Server.ID, server.TypeWeightFailed, failed))
	}
	c.State, c.Done, c.Brought = server.Ready, c.Size, placing.way != present
	took := time.Since(began)
	b.Log.Info("weight brought to a server", "server", want.Server.URL, "name", c.Name, "size", c.Size, "way", placing.way, "duration", took)
	return b.Store.EndCopy(end, *c, b.Pool.Holder(), by(), want.Server.ID, server.TypeWeightBrought, server.WeightBroughtV1{
		Server: want.Server.ID, Folder: c.Folder, Name: c.Name, Hash: c.Hash, Size: c.Size, Way: placing.way, Sent: placing.sent,
		Millis: took.Milliseconds(), Removed: placing.removed,
	})
}

// problem describes an error without paths: accounts see it.
func problem(err error) string {
	var public *fault.Error
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk of the server is full"
	case errors.As(err, &public):
		return fault.Shorten(public.Message, maxProblem)
	case errors.As(err, &path):
		return path.Op + ": " + path.Err.Error()
	case errors.As(err, &link):
		return link.Op + ": " + link.Err.Error()
	case errors.Is(err, context.Canceled):
		return "the worker that brought it has stopped"
	}
	return "it could not be written"
}

const maxProblem = 300 // bytes

const (
	listWithin = 30 * time.Second // for a server to list a new file
	listEvery  = time.Second
)

// awaitListed has the classes of all servers of the folder read again, until the server lists the new files.
func (b *bringer) awaitListed(ctx context.Context, want placement.Want, made []server.Copy) error {
	late := time.After(listWithin)
	for {
		b.reread(want.Server.Target())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(listEvery):
		case <-late:
			return b.unlisted(ctx, want, made)
		}
		if b.Pool.Lists(want.Server.ID, &want.Wait) {
			return nil
		}
	}
}

// reread has the classes of all servers of a folder read again.
func (b *bringer) reread(target string) {
	for _, s := range b.Pool.Servers() {
		if s.Target() == target {
			b.Pool.Reread(s.ID)
		}
	}
}

// unlisted records that a server does not list files that it was brought.
func (b *bringer) unlisted(ctx context.Context, want placement.Want, made []server.Copy) error {
	var errs []error
	for _, c := range made {
		c.State = server.Failed
		c.Problem = "it is in the folder " + cmp.Or(c.Folder, "of models") + ", but the server does not offer it to the node"
		errs = append(errs, b.Store.EndCopy(ctx, c, b.Pool.Holder(), by(), want.Server.ID, server.TypeWeightFailed, server.WeightFailedV1{
			Server: want.Server.ID, Folder: c.Folder, Name: c.Name, Hash: c.Hash, Problem: c.Problem,
		}))
	}
	return errors.Join(errs...)
}
