// Package postgres opens and migrates Millrace's database and runs its transactions. It
// gives every error of the driver a fault kind, and distinguishes a commit without an
// answer from one that failed. The packages below it define the tables and their meaning.
package postgres

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
)

// PoolOptions tune a pool. The zero value works.
type PoolOptions struct {
	MaxConns        int32         // default 16; several processes share max_connections
	IdleTransaction time.Duration // default 15 s: a transaction left open longer is ended by the server, since it may delay the log
	LockTimeout     time.Duration // default 10 s: waiting longer for a row is Unavailable
	ConnectTimeout  time.Duration // default 5 s
	Silence         time.Duration // how long a statement may go without a word of the server; 0 = any time, for statements of operators
	Name            string        // application_name, default "millrace"
	Direct          string        // connection string of the database itself, where dsn leads through a transaction pooler; "" = it does not
}

func (o PoolOptions) withDefaults() PoolOptions {
	if o.MaxConns <= 0 {
		o.MaxConns = 16
	}
	if o.IdleTransaction <= 0 {
		o.IdleTransaction = 15 * time.Second
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = 10 * time.Second
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	o.Name = cmp.Or(o.Name, "millrace")
	return o
}

// Open returns a pool on the database of dsn whose connections have the time-outs of
// opts. It returns once the database answers, or Unavailable if the database does not.
func Open(ctx context.Context, dsn string, opts PoolOptions) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(cmp.Or(opts.Direct, dsn))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "", "the database URL is not valid")
	}
	opts = opts.withDefaults()
	cfg.MaxConns = opts.MaxConns
	cfg.ShouldPing, cfg.PingTimeout = doubtful, opts.ConnectTimeout
	cfg.ConnConfig.ConnectTimeout = opts.ConnectTimeout
	noticeDeadPeers(&cfg.ConnConfig.Config, opts.Silence)
	setDefaults(cfg.ConnConfig, serverKeepsAlive)
	setDefaults(cfg.ConnConfig, opts.session())
	if opts.Direct != "" {
		if err := usePooler(cfg, dsn, opts); err != nil {
			return nil, err
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, classify(err, "open the database pool")
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, classify(err, "reach the database")
	}
	return pool, nil
}

// session are the run-time parameters that the statements of a pool rely on.
func (o PoolOptions) session() map[string]string {
	return map[string]string{
		"application_name":                    o.Name,
		"timezone":                            "UTC",
		"idle_in_transaction_session_timeout": Millis(o.IdleTransaction),
		"lock_timeout":                        Millis(o.LockTimeout),
		"default_transaction_isolation":       "read committed", // a statement after a lock must see what was committed before it
		// Plans are made while tables are young and kept while they grow: a scan that was cheap then
		// would slow down every append until the next analyze. All frequent queries have an index.
		"enable_seqscan": "off",
		"jit":            "off", // compiling costs more than any of our queries
	}
}

// setDefaults sets run-time parameters that the URL leaves open.
func setDefaults(cfg *pgx.ConnConfig, params map[string]string) {
	for name, value := range params {
		if _, given := cfg.RuntimeParams[name]; !given {
			cfg.RuntimeParams[name] = value
		}
	}
}

// Millis formats d in milliseconds, the unit of PostgreSQL's settings.
func Millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Silence is how long a connection of our own waits for the answer to one of its statements, none of which
// takes longer than milliseconds.
const Silence = 10 * time.Second

// Connect opens one connection of its own: for LISTEN, NOTIFY, session locks and
// migrations, which must not pass through a pool or a transaction pooler. Server-side waits have no limit on it, but a server
// that sends nothing for that long is taken for gone; silence 0 means never.
func Connect(ctx context.Context, dsn, name string, silence time.Duration, params map[string]string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "", "the database URL is not valid")
	}
	cfg.ConnectTimeout = 5 * time.Second
	noticeDeadPeers(&cfg.Config, silence)
	setDefaults(cfg, serverKeepsAlive)
	setDefaults(cfg, map[string]string{
		"application_name": "millrace " + name, "lock_timeout": "0", "idle_in_transaction_session_timeout": "0", // whatever the role has
	})
	setDefaults(cfg, params)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, classify(err, fmt.Sprintf("connect for %s", name))
	}
	return conn, nil
}
