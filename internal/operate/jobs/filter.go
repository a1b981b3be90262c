package jobs

import "github.com/millrace-dev/millrace/internal/domain/job"

// Filter selects jobs. Empty fields select all.
type Filter struct {
	States  []string `json:"status"`
	Account string   `json:"account"` // name or id
	Since   string   `json:"since"`   // a duration before now, or a time
	Class   string   `json:"class"`   // of a node that ran or failed
	Limit   int      `json:"limit"`   // default 100
}

// Outcome is the result of a command on one job.
type Outcome struct {
	Job    job.ID `json:"job"`
	Done   string `json:"outcome"`         // retried, canceled, requeued, skipped, refused; of a dry run "would retry" and "would be skipped"
	Retry  job.ID `json:"retry,omitempty"` // the new job
	Code   string `json:"code,omitempty"`  // of a refusal
	Detail string `json:"detail,omitempty"`
}
