package console

import (
	"context"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/jobindex"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// ListPage shows a page of the jobs of an account, or of all accounts, newest first; or the causes of failures.
type ListPage struct {
	console.Frame
	Jobs      []ListedJob
	Status    string         // selected state, "" = all
	Chips     []console.Chip // lists by state
	Fields    []Field        // fields of the search; empty = no search
	Active    []console.Chip // conditions of the search, each with a link that removes it
	Causes    template.URL   // query of the causes of failures, or ""
	Grouped   bool           // show Groups in place of Jobs
	Groups    []FailureGroup
	Next      template.URL      // query of the next page, "" = this is the last
	Kept      string            // storage that the account uses and its limit, or ""
	Notice    string            // result of an action
	CanChange bool              // jobs may be selected for an action
	Names     map[string]string // names of accounts by their ids
	Start     *Start            // for an account without jobs, or nil
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
	Title                    string
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

// listEvery is how often an open list is rebuilt without messages about its account: the index lags behind the log.
const listEvery = 5 * time.Second

// filter holds the query parameters of a list.
type filter struct {
	jobindex.Query
	values url.Values // the parameters that are not empty, as given
}

// filterNames are the parameters of a list, in the order of the form.
var filterNames = []string{"q", "class", "model", "server", "code", "cause", "meta", "since", "until"}

// readFilter parses the query of a list.
func readFilter(c *gin.Context, v page.Visitor) (filter, error) {
	f := filter{Query: jobindex.Query{Account: v.Account, Limit: pageSize}, values: url.Values{}}
	for _, name := range append([]string{"status"}, filterNames...) {
		if value := strings.TrimSpace(c.Query(name)); value != "" {
			f.values.Set(name, value)
		}
	}
	get := f.values.Get
	f.Text, f.Class, f.Model, f.Server, f.Code, f.Cause = get("q"), get("class"), get("model"), get("server"), get("code"), get("cause")
	if status := job.State(get("status")); status != "" {
		if !slices.Contains(job.States(), status) {
			return f, fault.New(fault.Invalid, "", "%q is not a state of a job.", string(status))
		}
		f.States = []job.State{status}
	}
	if meta := get("meta"); meta != "" {
		key, value, ok := strings.Cut(meta, ":")
		if !ok {
			return f, fault.New(fault.Invalid, "", "%q is not of the form name:value, by which metadata is searched.", meta)
		}
		f.Metadata = map[string]string{key: value}
	}
	var err error
	if f.Since, err = readTime(get("since")); err == nil {
		f.Until, err = readTime(get("until"))
	}
	if err == nil {
		f.Before, err = page.Before(c)
	}
	return f, err
}

// readTime parses a time that a form sends, or a duration before now such as 15m, 24h or 7d.
func readTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 10_000 {
			return time.Now().Add(-time.Duration(n) * 24 * time.Hour), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return time.Now().Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fault.New(fault.Invalid, "", "%q is not a time: write 24h, 7d, 2026-01-31 or 2026-01-31T15:04 (UTC).", text)
}

// empty reports whether no filter is set. The view of jobs then answers alone; it never lags behind the log.
func (f filter) empty() bool {
	for _, name := range filterNames {
		if f.values.Has(name) {
			return false
		}
	}
	return f.Account != ""
}

// query returns the query of the list with other values of some parameters. A value of "" removes a parameter.
func (f filter) query(v page.Visitor, changes ...string) template.URL {
	q := url.Values{}
	for name, values := range f.values {
		q[name] = values
	}
	for i := 0; i+1 < len(changes); i += 2 {
		q.Del(changes[i])
		if changes[i+1] != "" {
			q.Set(changes[i], changes[i+1])
		}
	}
	return v.Query(q)
}

// list shows jobs, newest first, or the causes of failures: GET /console.
func (s *Surface) list(c *gin.Context, v page.Visitor) (console.Page, error) {
	f, err := readFilter(c, v)
	if err != nil {
		return nil, err
	}
	shown := &ListPage{Frame: console.Frame{Title: "Jobs", Live: true, Every: listEvery}, CanChange: v.Allows(account.ScopeWrite) && !v.All()}
	shown.Notice = describeDone(c.Query("done"))
	s.describe(shown, f, v)
	if c.Query("group") == "cause" {
		return shown, s.groups(c.Request.Context(), shown, f, v)
	}
	ctx := c.Request.Context()
	found, next, err := s.search(ctx, f)
	if err != nil {
		return nil, err
	}
	if next > 0 {
		shown.Next = f.query(v, "before", strconv.FormatInt(next, 10))
	}
	if shown.Jobs, err = s.listed(ctx, found, v); err != nil {
		return nil, err
	}
	if v.All() {
		shown.Names, err = s.page.Names(ctx)
		return shown, err
	}
	if len(found) == 0 && f.empty() && shown.Status == "" && c.Query("before") == "" {
		shown.Start = s.start(s.Edge.BaseURL(c.Request), v)
	}
	shown.Kept, err = s.storageUsed(c, v.Account)
	return shown, err
}

// describe fills in the current filter and the links to other lists.
func (s *Surface) describe(shown *ListPage, f filter, v page.Visitor) {
	shown.Status = f.values.Get("status")
	shown.Chips = append(shown.Chips, console.Chip{Text: "all", Query: f.query(v, "status", ""), Current: shown.Status == ""})
	for _, state := range job.States() {
		shown.Chips = append(shown.Chips, console.Chip{
			Text: string(state), Query: f.query(v, "status", string(state)), Current: shown.Status == string(state),
		})
	}
	shown.Causes = f.query(v, "group", "cause", "status", "")
	labels := map[string]string{
		"q": "Text", "class": "Node class", "model": "Model", "server": "Server", "code": "Error code", "cause": "Cause",
		"meta": "Metadata", "since": "Since", "until": "Until",
	}
	hints := map[string]string{
		"q": "words of prompts, titles, metadata", "class": "KSampler", "model": "sd15.safetensors", "server": "http://gpu-1:8188",
		"code": "node_execution_error", "meta": "name:value", "since": "24h, 7d or 2026-01-31", "until": "2026-01-31",
	}
	for _, name := range filterNames {
		shown.Fields = append(shown.Fields, Field{Name: name, Label: labels[name], Hint: hints[name], Value: f.values.Get(name)})
		if f.values.Has(name) {
			shown.Active = append(shown.Active, console.Chip{Text: labels[name] + ": " + f.values.Get(name), Query: f.query(v, name, "")})
		}
	}
}

// search returns a page of the jobs that a filter selects.
func (s *Surface) search(ctx context.Context, f filter) ([]job.Job, int64, error) {
	if f.empty() {
		found, err := s.Reader.List(ctx, f.Account, jobs.Query{States: f.States, Before: f.Before, Limit: f.Limit})
		return found.Jobs, found.Next, err
	}
	found, err := s.Index.Find(ctx, f.Query)
	return found.Jobs, found.Next, err
}

// listed returns the rows of some jobs.
func (s *Surface) listed(ctx context.Context, found []job.Job, v page.Visitor) ([]ListedJob, error) {
	waiting, err := jobio.Waiting(ctx, s.Waits, found...)
	if err != nil {
		return nil, err
	}
	ids := make([]job.ID, len(found))
	for i, j := range found {
		ids[i] = j.ID
	}
	known, err := s.Index.Descriptions(ctx, ids)
	if err != nil {
		return nil, err
	}
	lines := make([]ListedJob, len(found))
	for i, j := range found {
		k := known[j.ID]
		lines[i] = ListedJob{
			Job: j, Took: elapsed(j, time.Now()), Cause: describeWait(waiting[j.ID]), Title: titleOf(j, k), Classes: k.Classes, Models: k.Models,
			Servers: k.Servers, Thumbs: thumbsOf(j), Query: jobQuery(v, j),
		}
		if j.Error != nil {
			lines[i].Cause = j.Error.Message
		}
	}
	return lines, nil
}

// jobQuery returns the query of a job's page, which names the account of the job for an operator.
func jobQuery(v page.Visitor, j job.Job) template.URL {
	if v.All() || v.Named() != "" {
		return template.URL("?" + url.Values{"account": {j.Account}}.Encode())
	}
	return ""
}

// maxThumbs bounds the pictures in the row of a job.
const maxThumbs = 3

// thumbsOf returns the ids of the first pictures of a job and the number of its other outputs.
func thumbsOf(j job.Job) Thumbs {
	var t Thumbs
	for _, o := range jobio.Outputs(j) {
		if len(t.Assets) < maxThumbs && jobio.OutputType(o.File) == "image" {
			t.Assets = append(t.Assets, o.File.Asset)
		} else {
			t.More++
		}
	}
	return t
}

// groups fills in the causes of failures.
func (s *Surface) groups(ctx context.Context, shown *ListPage, f filter, v page.Visitor) error {
	found, err := s.Index.Failures(ctx, f.Account, f.Since)
	if err != nil {
		return err
	}
	shown.Grouped = true
	for _, g := range found {
		shown.Groups = append(shown.Groups, FailureGroup{
			Count: g.Count, Code: g.Code, Class: g.Class, Cause: g.Cause, Last: g.Last, LastAt: g.LastAt,
			Query:    f.query(v, "group", "", "status", string(job.Failed), "cause", g.Cause, "code", g.Code),
			JobQuery: jobQuery(v, job.Job{Account: g.Account}),
		})
	}
	return nil
}

// doneMessage matches the result that a redirect after an action may show. Other values in the query are ignored.
var doneMessage = regexp.MustCompile(`^(retry|cancel) (\d{1,3}) of (\d{1,3})$`)

func describeDone(text string) string {
	m := doneMessage.FindStringSubmatch(text)
	switch {
	case m == nil:
		return ""
	case m[1] == "retry":
		return m[2] + " of " + m[3] + " jobs run again."
	}
	return m[2] + " of " + m[3] + " jobs were asked to stop."
}
