// Package allactions has the one list of everything that operators do over HTTP, for the OpenAPI document. Package action
// describes one of them.
package allactions

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/assets"
	"github.com/millrace-dev/millrace/internal/operate/calls"
	"github.com/millrace-dev/millrace/internal/operate/deployments"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/operate/events"
	"github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/pools"
	"github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/operate/sessions"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/operate/webhooks"
	"github.com/millrace-dev/millrace/internal/operate/weights"
)

// Specs returns the descriptions of all actions.
func Specs() []*action.Spec {
	return slices.Concat(
		jobs.Actions.Specs(), calls.Actions.Specs(), assets.Actions.Specs(), events.Actions.Specs(), views.Actions.Specs(),
		accounts.Actions.Specs(), accounts.Keys.Specs(), queues.Actions.Specs(), servers.Actions.Specs(), webhooks.Actions.Specs(),
		doctor.Actions.Specs(), deployments.Actions.Specs(), deployments.Deploying.Specs(), sessions.Actions.Specs(),
		weights.Actions.Specs(), pools.Actions.Specs(),
	)
}
