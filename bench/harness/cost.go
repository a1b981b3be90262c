package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Meter measures the cost of units of work: processor time by process, and the transactions, statements, log bytes and
// syncs of PostgreSQL. Unlike rates, these figures hardly depend on what else the machine does.
type Meter struct {
	service *Service
	db      *pgx.Conn
	idle    usage // usage of an idle second
}

// statsDelay is the time after which PostgreSQL's processes have reported their counts: ten seconds, and one more.
const statsDelay = 11 * time.Second

// NewMeter returns a meter of a service that StartCounted started.
func NewMeter(ctx context.Context, s *Service) (*Meter, error) {
	db, err := connectAdmin(ctx, s)
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(ctx, `create extension if not exists pg_stat_statements`)
	return &Meter{service: s, db: db}, err
}

// Close ends the meter's connection.
func (m *Meter) Close(ctx context.Context) error { return m.db.Close(context.WithoutCancel(ctx)) }

// StartCounted is Start with a PostgreSQL that counts statements, which a Meter needs, and with profiles of Temporal's runtime if
// requested.
func StartCounted(ctx context.Context, profiled bool) (*Service, error) {
	s, err := Start(ctx)
	if err != nil {
		return nil, err
	}
	if profiled {
		if s.Profiles, err = FreeAddress(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := s.countStatements(ctx); err != nil {
		return nil, fmt.Errorf("count statements: %w; %w", err, s.Close())
	}
	return s, nil
}

// countStatements loads pg_stat_statements, which takes a restart.
func (s *Service) countStatements(ctx context.Context) error {
	db, err := connectAdmin(ctx, s)
	if err != nil {
		return err
	}
	_, err = db.Exec(ctx, `alter system set shared_preload_libraries = 'pg_stat_statements'`)
	if err := db.Close(ctx); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	if err := s.Stack.Close(ctx); err != nil {
		return err
	}
	return s.startStack(ctx)
}

// connectAdmin connects beside the databases that are measured.
func connectAdmin(ctx context.Context, s *Service) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(s.DatabaseURL)
	if err != nil {
		return nil, err
	}
	cfg.Database = adminDatabase
	return pgx.ConnectConfig(ctx, cfg)
}

const adminDatabase = "postgres"

// usage is the usage since the servers started, or between two readings.
type usage struct {
	at           time.Time
	cpu          map[string]float64 // milliseconds by process
	transactions map[string]float64 // by database
	statements   map[string]float64 // by database
	wal          map[string]float64 // bytes by database
	walBytes     float64            // total, including writes that no statement made
	syncs        float64            // of the log
}

func (m *Meter) read(ctx context.Context) (usage, error) {
	u := usage{at: time.Now(), cpu: m.service.cpuByPart()}
	var err error
	if u.transactions, err = m.byDatabase(ctx, `select datname, xact_commit + xact_rollback from pg_stat_database
		where datname is not null`); err != nil {
		return u, err
	}
	if u.statements, err = m.byDatabase(ctx, `select d.datname, sum(s.calls)::bigint from pg_stat_statements s
		join pg_database d on d.oid = s.dbid group by 1`); err != nil {
		return u, err
	}
	if u.wal, err = m.byDatabase(ctx, `select d.datname, sum(s.wal_bytes)::bigint from pg_stat_statements s
		join pg_database d on d.oid = s.dbid group by 1`); err != nil {
		return u, err
	}
	err = m.db.QueryRow(ctx, `select wal_bytes::float8, wal_sync::float8 from pg_stat_wal`).Scan(&u.walBytes, &u.syncs)
	return u, err
}

// byDatabase reads a count of each database but the meter's own.
func (m *Meter) byDatabase(ctx context.Context, query string) (map[string]float64, error) {
	rows, err := m.db.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	var name string
	var count int64
	_, err = pgx.ForEachRow(rows, []any{&name, &count}, func() error {
		if name != adminDatabase && !strings.HasPrefix(name, "template") {
			out[name] = float64(count)
		}
		return nil
	})
	return out, err
}

// combine applies f to each figure of two usages.
func combine(a, b usage, f func(x, y float64) float64) usage {
	each := func(x, y map[string]float64) map[string]float64 {
		out := map[string]float64{}
		for name := range x {
			out[name] = f(x[name], y[name])
		}
		return out
	}
	return usage{
		at: a.at, cpu: each(a.cpu, b.cpu), transactions: each(a.transactions, b.transactions),
		statements: each(a.statements, b.statements), wal: each(a.wal, b.wal),
		walBytes: f(a.walBytes, b.walBytes), syncs: f(a.syncs, b.syncs),
	}
}

// Idle measures the cost of an idle second, which later figures leave out.
func (m *Meter) Idle(ctx context.Context, span time.Duration) (Cost, error) {
	before, err := m.settled(ctx)
	if err != nil {
		return Cost{}, err
	}
	if err := pause.For(ctx, span); err != nil {
		return Cost{}, err
	}
	after, err := m.settled(ctx)
	if err != nil {
		return Cost{}, err
	}
	seconds := after.at.Sub(before.at).Seconds()
	m.idle = combine(after, before, func(x, y float64) float64 { return (x - y) / seconds })
	return Cost{Name: "idle second", Units: seconds, usage: m.idle}, nil
}

// settled waits until the background has nothing to do and every process has reported its counts. The background is
// calm when it uses little processor time, or, on a slow machine, when it uses about as much in each sample.
func (m *Meter) settled(ctx context.Context) (usage, error) {
	const sample, calm = 2 * time.Second, 120.0 // milliseconds of processor time in a sample
	const few, many = 3, 8                      // samples in a row that must be calm, or alike
	var used []float64
	for {
		before := total(m.service.cpuByPart())
		if err := pause.For(ctx, sample); err != nil {
			return usage{}, err
		}
		used = append(used, total(m.service.cpuByPart())-before)
		if len(used) >= few && slices.Max(used[len(used)-few:]) <= calm {
			break
		}
		if len(used) >= many && slices.Max(used[len(used)-many:]) <= 2*slices.Min(used[len(used)-many:]) {
			break
		}
	}
	if err := pause.For(ctx, statsDelay); err != nil {
		return usage{}, err
	}
	return m.read(ctx)
}

// Measure returns the cost of each unit, including background work for which run does not wait.
func (m *Meter) Measure(ctx context.Context, name string, units int, run func() error) (Cost, error) {
	before, err := m.settled(ctx)
	if err != nil {
		return Cost{}, err
	}
	began := time.Now()
	if err := run(); err != nil {
		return Cost{}, err
	}
	took := time.Since(began)
	after, err := m.settled(ctx)
	if err != nil {
		return Cost{}, err
	}
	seconds := after.at.Sub(before.at).Seconds()
	used := combine(after, before, func(x, y float64) float64 { return x - y })
	used = combine(used, m.idle, func(x, y float64) float64 { return max(0, x-y*seconds) / float64(units) })
	return Cost{Name: name, Units: float64(units), Rate: float64(units) / took.Seconds(), usage: used}, nil
}

// Cost is the cost of one unit of work.
type Cost struct {
	Name  string
	Units float64 // number of measured units
	Rate  float64 // units a second meanwhile
	usage usage
}

// CPU returns the milliseconds of processor time of all parts together.
func (c Cost) CPU() float64 { return total(c.usage.cpu) }

// Print writes costs as a table, one row each.
func Print(w io.Writer, costs ...Cost) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "unit\trate/s\tcpu ms")
	parts := keys(costs, func(u usage) map[string]float64 { return u.cpu })
	for _, p := range parts {
		fmt.Fprintf(t, "\t%s", p)
	}
	fmt.Fprintln(t, "\ttransactions\tstatements\tsyncs\twal kB")
	for _, c := range costs {
		fmt.Fprintf(t, "%s\t%.1f\t%.1f", c.Name, c.Rate, c.CPU())
		for _, p := range parts {
			fmt.Fprintf(t, "\t%.1f", c.usage.cpu[p])
		}
		fmt.Fprintf(t, "\t%.1f%s\t%.1f%s\t%.2f\t%.1f%s\n",
			total(c.usage.transactions), split(c.usage.transactions, 1), total(c.usage.statements), split(c.usage.statements, 1),
			c.usage.syncs, c.usage.walBytes/1000, split(c.usage.wal, 1000))
	}
	return t.Flush()
}

// split writes the figures of the databases in the order of their names.
func split(figures map[string]float64, unit float64) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		out = append(out, fmt.Sprintf("%.1f", figures[name]/unit))
	}
	return " (" + strings.Join(out, "+") + ")"
}

func keys(costs []Cost, of func(usage) map[string]float64) []string {
	all := map[string]float64{}
	for _, c := range costs {
		maps.Copy(all, of(c.usage))
	}
	return slices.Sorted(maps.Keys(all))
}

func total(figures map[string]float64) (sum float64) {
	for _, v := range figures {
		sum += v
	}
	return sum
}

// ForgetStatements starts the counts of PrintStatements again.
func (m *Meter) ForgetStatements(ctx context.Context) error {
	_, err := m.db.Exec(ctx, `select pg_stat_statements_reset()`)
	return err
}

// PrintStatements writes the most frequent statements since ForgetStatements: for each, its executions per unit, its
// average duration in milliseconds, the bytes that it wrote to the log per unit, and its database.
func (m *Meter) PrintStatements(ctx context.Context, w io.Writer, units, limit int) error {
	rows, err := m.db.Query(ctx, `select d.datname, s.calls, s.mean_exec_time, s.wal_bytes::bigint, regexp_replace(s.query, '\s+', ' ', 'g')
		from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname <> $1 order by s.calls desc limit $2`, adminDatabase,
		limit)
	if err != nil {
		return err
	}
	var database, query string
	var calls, wal int64
	var millis float64
	_, err = pgx.ForEachRow(rows, []any{&database, &calls, &millis, &wal, &query}, func() error {
		_, err := fmt.Fprintf(w, "%6.2f × %7.3f ms %7.0f B  %-10s %s\n", float64(calls)/float64(units), millis, float64(wal)/float64(units),
			database, shorten(query))
		return err
	})
	return err
}

// shorten keeps the beginning of a statement.
func shorten(query string) string {
	const most = 130
	query = strings.TrimSpace(query)
	return query[:min(len(query), most)]
}
