package jobs

import (
	"encoding/json"
	"time"
)

// columns are the arrays that one upsert writes.
type columns struct {
	ids, accounts, states, metadata, jobs []string
	numbers                               []float64
	submitted, versions                   []int64
	created                               []time.Time
}

func (c *columns) add(r row) error {
	state, err := json.Marshal(r.job)
	if err != nil {
		return err
	}
	metadata, err := searchable(r.job.Metadata)
	if err != nil {
		return err
	}
	c.ids, c.accounts = append(c.ids, string(r.job.ID)), append(c.accounts, r.job.Account)
	c.states, c.numbers = append(c.states, string(r.job.State)), append(c.numbers, r.job.Number)
	c.submitted, c.versions = append(c.submitted, r.submitted), append(c.versions, r.job.Version)
	c.created, c.metadata = append(c.created, r.job.SubmittedAt), append(c.metadata, metadata)
	c.jobs = append(c.jobs, string(state))
	return nil
}
