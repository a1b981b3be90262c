package inspect

import "time"

// Step is one event of a workflow history.
type Step struct {
	Run    int       `json:"run"` // run number of the job or call
	ID     int64     `json:"event_id"`
	At     time.Time `json:"time"`
	Type   string    `json:"type"`
	Detail string    `json:"detail,omitempty"`
}
