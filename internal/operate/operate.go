// Package operate holds code that the services for operators share. Its sub-packages are these services, one for each
// noun: jobs, calls, assets, events, queues, views, accounts, servers and webhooks. The command line and the admin API call
// the same services, so that their answers are the same. Every change is recorded with its actor and reason.
package operate

import "github.com/millrace-dev/millrace/internal/eventlog"

// Attribution is the actor and the reason that are recorded with a change.
type Attribution = eventlog.By
