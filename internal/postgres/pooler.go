package postgres

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
)

// A transaction pooler, such as PgBouncer in transaction mode, gives a client another session of the server for each
// transaction. The state of a session is therefore unusable behind it: prepared statements, run-time parameters,
// LISTEN, session locks. Pools prepare no statements, and need the parameters of the role that PrepareForPooler sets.
// Connect must lead to PostgreSQL itself.

// usePooler lets the connections of a pool lead to the pooler of dsn. The pool's Config remains that of PostgreSQL
// itself, for callers that need a dedicated session.
func usePooler(cfg *pgxpool.Config, dsn string, opts PoolOptions) error {
	pooled, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "", "the database URL is not valid")
	}
	if _, given := pooled.RuntimeParams["search_path"]; given {
		return fault.New(fault.Invalid, "", "search_path in DATABASE_URL does not pass a pooler: leave it out, and set it for the role (alter "+
			"role … set search_path)")
	}
	pooled.ConnectTimeout = opts.ConnectTimeout
	detectDeadPeers(&pooled.Config, opts.Silence)
	setDefaults(pooled, map[string]string{"application_name": opts.Name, "timezone": "UTC"}) // poolers accept these
	pooled.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	cfg.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		*c = *pooled.Copy()
		return nil
	}
	return nil
}

// MigrateFor is Migrate for a service that reaches the database through a transaction pooler, if pooled is set. dsn
// leads to PostgreSQL itself.
func MigrateFor(ctx context.Context, dsn string, pooled bool, logf func(format string, args ...any)) error {
	if err := Migrate(ctx, dsn, logf); err != nil || !pooled {
		return err
	}
	return PrepareForPooler(ctx, dsn)
}

// PrepareForPooler sets the run-time parameters that pools need for the role and the database of dsn, which leads to
// PostgreSQL itself. A pooler does not set them in its sessions, but PostgreSQL sets them in every new session.
func PrepareForPooler(ctx context.Context, dsn string) error {
	conn, err := Connect(ctx, dsn, "migrate", 0, nil)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // no transaction is open
	var found []string
	var role, database string
	err = conn.QueryRow(ctx, `select current_user, current_database(), coalesce((select setconfig from pg_db_role_setting
		where setrole = current_user::regrole and setdatabase = (select oid from pg_database where datname = current_database())),
			'{}')`).Scan(&role, &database, &found)
	if err != nil {
		return classify(err, "read the parameters of the role")
	}
	params := PoolOptions{}.withDefaults().session()
	delete(params, "application_name") // a parameter of the client, which poolers pass on
	delete(params, "timezone")
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if slices.ContainsFunc(found, func(s string) bool { return strings.HasPrefix(s, name+"=") }) {
			continue // a value that an operator has set stays
		}
		_, err := conn.Exec(ctx, "alter role "+pgx.Identifier{role}.Sanitize()+" in database "+pgx.Identifier{database}.Sanitize()+
			" set "+name+" = '"+params[name]+"'")
		if err != nil {
			return classify(err, "set a parameter of the role for the pooler")
		}
	}
	return nil
}

// protocolViolation is PgBouncer's error for parameters that it does not support.
const protocolViolation = "08P01"

// isPooler reports whether a server refused a connection because it is a pooler.
func isPooler(refused *pgconn.PgError) bool {
	return refused.Code == protocolViolation && strings.Contains(refused.Message, "startup parameter")
}
