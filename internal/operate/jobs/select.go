package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// filter selects jobs. Empty fields select all.
type filter struct {
	States  []string `name:"status" json:"status" commas:"true"`
	Account string   `name:"account" json:"account"` // name or id
	Since   string   `name:"since" json:"since"`     // a duration before now, or a time
	Class   string   `name:"class" json:"class"`     // class of a node that ran or failed
}

// selectsAll reports whether the filter selects all jobs.
func (f filter) selectsAll() bool {
	return len(f.States) == 0 && f.Account == "" && f.Since == "" && f.Class == ""
}

// maxListed bounds one listing.
const maxListed = 10_000

// matching is the filter of a request.
type matching struct {
	filter
	Limit int `json:"limit"` // default 100
	given bool
}

// UnmarshalJSON implements json.Unmarshaler. It refuses unknown fields.
func (m *matching) UnmarshalJSON(raw []byte) error {
	var fields struct {
		filter
		Limit *int `json:"limit"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&fields); err != nil {
		return err
	}
	limit := 100
	if fields.Limit != nil {
		limit = *fields.Limit
	}
	if limit < 1 || limit > maxListed {
		return errors.New("limit out of range")
	}
	*m = matching{fields.filter, limit, true}
	return nil
}

// Takes describes the values.
func (*matching) Takes() string {
	return "an object with a status, an account, a time (since), a class or a limit between 1 and 10000"
}

// Schema describes the values in the OpenAPI document.
func (*matching) Schema() map[string]any {
	text := map[string]any{"type": "string"}
	return map[string]any{"type": "object", "properties": map[string]any{
		"status": map[string]any{"type": "array", "items": text}, "account": text, "since": text, "class": text,
		"limit": map[string]any{"type": "integer"},
	}}
}

// chosen is the jobs that a command applies to: named jobs, or jobs that a filter selects.
type chosen struct {
	IDs []string `name:"ids" arg:"[ID...]"`
	filter
	Failed bool `name:"failed" help:"select failed jobs; short for --status failed"`
	Limit  int  `name:"limit" default:"1000" min:"1" max:"10000" help:"maximum number of jobs, newest first"`
}

// chosenHelp describes the filter of a command.
var chosenHelp = map[string]string{
	"status":  "select jobs in one of these states",
	"account": "select jobs of an account, by name or id",
	"since":   "select jobs submitted in the last 24h, 30m, …, or after a time",
	"class":   "select jobs in which a node of this class ran or failed",
}

// errNotOneSelection reports a command that has both ids and a filter, or neither.
var errNotOneSelection = errors.New("name jobs by their ids, or give a filter such as --failed --since 24h; not both")

func errNoMatch() error {
	return fault.New(fault.NotFound, fault.CodeNoMatch, "no job matches the filter; nothing was changed")
}

// wanted returns the filter, or errNotOneSelection.
func (c chosen) wanted() (filter, error) {
	f := c.filter
	if c.Failed {
		f.States = append(slices.Clone(f.States), string(job.Failed))
	}
	if len(c.IDs) > 0 != f.selectsAll() {
		return f, errNotOneSelection
	}
	return f, nil
}

// selected returns the ids of the chosen jobs in the order of their submission, oldest first.
func (s Service) selected(ctx context.Context, c chosen) ([]job.ID, error) {
	f, err := c.wanted()
	if err != nil {
		return nil, err
	}
	if len(c.IDs) > 0 {
		return s.findAll(ctx, c.IDs)
	}
	found, err := s.search(ctx, f, c.Limit)
	if err != nil {
		return nil, err
	}
	if len(found.jobs) == 0 {
		return nil, errNoMatch()
	}
	ids := make([]job.ID, len(found.jobs))
	for i, j := range found.jobs {
		ids[len(ids)-1-i] = j.ID
	}
	return ids, nil
}

// recorded returns the histories of the chosen jobs in the order of their submission, oldest first. Unlike selected, it
// reads only the log, so that a new version can replay the jobs of an old one before the database is migrated.
func (s Service) recorded(ctx context.Context, c chosen) ([]inspect.History, error) {
	f, err := c.wanted()
	if err != nil {
		return nil, err
	}
	var found []inspect.History
	for _, text := range c.IDs {
		h, err := history(ctx, s.Pool, text)
		if err != nil {
			return nil, err
		}
		found = append(found, h)
	}
	if len(c.IDs) > 0 {
		return found, nil
	}
	if found, err = s.submitted(ctx, f, c.Limit); err == nil && len(found) == 0 {
		err = errNoMatch()
	}
	return found, err
}
