//go:build unix

package pgtest

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
)

// migrateWait bounds a whole migration of an empty database.
const migrateWait = 5 * time.Minute

// startPrivate starts this process's server, which stops with the process. A later process deletes its directory when
// it finds the directory without an owner.
func startPrivate(ctx context.Context) (server, error) {
	dir, err := scratch.New("millrace-pgtest")
	if err != nil {
		return server{}, err
	}
	cluster, err := localcluster.Start(ctx, filepath.Join(dir.Path, "c"), localcluster.Options{
		Disposable: true, BinDir: os.Getenv("MILLRACE_POSTGRES_BIN"),
	})
	if err != nil {
		return server{}, err
	}
	return server{dsn: cluster.URL("postgres"), private: cluster, dir: dir}, nil
}
