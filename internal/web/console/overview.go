package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// OverviewPage shows the figures of the service.
type OverviewPage struct {
	Frame
	Range            string
	Ranges           []Chip
	Now              Now
	Submitted        int64
	Ended            []Total // by state
	P50, P95, Waited inspect.Millis
	Executed, Cached int64 // nodes
	Failures         []Total
	Models           []Total
	ServerTime       []Total
	Charts           []Chart
	Running          []RunningJob
	Servers          []ShownServer
}

// Template implements Page.
func (*OverviewPage) Template() string { return "overview" }

// Now contains the numbers of waiting and running jobs.
type Now struct {
	Queued, Running int64
	Oldest          *time.Time // submission of the oldest queued job, or nil
}

// Total is the total of a measure for one key: a count, and milliseconds or USD millionths.
type Total struct {
	Key      string
	N, Total int64
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

// money formats USD millionths.
func money(micros int64) string { return fmt.Sprintf("$%.4f", float64(micros)/1e6) }

// millis formats a number of milliseconds.
func millis(n int64) string { return inspect.Span(time.Duration(n) * time.Millisecond) }
