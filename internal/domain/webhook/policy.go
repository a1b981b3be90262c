package webhook

import "time"

// Policy is the retry policy of deliveries. DefaultPolicy gives the defaults.
type Policy struct {
	Timeout      time.Duration   // of one attempt, from dialing to the response status
	Retries      []time.Duration // pauses before the second attempt, the third, …; then the delivery is a dead letter
	DisableAfter time.Duration   // an endpoint is disabled after all attempts failed for this long
	Retention    time.Duration   // of ended deliveries
}

// DefaultPolicy follows the advice of Standard Webhooks: retry soon at first, then for three days, so that an outage
// over a weekend loses no message. An endpoint that fails for five days is disabled.
func DefaultPolicy() Policy {
	return Policy{
		Timeout: 15 * time.Second,
		Retries: []time.Duration{
			5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
		},
		DisableAfter: 5 * 24 * time.Hour,
		Retention:    30 * 24 * time.Hour,
	}
}

// attemptLimits bounds concurrent attempts: at most four for an endpoint and eight for an account. The bound for a process is
// high, because attempts mostly wait.
var attemptLimits = AttemptLimits{Total: 256, Account: 8, Endpoint: 4}

// maxRetryAfter bounds the Retry-After of an endpoint.
const maxRetryAfter = time.Hour
