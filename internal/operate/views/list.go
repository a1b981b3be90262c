package views

import (
	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/assets"
	"github.com/millrace-dev/millrace/projections/calls"
	"github.com/millrace-dev/millrace/projections/hidden"
	"github.com/millrace-dev/millrace/projections/jobindex"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/serverusage"
	"github.com/millrace-dev/millrace/projections/stats"
	"github.com/millrace-dev/millrace/projections/usage"
	"github.com/millrace-dev/millrace/projections/webhooks"
)

// All returns every view of the program.
func All() ([]projections.Projection, error) {
	types, err := eventtypes.Registry()
	if err != nil {
		return nil, err
	}
	return []projections.Projection{
		jobs.NewProjection(types), assets.NewProjection(types), calls.NewProjection(types),
		usage.NewProjection(types), serverusage.NewProjection(types), hidden.NewProjection(types), webhooks.NewProjection(types),
		jobindex.NewProjection(types), stats.NewProjection(types),
	}, nil
}

// Names returns the names of all views and of the other readers of the log with a checkpoint. An event stays in the
// log until all of them have read it.
func Names() []string {
	return []string{
		jobs.Name, assets.Name, calls.Name, usage.Name, serverusage.Name, hidden.Name, webhooks.Name, jobindex.Name, stats.Name,
		webhooks.OutgoingName,
	}
}

// Rebuildable reports whether a reader of the log may be rebuilt. The reader that makes webhook messages may not,
// because it would make each message again.
func Rebuildable(name string) bool { return name != webhooks.OutgoingName }

// Followers returns the readers that a projector runs: the views, and the follower that turns events into webhook
// messages, which must not be rebuilt. base is the public URL of links in messages.
func Followers(base string) ([]projections.Projection, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	types, err := eventtypes.Registry()
	if err != nil {
		return nil, err
	}
	return append(all, webhooks.NewOutgoing(types, base)), nil
}
