package console

import (
	"html/template"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// ListPage is a part of the jobs of an account, or of all, newest first; or the causes of failures.
type ListPage struct {
	Frame
	Jobs      []ListedJob
	Status    string       // the state that is selected, "" = all
	Chips     []Chip       // lists by state
	Fields    []Field      // of the search, empty = there is none
	Active    []Chip       // parts of the search, each with the list without it
	Causes    template.URL // query of the causes of failures, "" = none
	Grouped   bool         // show Groups in place of Jobs
	Groups    []FailureGroup
	Next      template.URL // query of the next page, "" = this is the last
	Kept      string       // what the account keeps and may keep, "" = not known
	Notice    string       // what an action came to
	CanChange bool         // jobs may be selected for an action
}

// Template implements Page.
func (*ListPage) Template() string { return "list" }

// Chip is a link to another list. Queries of this package are encoded already.
type Chip struct {
	Text    string
	Query   template.URL
	Current bool
}

// Field is an input of a form.
type Field struct {
	Name, Label, Hint, Value string
}

// ListedJob is one line of the list.
type ListedJob struct {
	Job                      job.Job
	Took                     inspect.Millis
	Cause                    string // of a failure or a wait, short
	Title                    string // of the workflow, "" = not known
	Classes, Models, Servers []string
	Thumbs                   Thumbs
	Query                    template.URL // of the job's page, with "?"; "" = none
}

// Thumbs are the pictures of a job that a line shows.
type Thumbs struct {
	Assets []string
	More   int // outputs beside them
}

// FailureGroup is the failures of one cause.
type FailureGroup struct {
	Count              int64
	Code, Class, Cause string
	Last               job.PublicID
	LastAt             time.Time
	Query, JobQuery    template.URL // of the list of these jobs; of the page of the last one
}

// few is the most names that a line of a list has.
const few = 4

// first returns the first names of a list, and how many more there are.
func first(names []string) (out struct {
	Names []string
	More  int
},
) {
	out.Names = names[:min(len(names), few)]
	out.More = len(names) - len(out.Names)
	return out
}

// BulkPage says what an action would do to the selected jobs.
type BulkPage struct {
	Frame
	Action  string // retry, cancel or export
	Lines   []BulkLine
	IDs     []job.PublicID // jobs to which something would happen
	Count   int
	Allowed bool         // the visitor may do it
	Archive template.URL // query of the archive, for an export
}

// Template implements Page.
func (*BulkPage) Template() string { return "bulk" }

// BulkLine is one selected job.
type BulkLine struct {
	Job  job.Job
	Acts bool   // something would happen
	What string // what would
}
