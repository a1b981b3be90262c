package histories

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/worker/payload"
)

// Stuck is a running workflow that cannot continue because keys of its payloads are missing.
type Stuck struct {
	Workflow string   `json:"workflow"`
	Type     string   `json:"type"`
	Keys     []string `json:"keys"` // ids of the keys
}

// stuckPage is the number of workflows that one query lists.
const stuckPage = 200

// FindStuck returns the running workflows whose histories contain payloads of keys that the ring does not have. It
// reads the histories of all running workflows.
func FindStuck(ctx context.Context, c client.Client, ring *payload.Ring) ([]Stuck, error) {
	all := []Stuck{}
	for token := []byte(nil); ; {
		page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query:         "ExecutionStatus = 'Running'",
			NextPageToken: token, PageSize: stuckPage,
		})
		if err != nil {
			return nil, fmt.Errorf("list running workflows: %w", err)
		}
		for _, w := range page.GetExecutions() {
			id := w.GetExecution().GetWorkflowId()
			events, _, err := download(ctx, c, id, w.GetExecution().GetRunId())
			if Gone(err) {
				continue // it has ended in the meantime
			}
			if err != nil {
				return nil, fmt.Errorf("read the history of workflow %s: %w", id, err)
			}
			keys, err := missingKeys(ctx, events, ring)
			if err != nil {
				return nil, err
			}
			if len(keys) > 0 {
				all = append(all, Stuck{Workflow: id, Type: w.GetType().GetName(), Keys: keys})
			}
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return all, nil
		}
	}
}

// missingKeys returns the ids of keys that encrypt payloads of a history and that the ring does not have.
func missingKeys(ctx context.Context, events *historypb.History, ring *payload.Ring) (keys []string, err error) {
	err = proxy.VisitPayloads(ctx, events, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*common.Payload) ([]*common.Payload, error) {
			for _, p := range payloads {
				if id, encrypted := payload.KeyOf(p); encrypted && !ring.Has(id) && !slices.Contains(keys, id) {
					keys = append(keys, id)
				}
			}
			return payloads, nil
		},
	})
	slices.Sort(keys)
	return keys, err
}
