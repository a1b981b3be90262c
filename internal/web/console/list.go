package console

import (
	"html/template"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// ListPage shows a page of the jobs of an account, or of all accounts, newest first; or the causes of failures.
type ListPage struct {
	Frame
	Jobs      []ListedJob
	Status    string       // selected state, "" = all
	Chips     []Chip       // lists by state
	Fields    []Field      // fields of the search; empty = no search
	Active    []Chip       // conditions of the search, each with a link that removes it
	Causes    template.URL // query of the causes of failures, or ""
	Grouped   bool         // show Groups in place of Jobs
	Groups    []FailureGroup
	Next      template.URL // query of the next page, "" = this is the last
	Kept      string       // storage that the account uses and its limit, or ""
	Notice    string       // result of an action
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

// ListedJob is one row of the list.
type ListedJob struct {
	Job                      job.Job
	Took                     inspect.Millis
	Cause                    string // short cause of a failure or a wait
	Title                    string // title of the workflow, or ""
	Classes, Models, Servers []string
	Thumbs                   Thumbs
	Query                    template.URL // query of the job's page, with "?", or ""
}

// Thumbs are the pictures of a job in its row.
type Thumbs struct {
	Assets []string
	More   int // number of further outputs
}

// FailureGroup contains the failures of one cause.
type FailureGroup struct {
	Count              int64
	Code, Class, Cause string
	Last               job.PublicID
	LastAt             time.Time
	Query, JobQuery    template.URL // queries of the list of these jobs, and of the page of the last one
}

// maxRowNames bounds the names in a row of a list.
const maxRowNames = 4

// firstNames returns the first names of a list and the number of the others.
func firstNames(names []string) (out struct {
	Names []string
	More  int
},
) {
	out.Names = names[:min(len(names), maxRowNames)]
	out.More = len(names) - len(out.Names)
	return out
}

// BulkPage shows what an action would do to the selected jobs.
type BulkPage struct {
	Frame
	Action  string // retry, cancel or export
	Lines   []BulkLine
	IDs     []job.PublicID // jobs that the action would change
	Count   int
	Allowed bool         // the visitor may carry out the action
	Archive template.URL // query of the archive, for an export
}

// Template implements Page.
func (*BulkPage) Template() string { return "bulk" }

// BulkLine is one selected job.
type BulkLine struct {
	Job  job.Job
	Acts bool   // the action would change the job
	What string // description of the change
}
