package doctor

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Deployment is what the doctor examines, as a command or a process of the service sees it.
type Deployment struct {
	Config   *config.Config // which opening the database may complete
	Database func(ctx context.Context) (*postgres.Pool, error)
	Blobs    func(pool *postgres.Pool) func(context.Context) (blob.Store, error)
	Temporal func() (client.Client, error)
}

// Examine runs every check whose prerequisites hold. Without a database, its contents cannot be checked.
func (d Deployment) Examine(ctx context.Context) (Examined, error) {
	findings := []Finding{{
		Check: "version", Status: Healthy,
		Detail: fmt.Sprintf("millrace %s, %s, %s/%s", version.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH),
	}}
	pool, err := d.Database(ctx)
	if err != nil {
		findings = append(findings, Finding{
			Check: "database", Status: Failing, Detail: operate.ErrorLine(err), Remedy: "start PostgreSQL, or set DATABASE_URL or --data",
		})
	} else {
		findings = append(findings, RunChecks(ctx, DatabaseChecks(pool, d.Blobs(pool)))...)
		findings = append(findings, RunChecks(ctx, ServerChecks(serverstore.New(pool, nil)))...)
	}
	findings = append(findings, RunChecks(ctx, diskChecks(*d.Config))...)
	if c, err := d.Temporal(); err != nil {
		f := failure(err, "start Temporal, or set TEMPORAL_ADDRESS; jobs are accepted and wait meanwhile")
		f.Check = "temporal"
		findings = append(findings, f)
	} else {
		findings = append(findings, RunChecks(ctx, temporalChecks(*d.Config, c, pool))...)
	}
	return Examined{WithoutDatabase(findings)}, nil
}

// WithoutDatabase corrects the finding of Temporal when PostgreSQL is down. If Temporal stores its state in the same
// server, it cannot answer either, and only PostgreSQL needs to be started.
func WithoutDatabase(findings []Finding) []Finding {
	away := slices.ContainsFunc(findings, func(f Finding) bool { return f.Check == "database" && f.Status == Failing })
	for i := range findings {
		if f := &findings[i]; away && f.Check == "temporal" && f.Status == Failing {
			f.Detail += "; PostgreSQL does not answer either"
			f.Remedy = "start PostgreSQL first: a Temporal that stores its state there then recovers by itself"
		}
	}
	return findings
}

// Examiner examines a deployment.
type Examiner interface {
	// Examine returns the finding of each check. A failing check is not an error.
	Examine(ctx context.Context) (Examined, error)
}

// servedTimeout bounds all checks of one answer together. Checks that have not finished by then are reported as
// giving no answer.
const servedTimeout = 30 * time.Second

// Actions are what operators ask a process of the service about its deployment. The command examines for itself.
var Actions = action.Group[Examiner]{Actions: []action.For[Examiner]{
	action.Of[Examiner, struct{}, Examined]{
		Spec: action.Spec{
			ID: "adminDoctor", Route: "GET /doctor", Schema: "AdminFindings", Redact: true,
			Summary: "Examine the deployment from the process that answers, within half a minute. Nothing is changed.",
		},
		Do: func(ctx context.Context, e Examiner, _ struct{}, _ operate.Attribution) (Examined, error) {
			ctx, cancel := context.WithTimeout(ctx, servedTimeout)
			defer cancel()
			return e.Examine(ctx)
		},
	}.Untyped(),
}}
