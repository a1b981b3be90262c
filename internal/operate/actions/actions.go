// Package actions lists the descriptions of everything that operators do, for the OpenAPI document.
package actions

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/operate/webhooks"
)

// Specs returns the descriptions of all actions.
func Specs() []*action.Spec {
	return slices.Concat(
		accounts.Actions.Specs(), accounts.Keys.Specs(),
		queues.Actions.Specs(), servers.Actions.Specs(), webhooks.Actions.Specs(),
	)
}
