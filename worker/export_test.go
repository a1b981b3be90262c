package worker

// UntilAnswered is how workers wait for Temporal.
var UntilAnswered = retryUntilAnswered
