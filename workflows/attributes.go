package workflows

import (
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Search attributes of workflows. Temporal stores them in the clear.
var (
	// AccountAttribute is the account of a job or call. It is set at the start.
	AccountAttribute = temporal.NewSearchAttributeKeyKeyword("MillraceAccount")
	// ClassAttribute is the model of a call, set at the start, or the class of a job's node that is expected to take
	// longest.
	ClassAttribute = temporal.NewSearchAttributeKeyKeyword("MillraceClass")
	// SurfaceAttribute is the API to which a job was submitted.
	SurfaceAttribute = temporal.NewSearchAttributeKeyKeyword("MillraceSurface")
	// OutcomeAttribute is "canceled", or the error type of a failed job.
	OutcomeAttribute = temporal.NewSearchAttributeKeyKeyword("MillraceOutcome")
	// ServerAttribute is the last ComfyUI server that ran a segment of a job.
	ServerAttribute = temporal.NewSearchAttributeKeyKeyword("MillraceServer")
)

// Attributes returns the names of all search attributes; each is a keyword.
func Attributes() []string {
	return []string{
		AccountAttribute.GetName(), ClassAttribute.GetName(), SurfaceAttribute.GetName(), OutcomeAttribute.GetName(),
		ServerAttribute.GetName(),
	}
}

// describe sets the search attributes that are known only during the run, once, after its end. It does nothing for a
// job that its first activity finished, because the additional write would cost as much as the job, and for a
// workflow that was started without attributes, because its namespace may not define them.
func (r *graphRun) describe(ctx workflow.Context, end activities.FinishResult) error {
	if !workflow.GetTypedSearchAttributes(ctx).ContainsKey(AccountAttribute) {
		return nil
	}
	updates := []temporal.SearchAttributeUpdate{ClassAttribute.ValueSet(r.plan.Class), SurfaceAttribute.ValueSet(string(r.plan.Surface))}
	if r.server != "" {
		updates = append(updates, ServerAttribute.ValueSet(r.server))
	}
	switch end.Outcome {
	case activities.Failed:
		updates = append(updates, OutcomeAttribute.ValueSet(end.Type))
	case activities.Canceled:
		updates = append(updates, OutcomeAttribute.ValueSet(string(activities.Canceled)))
	case activities.Succeeded:
	}
	return workflow.UpsertTypedSearchAttributes(ctx, updates...)
}

// maxSummary bounds a summary, in bytes, below Temporal's bound.
const maxSummary = 200

// summary names the first units of a batch for people who read the history.
func (r *graphRun) summary(units []int) string {
	var names []string
	for _, u := range units {
		if u >= len(r.plan.Nodes) {
			continue // the unit is of an expansion or of a very large graph
		}
		names = append(names, r.plan.Nodes[u])
	}
	return fault.Shorten(strings.Join(names, ", "), maxSummary)
}
