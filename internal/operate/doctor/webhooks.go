package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
)

// hookWarn is the age from which a waiting delivery is reported: either the endpoint has failed for a day, or no
// process delivers webhooks.
const hookWarn = 24 * time.Hour

// webhooks checks for undelivered messages. It only warns, because only the owner of an endpoint can repair it.
func (d databaseDoctor) webhooks(ctx context.Context) (Finding, error) {
	st, err := webhookstore.New(d.pool, nil).State(ctx)
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Status: Healthy, Detail: fmt.Sprintf("%d deliveries wait, %d are dead letters, %d endpoints are disabled", st.Pending,
		st.Dead, st.Disabled)}
	if st.Pending > 0 {
		f.Detail += ", the oldest waits for " + inspect.Span(st.Oldest)
	}
	switch {
	case st.Oldest >= hookWarn:
		f.Status, f.Remedy = Warning, "see their endpoints: millrace webhooks deliveries --status pending; check that a worker runs"
	case st.Dead > 0:
		f.Status, f.Remedy = Warning, "see the reasons: millrace webhooks dead; then: millrace webhooks replay --webhook ID"
	}
	return f, nil
}
