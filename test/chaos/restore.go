//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/test/load"
)

// temporalDatabases are the names of the databases of Temporal.
var temporalDatabases = []string{"temporal", "temporal_visibility"}

// reconciledWithin bounds the time until the doctor has started again what Temporal has lost.
const reconciledWithin = time.Minute

// addRestore adds the trouble that Temporal loses everything since the beginning: its databases are restored from a dump, and an operator
// has the doctor start again what the log has accepted.
func (d *deployment) addRestore(ctx context.Context, dir string) error {
	dump := func(name string) string { return filepath.Join(dir, name+".dump") }
	for _, name := range temporalDatabases {
		if err := postgresTool(ctx, "pg_dump", "--format=custom", "--file="+dump(name), "--dbname="+d.databaseOf(name)); err != nil {
			return err
		}
	}
	d.troubles = append(d.troubles, trouble{name: "Temporal restored", begin: func(ctx context.Context) (func() error, error) {
		for _, p := range d.roles {
			p.kill()
		}
		err := d.replaceTemporal(ctx, dump)
		if err == nil {
			err = d.reconcile(ctx)
		}
		for _, p := range d.roles {
			err = errors.Join(err, p.start())
		}
		return func() error { return nil }, err
	}})
	return nil
}

// replaceTemporal replaces the databases of Temporal. Temporal is restarted with the new ones.
func (d *deployment) replaceTemporal(ctx context.Context, dump func(name string) string) error {
	pool, err := postgres.Open(ctx, d.databaseOf("postgres"), postgres.PoolOptions{})
	if err != nil {
		return err
	}
	defer pool.Close()
	for _, name := range temporalDatabases {
		fresh := name + "_restored"
		if _, err := pool.Exec(ctx, "create database "+fresh); err != nil {
			return err
		}
		if err := postgresTool(ctx, "pg_restore", "--exit-on-error", "--dbname="+d.databaseOf(fresh), dump(name)); err != nil {
			return err
		}
	}
	temporal := func() []int { return childrenOf(os.Getpid(), filepath.Base(temporalBinary)) }
	signalAll(temporal(), syscall.SIGKILL)
	for _, name := range temporalDatabases {
		for _, sql := range []string{"drop database " + name + " with (force)", "alter database " + name + "_restored rename to " + name} {
			if _, err := pool.Exec(ctx, sql); err != nil {
				return err
			}
		}
	}
	signalAll(temporal(), syscall.SIGKILL) // it may have read the old ones
	return nil
}

// reconcile runs the doctor until Temporal answers it.
func (d *deployment) reconcile(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reconciledWithin)
	defer cancel()
	for {
		out, err := d.command(ctx, "doctor", "--reconcile", "--yes")
		if err == nil {
			return nil
		}
		if !load.Pause(ctx, time.Second) {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
}

// databaseOf returns the address of another database of the same PostgreSQL.
func (d *deployment) databaseOf(name string) string {
	u, err := url.Parse(d.database())
	if err != nil {
		panic(err) // it is the address of a database that was opened
	}
	u.Path = "/" + name
	return u.String()
}

// postgresTool runs a program that comes with PostgreSQL.
func postgresTool(ctx context.Context, name string, args ...string) error {
	path, err := load.PostgresTool(name)
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, path, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
