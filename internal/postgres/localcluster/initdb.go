//go:build unix

package localcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// initialize creates the data directory unless it exists. It creates the directory under another name and renames it
// when it is complete, so that an interrupted first start leaves no partial directory.
func (c *Cluster) initialize(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(c.data(), "PG_VERSION")); err == nil {
		return nil
	}
	if _, err := os.Stat(c.data()); err == nil {
		return fmt.Errorf("%s is not a PostgreSQL data directory (it has no PG_VERSION): restore it, or remove it to start over", c.data())
	}
	unfinished := c.data() + ".init"
	if err := removeLeftover(ctx, unfinished); err != nil {
		return fmt.Errorf("clean up an interrupted first start: %w", err)
	}
	if err := c.initdb(ctx, unfinished); err != nil {
		return err
	}
	if err := os.Rename(unfinished, c.data()); err != nil {
		return fmt.Errorf("create the PostgreSQL data: %w", err)
	}
	return syncDir(c.dir)
}

// removeLeftover removes the files of an interrupted initdb. An initdb that was just killed may have a server that
// still writes until it finds the end of its input.
func removeLeftover(ctx context.Context, dir string) error {
	for attempt := 1; ; attempt++ {
		err := os.RemoveAll(dir)
		if err == nil || attempt == 50 || pause.For(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}

func (c *Cluster) initdb(ctx context.Context, dir string) error {
	args := []string{
		"-D", dir, "-U", superuser, "--auth=trust", "--encoding=UTF8", "--locale=C", "--data-checksums", "--no-instructions",
		// Every commit waits while a file of the log is created: 20 to 100 ms for one of 16 MB, which is the default.
		"--wal-segsize=4",
	}
	if c.opts.Disposable {
		args = append(args, "--no-sync")
	}
	out, err := child.Output(ctx, child.Command{
		Path: c.bin.path("initdb"), Args: args, Env: serverEnvironment(), Dir: c.dir, User: c.user, Orphan: syscall.SIGKILL,
	})
	if err == nil {
		return nil
	}
	if bytes.Contains(out, []byte("could not look up effective user ID")) {
		return fmt.Errorf("PostgreSQL needs a user with a name: uid %d has no entry in /etc/passwd (give the container a real user, or set "+
			"DATABASE_URL)", os.Geteuid())
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if why := lastErrorLine(out); why != "" {
		return fmt.Errorf("create the PostgreSQL data: initdb: %w: %s", err, why)
	}
	return fmt.Errorf("create the PostgreSQL data: initdb: %w", err)
}

// makeDir creates dir, private to the server's user.
func (c *Cluster) makeDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("PostgreSQL data: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("PostgreSQL data: %w", err)
	}
	if c.user == nil {
		return nil
	}
	// Lchown does not follow a symbolic link, which another user may have created in a shared directory.
	if err := os.Lchown(dir, int(c.user.UID), int(c.user.GID)); err != nil {
		return fmt.Errorf("PostgreSQL data: %w", err)
	}
	return nil
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// userOf returns user, or the identity of this process if user is nil.
func userOf(user *child.User) child.User {
	if user != nil {
		return *user
	}
	return child.User{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
}
