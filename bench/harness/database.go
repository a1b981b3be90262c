package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
)

// Database is a private PostgreSQL server alone, with fsync.
type Database struct {
	*localcluster.Cluster
	dir string
}

// StartDatabase starts one.
func StartDatabase(ctx context.Context) (*Database, error) {
	dir, err := privateDir()
	if err != nil {
		return nil, err
	}
	server, err := localcluster.Start(ctx, filepath.Join(dir, "c"), localcluster.Options{})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Database{Cluster: server, dir: dir}, nil
}

// Close stops the server and removes what it kept.
func (d *Database) Close(ctx context.Context) error {
	return errors.Join(d.Stop(context.WithoutCancel(ctx)), os.RemoveAll(d.dir))
}

// privateDir makes a directory that a database's own user can walk through.
func privateDir() (string, error) {
	dir, err := os.MkdirTemp("/var/tmp", "millrace-bench-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}
