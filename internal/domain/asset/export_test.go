package asset

import (
	"context"
	"time"
)

// CollectBefore collects with a cutoff of the test's choice, nearer than the least grace period.
func (c Collector) CollectBefore(ctx context.Context, cutoff time.Time) (Collection, error) {
	return c.collect(ctx, cutoff, nil)
}
