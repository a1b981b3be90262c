package webhook

import (
	"math/rand/v2"
	"time"
)

// Policy says how deliveries are attempted. Defaults are those of DefaultPolicy.
type Policy struct {
	Timeout      time.Duration   // of one attempt, from dialling to the answer's status
	Retries      []time.Duration // pauses before the second attempt, the third, …; then it is a dead letter
	DisableAfter time.Duration   // an endpoint whose attempts have all failed for so long is disabled
	Retention    time.Duration   // of deliveries that have ended
}

// DefaultPolicy follows the convention's advice: soon at first, then for three days, so that a weekend's
// outage loses nothing. An endpoint that nothing reached for five days is not there any more.
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

// share bounds attempts: one endpoint gets four connections at most, one account twice that, and what one
// process does at once is mostly waiting.
var share = Share{Total: 256, Account: 8, Endpoint: 4}

// maxRetryAfter bounds how long an endpoint may ask us to wait.
const maxRetryAfter = time.Hour

// next returns the pause after a number of attempts, scattered by a fifth either way so that what failed
// together does not return together. ok is false after the last one.
func (p Policy) next(attempts int, asked time.Duration) (pause time.Duration, ok bool) {
	if attempts > len(p.Retries) {
		return 0, false
	}
	pause = p.Retries[max(attempts, 1)-1]
	pause = pause*4/5 + rand.N(pause*2/5+1) // scattered, not secret
	return max(pause, min(asked, maxRetryAfter)), true
}

// lease is how long a claimed delivery is left to its process: an attempt and its record fit in.
func (p Policy) lease() time.Duration { return p.Timeout + recordTime }

// recordTime bounds the record of one outcome.
const recordTime = 5 * time.Second
