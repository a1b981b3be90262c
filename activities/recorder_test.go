package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// appends counts the appends to a log.
type appends struct {
	eventlog.Store
	n int
}

func (a *appends) Append(ctx context.Context, e eventlog.Append) ([]eventlog.Recorded, error) {
	a.n++
	return a.Store.Append(ctx, e)
}

// Events of quick nodes are recorded together; those of nodes that take longer are not held back.
func TestEventsOfQuickNodesAreRecordedTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes   time.Duration
		appends int
	}{
		"quick": {0, 1}, "brief": {20 * time.Millisecond, 2}, "longer": {60 * time.Millisecond, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Step","inputs":{"in":["1",0]}},
				"3":{"class_type":"Step","inputs":{"in":["2",0]}},"4":{"class_type":"Step","inputs":{"in":["3",0]}}}`, []string{"4"}, &node.Class{
				Name: "Step", Module: "nodes", OutputNode: true, Inputs: []node.Input{{Name: "in", Type: node.Int, Section: node.Optional}},
				Outputs: []node.Output{{Type: node.Int}},
				Run: func(context.Context, *node.Call) (node.Result, error) {
					<-time.After(c.takes)
					return node.Result{Outputs: []node.Value{int64(1)}}, nil
				},
			})
			plan := b.begin(t)
			log := &appends{Store: b.log}
			b.activities.Events = log
			synctest.Test(t, func(t *testing.T) {
				res := b.once(t, activities.RunParams{RunRef: b.ref, PlanHash: plan.PlanHash, Units: []int{0, 1, 2, 3}})
				require.Len(t, res.Units, 4)
				require.Equal(t, c.appends, log.n)
			})
		})
	}
}
