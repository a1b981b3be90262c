package webhook

import (
	"math/rand/v2"
	"time"
)

// Policy is the retry policy of deliveries. DefaultPolicy gives the defaults.
type Policy struct {
	Timeout      time.Duration   // of one attempt, from dialing to the response status
	Retries      []time.Duration // pauses before the second attempt, the third, …; then the delivery is a dead letter
	DisableAfter time.Duration   // an endpoint is disabled after all attempts failed for this long
	Retention    time.Duration   // of ended deliveries
}

// DefaultPolicy follows the advice of Standard Webhooks: retry soon at first, then for three days, so that an outage
// over a weekend loses nothing. An endpoint that failed for five days is taken to be gone.
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

// share bounds concurrent attempts: at most four for an endpoint and eight for an account. The bound for a process is
// high, because attempts mostly wait.
var share = Share{Total: 256, Account: 8, Endpoint: 4}

// maxRetryAfter bounds how long an endpoint may ask us to wait.
const maxRetryAfter = time.Hour

// next returns the pause after that number of attempts. It varies the pause at random by up to a fifth, so that
// deliveries that failed together are not retried together. ok is false after the last attempt.
func (p Policy) next(attempts int, asked time.Duration) (pause time.Duration, ok bool) {
	if attempts > len(p.Retries) {
		return 0, false
	}
	pause = p.Retries[max(attempts, 1)-1]
	pause = pause*4/5 + rand.N(pause*2/5+1) // jitter; not a secret
	return max(pause, min(asked, maxRetryAfter)), true
}

// lease is how long a process owns a claimed delivery: long enough for an attempt and for recording its outcome.
func (p Policy) lease() time.Duration { return p.Timeout + recordTime }

// recordTime bounds the time to record one outcome.
const recordTime = 5 * time.Second
