package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/server/tools/sql"
)

// plugin is the server's PostgreSQL driver.
const plugin = "postgres12_pgx"

// stores are the two databases with the schema that each has in the server.
func (o options) stores() map[string]string {
	return map[string]string{
		o.database:                 "postgresql/v12/temporal",
		o.database + "_visibility": "postgresql/v12/visibility",
	}
}

// prepareSchema creates the databases when they are missing and brings their schema to the
// version of this server.
func prepareSchema(ctx context.Context, o options) error {
	for db, schema := range o.stores() {
		created, err := createDatabase(ctx, o, db)
		if err != nil {
			return fmt.Errorf("database %s: %w", db, err)
		}
		if created {
			if err := o.sqlTool(db, "setup-schema", "-v", "0.0"); err != nil {
				return fmt.Errorf("set up the schema of %s: %w", db, err)
			}
		}
		if err := o.sqlTool(db, "update-schema", "--schema-name", schema); err != nil {
			return fmt.Errorf("update the schema of %s: %w", db, err)
		}
	}
	return nil
}

// createDatabase reports whether the database still needs its first schema: it is new, or an
// earlier start was interrupted between the two.
func createDatabase(ctx context.Context, o options, name string) (bool, error) {
	admin, err := pgx.Connect(ctx, o.dsn("postgres"))
	if err != nil {
		return false, err
	}
	defer admin.Close(context.WithoutCancel(ctx))
	var exists bool
	if err := admin.QueryRow(ctx, `select exists (select from pg_database where datname = $1)`, name).Scan(&exists); err != nil {
		return false, err
	}
	if !exists {
		if _, err := admin.Exec(ctx, `create database `+pgx.Identifier{name}.Sanitize()); err != nil {
			return false, err
		}
		return true, nil
	}
	db, err := pgx.Connect(ctx, o.dsn(name))
	if err != nil {
		return false, err
	}
	defer db.Close(context.WithoutCancel(ctx))
	var versioned bool
	err = db.QueryRow(ctx, `select to_regclass('schema_version') is not null`).Scan(&versioned)
	return !versioned, err
}

func (o options) dsn(database string) string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", o.postgresHost, o.postgresPort, o.postgresUser, database)
}

// attributes are the driver's connection parameters; a host among them wins over the address,
// which is how a Unix socket gets through.
func (o options) attributes() map[string]string {
	return map[string]string{"host": o.postgresHost, "port": strconv.Itoa(o.postgresPort)}
}

func (o options) sqlTool(database string, args ...string) error {
	attributes := url.Values{}
	for k, v := range o.attributes() {
		attributes.Set(k, v)
	}
	base := []string{
		"temporal-sql-tool", "--plugin", plugin, "--endpoint", "127.0.0.1", "--port", strconv.Itoa(o.postgresPort),
		"--user", o.postgresUser, "--password", os.Getenv("PGPASSWORD"), "--database", database,
		"--connect-attributes", attributes.Encode(),
	}
	// The tool prints each statement it runs; a failure ends the process with its message.
	stdout := os.Stdout
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	os.Stdout = null
	defer func() {
		os.Stdout = stdout
		null.Close() //nolint:errcheck // nothing was written
	}()
	return sql.RunTool(append(base, args...))
}
