// Package eventtypes registers the event types of every aggregate of the program. It is the only list of them:
// readers of the log do not know a type that is missing here.
package eventtypes

import (
	"errors"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/audit"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/domain/hidden"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Registry returns a registry of every event type of the program.
func Registry() (*eventlog.Registry, error) {
	r := eventlog.NewRegistry()
	return r, errors.Join(job.Register(r), asset.Register(r), credit.Register(r), call.Register(r), gate.Register(r), account.Register(r),
		hidden.Register(r), audit.Register(r), webhook.Register(r), export.Events.Register(r), download.Events.Register(r),
		server.Register(r), pool.Register(r), deployment.Register(r), session.Register(r))
}
