package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// databaseDoctor looks at what is in the database.
type databaseDoctor struct{ pool *pgxpool.Pool }

// oldestServer is the oldest PostgreSQL that the tests have run on, as its version number.
const oldestServer = 150000

func (d databaseDoctor) server(ctx context.Context) (Finding, error) {
	var version string
	var number, used, most int
	began := time.Now()
	err := d.pool.QueryRow(ctx, `select current_setting('server_version'), current_setting('server_version_num')::int,
		(select count(*) from pg_stat_activity where backend_type = 'client backend'), current_setting('max_connections')::int`).
		Scan(&version, &number, &used, &most)
	if err != nil {
		return Finding{}, postgres.Classify(err, "ask the database")
	}
	f := Finding{Status: Healthy, Detail: fmt.Sprintf("PostgreSQL %s, answers in %s, %d of %d connections", version, inspect.Span(time.Since(began)), used, most)}
	switch {
	case number < oldestServer:
		f.Status, f.Remedy = Warning, "Millrace is tested with PostgreSQL 15 and later: upgrade"
	case used*10 > most*9:
		f.Status, f.Remedy = Warning, "raise max_connections, or run fewer processes: each takes up to 24"
	}
	return f, nil
}

func (d databaseDoctor) schema(ctx context.Context) (Finding, error) {
	pending, err := postgres.Pending(ctx, d.pool)
	if err != nil {
		return Finding{}, err
	}
	if len(pending) > 0 {
		return Finding{Status: Failing, Detail: fmt.Sprintf("%d migrations are missing, from %s", len(pending), pending[0]), Remedy: "run: millrace migrate"}, nil
	}
	return Finding{Status: Healthy, Detail: "current"}, nil
}
