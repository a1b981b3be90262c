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
	state, err := json.Marshal(r.State)
	if err != nil {
		return err
	}
	metadata, err := searchable(r.State.Metadata)
	if err != nil {
		return err
	}
	c.ids, c.accounts = append(c.ids, string(r.State.ID)), append(c.accounts, r.State.Account)
	c.states, c.numbers = append(c.states, string(r.State.State)), append(c.numbers, r.State.Number)
	c.submitted, c.versions = append(c.submitted, r.First), append(c.versions, r.Version)
	c.created, c.metadata = append(c.created, r.State.SubmittedAt), append(c.metadata, metadata)
	c.jobs = append(c.jobs, string(state))
	return nil
}
