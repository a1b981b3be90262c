// Package operate holds what the services of operators share. Its sub-packages are these services, one for
// each noun: what an operator asks of jobs, calls, assets, events, views, accounts and webhooks, and does to
// them. The command line and the admin API call the same service, so that both answer alike. They promise that
// every change is recorded with who asked for it and why.
package operate

// Attribution says who asks for a change and why, for the record.
type Attribution struct{ Actor, Reason, RequestID string }
