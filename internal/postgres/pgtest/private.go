//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
)

// migrateWait bounds a whole migration of an empty database.
const migrateWait = 2 * time.Minute

// dirPattern names the directories of private servers, below the one for temporary files.
const dirPattern = "millrace-pgtest-"

// startPrivate starts this process's server. Nothing stops it but the end of the process, which
// takes it along; its directory goes when a later process finds it without an owner.
func startPrivate(ctx context.Context) (server, error) {
	if err := removeAbandoned(); err != nil {
		return server{}, err
	}
	parent, err := os.MkdirTemp("", dirPattern)
	if err != nil {
		return server{}, err
	}
	if err := os.Chmod(parent, 0o711); err != nil { // root's server runs as another user
		return server{}, err
	}
	cluster, err := localcluster.Start(ctx, filepath.Join(parent, "c"), localcluster.Options{
		Disposable: true, BinDir: os.Getenv("MILLRACE_POSTGRES_BIN"),
	})
	if err != nil {
		return server{}, err
	}
	return server{dsn: cluster.URL("postgres"), private: cluster}, nil
}

// young is the age below which a directory without a server may be about to get one.
const young = time.Minute

// removeAbandoned removes the directories of test processes that are gone.
func removeAbandoned() error {
	parents, err := filepath.Glob(filepath.Join(os.TempDir(), dirPattern+"*"))
	if err != nil {
		return err
	}
	for _, parent := range parents {
		if err := removeIfAbandoned(parent); err != nil {
			return fmt.Errorf("remove what an earlier test process left: %w", err)
		}
	}
	return nil
}

func removeIfAbandoned(parent string) error {
	info, err := os.Lstat(parent)
	if err != nil || time.Since(info.ModTime()) < young {
		return nil // not there any more counts as somebody else's
	}
	lock, err := child.Acquire(filepath.Join(parent, "c", "lock"))
	var held *child.HeldError
	switch {
	case errors.As(err, &held), errors.Is(err, os.ErrPermission):
		return nil // in use, or another user's
	case err == nil:
		defer lock.Release() //nolint:errcheck // the file is removed
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	return os.RemoveAll(parent)
}
