package app

import (
	"context"

	"github.com/millrace-dev/millrace/api/admin"
	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
)

var _ admin.Doctor = servedDoctor{}

// Examine implements admin.Doctor.
func (d servedDoctor) Examine(ctx context.Context) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, servedDoctorTimeout)
	defer cancel()
	findings := []doctor.Finding{doctor.ThisVersion(version.Version)}
	for _, checks := range [][]doctor.Check{doctor.DatabaseChecks(d.in.pool, d.in.histories().Blobs), doctor.ServerChecks(serverstore.New(d.in.pool, d.in.events)), doctor.DiskChecks(d.in.cfg), doctor.TemporalChecks(d.in.cfg, d.in.client)} {
		findings = append(findings, doctor.RunChecks(ctx, checks)...)
	}
	return operate.Redacted(doctor.Examined{Checks: doctor.WithoutDatabase(findings)}, nil)
}
