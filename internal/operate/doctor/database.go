package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
)

// databaseDoctor runs the checks of the database.
type databaseDoctor struct{ pool *postgres.Pool }

// oldestServer is the version number of the oldest PostgreSQL with which Millrace is tested.
const oldestServer = 150000

func (d databaseDoctor) server(ctx context.Context) (Finding, error) {
	began := time.Now()
	server, err := operatestore.New(d.pool).Server(ctx)
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Status: Healthy, Detail: fmt.Sprintf("PostgreSQL %s, answers in %s, %d of %d connections", server.Version,
		inspect.Span(time.Since(began)), server.Connections, server.MaxConnections)}
	switch {
	case server.Number < oldestServer:
		f.Status, f.Remedy = Warning, "Millrace is tested with PostgreSQL 15 and later: upgrade"
	case server.Connections*10 > server.MaxConnections*9:
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
		return Finding{
			Status: Failing, Detail: fmt.Sprintf("%d migrations are missing, from %s", len(pending), pending[0]),
			Remedy: "run: millrace migrate",
		}, nil
	}
	return Finding{Status: Healthy, Detail: "current"}, nil
}
