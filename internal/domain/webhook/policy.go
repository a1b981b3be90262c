package webhook

import "time"

// Policy is the retry policy of deliveries. DefaultPolicy gives the defaults.
type Policy struct {
	Timeout      time.Duration   // of one attempt, from dialing to the response status
	Retries      []time.Duration // pauses before the second attempt, the third, …; then the delivery is a dead letter
	DisableAfter time.Duration   // an endpoint is disabled after all attempts failed for this long
	Retention    time.Duration   // of ended deliveries
}

// attemptLimits bounds concurrent attempts: at most four for an endpoint and eight for an account. The bound for a process is
// high, because attempts mostly wait.
var attemptLimits = AttemptLimits{Total: 256, Account: 8, Endpoint: 4}

// maxRetryAfter bounds the Retry-After of an endpoint.
const maxRetryAfter = time.Hour
