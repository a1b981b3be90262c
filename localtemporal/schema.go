package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/tools/common/schema"
	"go.temporal.io/server/tools/sql"
)

// plugin is the server's PostgreSQL driver.
const plugin = "postgres12_pgx"

// store is one of the server's databases, with the schema it has there.
type store struct{ database, schema string }

func (o options) stores() []store {
	return []store{
		{o.database, "postgresql/v12/temporal"},
		{o.database + "_visibility", "postgresql/v12/visibility"},
	}
}

// prepare makes the databases ready for this server and reports whether an earlier one registered the namespace. It starts over while
// PostgreSQL recovers from a crash or does not listen yet. The directory of its socket must exist.
func prepare(ctx context.Context, o options, logger log.Logger) (settled bool, err error) {
	if filepath.IsAbs(o.postgresHost) {
		if _, err := os.Stat(o.postgresHost); err != nil {
			return false, fmt.Errorf("directory of PostgreSQL's socket: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		if err = prepareSchema(ctx, o, logger); err == nil {
			settled, err = o.hasNamespace(ctx)
		}
		if err == nil || !away(err) || !pause(ctx, 100*time.Millisecond) {
			return settled, err
		}
	}
}

// prepareSchema creates the databases when they are missing and brings their schema to the
// version of this server.
func prepareSchema(ctx context.Context, o options, logger log.Logger) error {
	admin, err := o.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	defer admin.Close(context.WithoutCancel(ctx))
	for _, s := range o.stores() {
		var exists bool
		err := admin.QueryRow(ctx, `select exists (select from pg_database where datname = $1)`, s.database).Scan(&exists)
		switch {
		case err != nil:
		case exists:
			if s.database != o.database {
				err = o.restoreIndexes(ctx)
			}
			if err == nil {
				err = o.updateSchema(s, logger)
			}
		default:
			err = o.createStore(ctx, admin, s, logger)
		}
		if err != nil {
			return fmt.Errorf("database %s: %w", s.database, err)
		}
	}
	if err := o.trimVisibility(ctx); err != nil {
		return fmt.Errorf("indexes of the list of workflows: %w", err)
	}
	return nil
}

// createStore creates a database with its schema under a temporary name, and then renames it. The statements are not a
// transaction, and a later start could not continue one that was killed between them.
func (o options) createStore(ctx context.Context, admin *pgx.Conn, s store, logger log.Logger) error {
	unfinished := store{s.database + "_unfinished", s.schema}
	name := pgx.Identifier{unfinished.database}.Sanitize()
	for _, statement := range []string{`drop database if exists ` + name + ` with (force)`, `create database ` + name} {
		if _, err := admin.Exec(ctx, statement); err != nil {
			return err
		}
	}
	if err := o.setUpSchema(unfinished, logger); err != nil {
		return err
	}
	if err := o.renameVersion(ctx, unfinished, s); err != nil {
		return err
	}
	_, err := admin.Exec(ctx, `alter database `+name+` rename to `+pgx.Identifier{s.database}.Sanitize())
	return err
}

// renameVersion prepares a database for its new name, under which the server looks its version up.
func (o options) renameVersion(ctx context.Context, from, to store) error {
	db, err := o.connect(ctx, from.database)
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(ctx))
	_, err = db.Exec(ctx, `update schema_version set db_name = $1 where db_name = $2`, to.database, from.database)
	return err
}

// setUpSchema makes the tables of an empty database.
func (o options) setUpSchema(s store, logger log.Logger) error {
	db, err := sql.NewConnection(o.sql(s.database), logger)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := schema.NewSetupSchemaTask(db, &schema.SetupConfig{InitialVersion: "0.0"}, logger).Run(); err != nil {
		return fmt.Errorf("set up the schema: %w", err)
	}
	return update(db, s, logger)
}

// updateSchema brings a database that an earlier server may have made to this one's schema.
func (o options) updateSchema(s store, logger log.Logger) error {
	db, err := sql.NewConnection(o.sql(s.database), logger)
	if err != nil {
		return err
	}
	defer db.Close()
	return update(db, s, logger)
}

func update(db *sql.Connection, s store, logger log.Logger) error {
	if err := schema.NewUpdateSchemaTask(db, &schema.UpdateConfig{SchemaName: s.schema}, logger).Run(); err != nil {
		return fmt.Errorf("update the schema: %w", err)
	}
	return nil
}

// connect opens a connection of our own. It sets the parts one by one, because a path may contain any characters.
func (o options) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig("sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL settings in the environment: %w", err)
	}
	c.Host, c.Port, c.User, c.Password, c.Database = o.postgresHost, uint16(o.postgresPort), o.postgresUser, os.Getenv("PGPASSWORD"), database
	noticeEnd(c)
	return pgx.ConnectConfig(ctx, c)
}

// attributes are the driver's connection parameters; a host among them wins over the address, which makes Unix sockets
// possible.
func (o options) attributes() map[string]string {
	return map[string]string{"host": o.postgresHost, "port": strconv.Itoa(o.postgresPort)}
}
