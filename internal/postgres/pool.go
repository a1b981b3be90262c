// Package postgres opens and migrates Millrace's database and runs its transactions. It promises that every error of
// the driver has a fault kind, and that a commit without an answer is distinguished from one that failed. The
// packages below it define the tables and their meaning.
package postgres

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
)

// mostIdle is how long a connection is kept that nobody uses. PostgreSQL has a process with some megabytes for each.
const mostIdle = 2 * time.Minute

// Pool is a pool of connections. Packages that only pass a pool to stores use this name and do not import the driver.
type Pool = pgxpool.Pool

// PoolOptions tune a pool. The zero value works.
type PoolOptions struct {
	MaxConns        int32         // default 16; several processes share max_connections
	IdleTransaction time.Duration // default 15 s: the server ends a transaction that is idle for longer, because it may delay the log
	LockTimeout     time.Duration // default 10 s: a longer wait for a row is Unavailable
	ConnectTimeout  time.Duration // default 5 s
	Silence         time.Duration // bound of the server's silence during a statement; 0 = no bound, for statements of operators
	Name            string        // application_name, default "millrace"
	Statements      *atomic.Int64 // counts the statements that are sent; nil = nobody does
	Direct          string        // connection string of the database itself if dsn leads through a transaction pooler, otherwise ""
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

// Open returns a pool on the database of dsn whose connections have the timeouts of opts. It returns when the
// database answers, or Unavailable if it does not.
func Open(ctx context.Context, dsn string, opts PoolOptions) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(cmp.Or(opts.Direct, dsn))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "", "the database URL is not valid")
	}
	opts = opts.withDefaults()
	cfg.MaxConns, cfg.MaxConnIdleTime = opts.MaxConns, mostIdle
	cfg.ShouldPing, cfg.PingTimeout = shouldPing, opts.ConnectTimeout
	cfg.ConnConfig.ConnectTimeout = opts.ConnectTimeout
	detectDeadPeers(&cfg.ConnConfig.Config, opts.Silence)
	setDefaults(cfg.ConnConfig, serverKeepAlive)
	setDefaults(cfg.ConnConfig, opts.session())
	if opts.Statements != nil {
		cfg.ConnConfig.Tracer = statementCounter{opts.Statements}
	}
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		types := conn.TypeMap()
		types.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{wrapUUID}, types.TryWrapEncodePlanFuncs...)
		return nil
	}
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

// uuidPlan encodes an id as it is. The driver takes a uuid.UUID for a value of database/sql: it would write its text, and
// parse that, for each element of an array.
type uuidPlan struct{ next pgtype.EncodePlan }

// SetNext implements pgtype.WrappedEncodePlanNextSetter.
func (p *uuidPlan) SetNext(next pgtype.EncodePlan) { p.next = next }

// Encode implements pgtype.EncodePlan.
func (p *uuidPlan) Encode(value any, buf []byte) ([]byte, error) {
	id, ok := value.(uuid.UUID)
	return p.next.Encode(pgtype.UUID{Bytes: id, Valid: ok}, buf)
}

// wrapUUID implements pgtype.TryWrapEncodePlanFunc.
func wrapUUID(value any) (plan pgtype.WrappedEncodePlanNextSetter, next any, ok bool) {
	id, ok := value.(uuid.UUID)
	return &uuidPlan{}, pgtype.UUID{Bytes: id, Valid: true}, ok
}

// statementCounter counts statements.
type statementCounter struct{ sent *atomic.Int64 }

var (
	_ pgx.QueryTracer = statementCounter{}
	_ pgx.BatchTracer = statementCounter{}
)

// TraceQueryStart implements pgx.QueryTracer.
func (c statementCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.sent.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (statementCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (c statementCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	c.sent.Add(int64(data.Batch.Len()))
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (statementCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (statementCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// session are the run-time parameters that the statements of a pool rely on.
func (o PoolOptions) session() map[string]string {
	return map[string]string{
		"application_name":                    o.Name,
		"timezone":                            "UTC",
		"idle_in_transaction_session_timeout": Millis(o.IdleTransaction),
		"lock_timeout":                        Millis(o.LockTimeout),
		"default_transaction_isolation":       "read committed", // a statement after a lock must see earlier commits
		// Plans are made while tables are small and kept while they grow: a sequential scan that was cheap then would
		// slow down every append until the next analyze. All frequent queries have an index.
		"enable_seqscan": "off",
		"jit":            "off", // compiling costs more than any of our queries
	}
}

// setDefaults sets run-time parameters that the URL does not set.
func setDefaults(cfg *pgx.ConnConfig, params map[string]string) {
	for name, value := range params {
		if _, given := cfg.RuntimeParams[name]; !given {
			cfg.RuntimeParams[name] = value
		}
	}
}

// Millis formats d in milliseconds, the unit of PostgreSQL's settings.
func Millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Silence bounds how long a dedicated connection waits for the answer to a statement. All such statements take
// milliseconds.
const Silence = 10 * time.Second

// Connect opens a dedicated connection: for LISTEN, NOTIFY, session locks and migrations, which must not use a pool
// or a transaction pooler. Waits on the server have no bound, but a server that sends nothing for silence counts as
// lost; 0 = never.
func Connect(ctx context.Context, dsn, name string, silence time.Duration, params map[string]string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "", "the database URL is not valid")
	}
	cfg.ConnectTimeout = 5 * time.Second
	detectDeadPeers(&cfg.Config, silence)
	setDefaults(cfg, serverKeepAlive)
	setDefaults(cfg, map[string]string{
		// overrides the settings of the role
		"application_name": "millrace " + name, "lock_timeout": "0", "idle_in_transaction_session_timeout": "0",
	})
	setDefaults(cfg, params)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, classify(err, fmt.Sprintf("connect for %s", name))
	}
	return conn, nil
}
