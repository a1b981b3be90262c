package doctor

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Served examines a deployment from within one of its processes.
type Served struct {
	Config  config.Config
	Pool    *postgres.Pool
	Blobs   func(context.Context) (blob.Store, error)
	Servers Servers
	Client  client.Client
}

// servedTimeout bounds all checks of one answer together. Checks that have not finished by then are reported as
// giving no answer.
const servedTimeout = 30 * time.Second

// Examine returns the findings of all checks, without secrets.
func (s Served) Examine(ctx context.Context) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	findings := []Finding{ThisVersion(version.Version)}
	for _, checks := range [][]Check{
		DatabaseChecks(s.Pool, s.Blobs), ServerChecks(s.Servers), DiskChecks(s.Config),
		TemporalChecks(s.Config, s.Client),
	} {
		findings = append(findings, RunChecks(ctx, checks)...)
	}
	return operate.Redacted(Examined{Checks: WithoutDatabase(findings)}, nil)
}
