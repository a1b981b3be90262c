// Package overview serves the page with the figures of the service: throughput, queue, durations, failures by cause,
// cache, cost by model, and running jobs. It promises to read a bounded number of rows, for any number of jobs. An
// account sees its own figures, an operator those of all accounts.
package overview

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/jobindex"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/stats"
)

// OverviewPage shows the figures of the service.
type OverviewPage struct {
	console.Frame
	Range            string
	Ranges           []console.Chip
	Now              jobs.Now
	Submitted        int64
	Ended            []stats.Total // by state
	P50, P95, Waited inspect.Millis
	Executed, Cached int64 // nodes
	Failures         []stats.Total
	Models           []stats.Total
	ServerTime       []stats.Total
	Charts           []Chart
	Running          []RunningJob
	Servers          []console.ShownServer
	Concerns         []Concern // what is wrong now
	Operates         bool      // the visitor may examine the service
}

// Hits returns the share of nodes that were cached.
func (p *OverviewPage) Hits() string {
	if p.Executed+p.Cached == 0 {
		return "–"
	}
	return fmt.Sprintf("%d %%", 100*p.Cached/(p.Executed+p.Cached))
}

// RunningJob is a running job with its running nodes.
type RunningJob struct {
	Job   job.Job
	Nodes []string
}

// On returns the names of the running nodes.
func (r RunningJob) On() string {
	slices.Sort(r.Nodes)
	return strings.Join(r.Nodes, ", ")
}

// Chart contains series over the same times. A script draws it from its table.
type Chart struct {
	Name, Title, Unit string
	Times             []int64 // seconds
	Series            []Series
}

// Series is one line of a chart.
type Series struct {
	Label  string
	Values []float64
}

// Data returns the data that the script draws.
func (c Chart) Data() (string, error) {
	data := [][]float64{make([]float64, len(c.Times))}
	for i, t := range c.Times {
		data[0][i] = float64(t)
	}
	for _, s := range c.Series {
		data = append(data, s.Values)
	}
	raw, err := json.Marshal(data)
	return string(raw), err
}

// Row is one time of a chart with the values of its series.
type Row struct {
	At     time.Time
	Values []string
}

// maxRows bounds the rows of a chart's table, the newest times.
const maxRows = 60

// Rows returns the newest times with a value other than 0, newest first.
func (c Chart) Rows() []Row {
	var rows []Row
	for i := len(c.Times) - 1; i >= 0 && len(rows) < maxRows; i-- {
		row, some := Row{At: time.Unix(c.Times[i], 0)}, false
		for _, s := range c.Series {
			value := 0.0
			if i < len(s.Values) {
				value = s.Values[i]
			}
			some = some || value != 0
			row.Values = append(row.Values, fmt.Sprintf("%.4g", value))
		}
		if some {
			rows = append(rows, row)
		}
	}
	return rows
}

// Deps are the dependencies of the page.
type Deps struct {
	Page    *page.Server
	Stats   *stats.Reader
	Now     *jobs.Reader
	Running *jobindex.Reader
	Servers jobio.Servers
}

// Templates are the templates of the pages of this package, and the files that they refer to.
//
//go:embed *.html *.js uplot
var Templates embed.FS

// Section serves the page.
type Section struct{ Deps }

// New returns the section and adds it to the navigation.
func New(deps Deps) *Section {
	deps.Page.AddTemplates(Templates)
	deps.Page.AddLinks(console.NavLink{Path: "/overview", Title: "Overview", Icon: "M2 13V8M6 13V3M10 13V6M14 13V9"})
	return &Section{deps}
}

// Routes returns the route of the page.
func (r *Section) Routes() []edge.Route {
	return []edge.Route{r.Page.Page("/overview", page.Read, r.overview)}
}

// span is a time range and the duration of one point of its charts.
type span struct {
	name       string
	long, step time.Duration
}

const day = 24 * time.Hour

var spans = []span{
	{"15m", 15 * time.Minute, time.Minute},
	{"1h", time.Hour, time.Minute},
	{"6h", 6 * time.Hour, 5 * time.Minute},
	{"24h", day, time.Hour},
	{"7d", 7 * day, time.Hour},
	{"30d", 30 * day, 4 * time.Hour},
}

// every is how often an open page is rebuilt without messages: the view behind the figures lags behind the log.
const every = 5 * time.Second

// most bounds the rows of a table of the page.
const most = 10

func (r *Section) overview(c *gin.Context, v page.Visitor) (console.Page, error) {
	chosen := spans[1]
	if name := c.Query("range"); name != "" {
		chosen = span{}
		for _, s := range spans {
			if s.name == name {
				chosen = s
			}
		}
		if chosen.long == 0 {
			return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "%q is not a range of time.", name)
		}
	}
	ctx, now := c.Request.Context(), time.Now()
	happened, err := r.Stats.Between(ctx, v.Account, now.Add(-chosen.long), now)
	if err != nil {
		return nil, err
	}
	shown := &OverviewPage{
		Frame: console.Frame{
			Title: "Overview", Live: true, Every: every, Scripts: []string{"uPlot.iife.min.js", "charts.js"}, Styles: []string{"uPlot.min.css"},
		},
		Range: chosen.name,
	}
	for _, s := range spans {
		shown.Ranges = append(shown.Ranges, console.Chip{Text: s.name, Query: template.URL("range=" + s.name), Current: s == chosen})
	}
	measure(shown, happened, chosen)
	if shown.Now, err = r.Now.Now(ctx, v.Account); err != nil {
		return nil, err
	}
	if err := r.present(ctx, shown, v); err != nil {
		return nil, err
	}
	shown.Concerns, shown.Operates = shown.concerns(now), v.Operates
	return shown, nil
}

// measure fills in the figures of a range.
func measure(shown *OverviewPage, happened stats.Range, chosen span) {
	shown.Submitted = happened.Sum(stats.Submitted, "").N
	shown.Ended = happened.Totals(stats.Ended)
	shown.P50, shown.P95 = inspect.Millis(happened.Quantile(stats.Took, 0.5)), inspect.Millis(happened.Quantile(stats.Took, 0.95))
	shown.Waited = inspect.Millis(happened.Quantile(stats.Waited, 0.95))
	shown.Executed, shown.Cached = happened.Sum(stats.Nodes, stats.Executed).N, happened.Sum(stats.Nodes, stats.Cached).N
	shown.Failures, shown.Models = head(happened.Totals(stats.Failure)), head(happened.Totals(stats.Calls))
	shown.ServerTime = head(happened.Totals(stats.Server))
	per := int(chosen.step / happened.Grain.Length())
	counts := func(measure, key string) []float64 { return merged(happened.Series(measure, key), per) }
	times := make([]int64, 0, 200)
	for i, p := range happened.Series(stats.Submitted, "") {
		if i%max(per, 1) == 0 {
			times = append(times, p.At.Unix())
		}
	}
	shown.Charts = []Chart{
		{Name: "jobs", Title: "Jobs", Times: times, Series: []Series{
			{Label: "submitted", Values: counts(stats.Submitted, "")},
			{Label: "succeeded", Values: counts(stats.Ended, string(job.Succeeded))},
			{Label: "failed", Values: counts(stats.Ended, string(job.Failed))},
		}},
		{Name: "times", Title: "Time from submission to success", Unit: "s", Times: times, Series: []Series{
			{Label: "p50", Values: seconds(happened.Quantiles(stats.Took, 0.5), per)},
			{Label: "p95", Values: seconds(happened.Quantiles(stats.Took, 0.95), per)},
		}},
		{Name: "nodes", Title: "Nodes", Times: times, Series: []Series{
			{Label: "executed", Values: counts(stats.Nodes, stats.Executed)}, {Label: "from the cache", Values: counts(stats.Nodes, stats.Cached)},
		}},
	}
}

func head(all []stats.Total) []stats.Total { return all[:min(len(all), most)] }

// merged adds up each group of per neighbouring points.
func merged(points []stats.Point, per int) []float64 {
	var out []float64
	for i, p := range points {
		if i%max(per, 1) == 0 {
			out = append(out, 0)
		}
		out[len(out)-1] += float64(p.N)
	}
	return out
}

// seconds returns the maximum of each group of per neighbouring durations, in seconds.
func seconds(all []time.Duration, per int) []float64 {
	var out []float64
	for i, d := range all {
		if i%max(per, 1) == 0 {
			out = append(out, 0)
		}
		out[len(out)-1] = max(out[len(out)-1], d.Seconds())
	}
	return out
}

// present fills in the figures of unfinished jobs.
func (r *Section) present(ctx context.Context, shown *OverviewPage, v page.Visitor) error {
	found, err := r.Running.Find(ctx, jobindex.Query{Account: v.Account, States: []job.State{job.Running, job.Canceling}, Limit: most})
	if err != nil {
		return err
	}
	for _, j := range found.Jobs {
		line := RunningJob{Job: j}
		for node, class := range j.Running {
			line.Nodes = append(line.Nodes, node+" "+class)
		}
		shown.Running = append(shown.Running, line)
	}
	if !v.Operator {
		return nil
	}
	all, err := r.Servers.Servers(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		shown.Servers = append(shown.Servers, console.ShownServer{Server: s})
	}
	return nil
}
