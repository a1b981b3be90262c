package app

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/api/admin"
)

// servedDoctorTimeout bounds all checks of one answer together: what is not looked at by then is said to have given
// no answer.
const servedDoctorTimeout = 30 * time.Second

// servedDoctor examines a deployment from a process of it. It implements admin.Doctor.
type servedDoctor struct{ in *instance }

var _ admin.Doctor = servedDoctor{}

// Examine implements admin.Doctor.
func (d servedDoctor) Examine(ctx context.Context) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, servedDoctorTimeout)
	defer cancel()
	findings := []finding{thisVersion(Version)}
	for _, checks := range [][]check{databaseChecks(d.in.pool, d.in.teller().blobs), diskChecks(d.in.cfg), temporalChecks(d.in.cfg, d.in.client)} {
		findings = append(findings, runChecks(ctx, checks)...)
	}
	return withoutSecrets(examined{Checks: findings}, nil)
}
