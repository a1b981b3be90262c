package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/console/previews"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/jobindex"
)

// TimeSegment is a part of a job's time on an axis of a thousand.
type TimeSegment struct {
	Part
	X, Width int64
}

// Segments returns the parts of the job's time on an axis, one after the other.
func (p *JobPage) Segments() []TimeSegment {
	var sum, x int64
	for _, part := range p.Parts {
		sum += int64(part.Took)
	}
	var out []TimeSegment
	for _, part := range p.Parts {
		width := 1000 * int64(part.Took) / max(sum, 1)
		out = append(out, TimeSegment{part, x, width})
		x += width
	}
	return out
}

// JobPage contains all data about one job.
type JobPage struct {
	console.Frame
	Job      job.Job
	Origin   job.PublicID // origin of a retry, or ""
	Timeline inspect.Timeline
	Drawing  Drawing
	Events   []inspect.Event
	Omitted  int // events that are not shown
	Outputs  []Output
	Inputs   string // of the failed node, as recorded
	Parts    []Part
	At       int64 // the version that is shown, 0 = the last
	Versions int64
	AtTime   time.Time    // of that version
	With     job.PublicID // the job to compare with, or ""
	Compared *inspect.Comparison
	Node     *NodeDetail // the selected node, or nil
	Notice   string      // result of an action
	CanRetry bool
	Models   []string          // of partners, that its nodes call
	Waiting  string            // why the job waits for a ComfyUI server, with its position, or ""
	Preview  *previews.Preview // the newest preview of a running node, or nil
}

// Output is a file or a text that a node shows.
type Output struct {
	Node, Class string
	Name        string
	Asset       string // id of the file, or ""
	Kind        string // image, video, audio, text or file
	Size        int64
	Text        string
}

// Bar is the position of a node's run on the time axis of its job, in thousandths of the axis.
type Bar struct{ X, Width int64 }

// Place returns the bar of a node: from its start to its end, on the time axis of the job.
func (p JobPage) Place(s inspect.NodeSpan) Bar {
	total := max(p.Timeline.Total.Duration(), time.Millisecond)
	from := max(0, s.Began.Sub(p.Timeline.SubmittedAt))
	x := min(int64(1000*from/total), 996)
	return Bar{X: x, Width: min(max(int64(1000*s.Took.Duration()/total), 4), 1000-x)}
}

// ServerCost returns the cost of the job's time on ComfyUI servers, in USD millionths.
func (p *JobPage) ServerCost() (sum int64) {
	for _, on := range p.Timeline.Servers {
		sum += on.Cost
	}
	return sum
}

// NodeQuery returns the query of the page with a node selected.
func (p *JobPage) NodeQuery(id string) template.URL {
	q := url.Values{"node": {id}}
	if p.At > 0 {
		q.Set("at", strconv.FormatInt(p.At, 10))
	}
	if p.Query != "" && p.Account != "" {
		q.Set("account", p.Account)
	}
	return console.Query(q)
}

// PreviewQuery returns the query of the newest preview of the job, which differs between previews, so that the
// browser loads each one.
func (p *JobPage) PreviewQuery() template.URL {
	q := url.Values{"seen": {p.Preview.Seen}}
	if p.Query != "" && p.Account != "" {
		q.Set("account", p.Account)
	}
	return "?" + console.Query(q)
}

func (s *Surface) job(c *gin.Context, id page.Visitor, found job.Job) (console.Page, error) {
	history, err := s.Histories.History(c.Request.Context(), id.Account, found.ID)
	if err != nil {
		return nil, err
	}
	shown := &JobPage{
		Versions: int64(len(history.Events)), CanRetry: id.Allows(account.ScopeWrite),
		Notice: notices[c.Query("notice")],
	}
	now := time.Now()
	if at := c.Query("at"); at != "" {
		point, err := inspect.ParsePoint(at)
		if err != nil {
			return nil, err
		}
		if history, err = history.At(point); err != nil {
			return nil, err
		}
		last := history.Events[len(history.Events)-1]
		shown.At, shown.AtTime, now = last.Version, last.At, last.At
	}
	j := history.State()
	timeline := history.Timeline(now)
	drawing, g, err := s.drawing(c.Request.Context(), id.Account, j.ID, &timeline)
	if err != nil {
		return nil, err
	}
	drawing.Show(thumbByNode(j))
	if shown.At == 0 {
		if shown.Preview, err = s.previews.Of(c.Request.Context(), j); err != nil {
			return nil, err
		}
		drawing.ShowNow(shown.Preview)
	}
	shown.Job, shown.Timeline, shown.Drawing, shown.Events = j, timeline, drawing, history.Events
	shown.Outputs, shown.Parts = outputs(j), Parts(timeline)
	if err := s.compare(c, id, shown, history); err != nil {
		return nil, err
	}
	if node := c.Query("node"); node != "" {
		if shown.Node, err = s.node(c.Request.Context(), node, g, shown, history.Events); err != nil {
			return nil, err
		}
	}
	if shown.Waiting, err = s.waiting(c.Request.Context(), j); err != nil {
		return nil, err
	}
	if j.Origin != nil {
		shown.Origin = j.Origin.PublicID()
	}
	if len(shown.Events) > maxEvents {
		shown.Omitted, shown.Events = len(shown.Events)-maxEvents, shown.Events[:maxEvents]
	}
	if j.Error != nil && len(j.Error.Inputs) > 0 {
		shown.Inputs = indented(j.Error.Inputs)
	}
	known, err := s.described(c.Request.Context(), j)
	if err != nil {
		return nil, err
	}
	shown.Title, shown.Models = titleOf(j, known), known.Models
	shown.Live, shown.Scripts = shown.At == 0 && shown.Compared == nil, []string{"graph.js"}
	return shown, nil
}

// described returns the indexed properties of a job.
func (s *Surface) described(ctx context.Context, j job.Job) (jobindex.Description, error) {
	known, err := s.Index.Descriptions(ctx, []job.ID{j.ID})
	return known[j.ID], err
}

// waiting returns why a job waits for a ComfyUI server, or "" if it does not wait.
func (s *Surface) waiting(ctx context.Context, j job.Job) (string, error) {
	found, err := jobio.Waiting(ctx, s.Waits, j)
	return describeWait(found[j.ID]), err
}

func describeWait(w *jobio.WaitingBody) string {
	if w == nil {
		return ""
	}
	if w.Place == 0 {
		return "Waits for a slot: " + w.Reason
	}
	return fmt.Sprintf("Waits for a server, place %d: %s", w.Place, w.Reason)
}

// notices are the messages that a redirect after an action may show. Other values in the query are ignored.
var notices = map[string]string{
	"canceling": "The job was asked to stop.",
	"over":      "The job had ended before it could be canceled.",
	"again":     "This is the new run.",
}

// find returns the job of the visitor's account that the path names.
func (s *Surface) find(c *gin.Context, v page.Visitor) (job.Job, error) {
	return s.jobNamed(c, v, c.Param("id"))
}

// jobNamed returns the job of the visitor's account with a public id.
func (s *Surface) jobNamed(c *gin.Context, v page.Visitor, text string) (job.Job, error) {
	public, err := job.ParsePublicID(text)
	if err != nil {
		return job.Job{}, noJob()
	}
	j, err := s.Reader.ByPublicID(c.Request.Context(), v.Account, public)
	if fault.Is(err, fault.NotFound) {
		err = noJob()
	}
	return j, err
}

func noJob() error { return fault.New(fault.NotFound, fault.CodeJobNotFound, "There is no such job.") }

// drawing returns the layout of the graph that runs, and names the classes of the timeline's nodes. It is empty when
// the submission is no longer stored.
func (s *Surface) drawing(ctx context.Context, owner string, id job.ID, t *inspect.Timeline) (Drawing, *graph.Graph, error) {
	source, err := s.Sources.Load(ctx, owner, id)
	if fault.Is(err, fault.NotFound) {
		return Drawing{}, nil, nil
	}
	if err != nil {
		return Drawing{}, nil, err
	}
	g, err := graph.Parse(source.Runs(), acceptedLimits)
	if err != nil {
		return Drawing{}, nil, err
	}
	if err := t.NameClasses(&source); err != nil {
		return Drawing{}, nil, err
	}
	return Draw(g, *t), g, nil
}

// outputs are the files and texts of a job, in order.
func outputs(j job.Job) []Output {
	var shown []Output
	for _, o := range j.Outputs {
		for _, file := range o.Files {
			shown = append(shown, Output{
				Node: o.Node, Class: o.Class, Name: file.Filename, Kind: jobio.OutputType(file), Size: file.Size, Asset: file.Asset,
			})
		}
		if len(o.Files) > 0 {
			continue
		}
		var ui struct{ Text []any }
		if json.Unmarshal(o.UI, &ui) != nil {
			continue
		}
		for _, text := range ui.Text {
			if text, ok := text.(string); ok {
				shown = append(shown, Output{Node: o.Node, Class: o.Class, Kind: "text", Text: text})
			}
		}
	}
	return shown
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func (s *Surface) cancel(c *gin.Context, id page.Visitor, j job.Job) (string, error) {
	request, err := cancellation(c, id, j.ID)
	if err != nil {
		return "", err
	}
	stopped, err := s.Jobs.CancelAs(c.Request.Context(), request)
	if err != nil {
		return "", err
	}
	notice := "canceling"
	if len(stopped) == 0 {
		notice = "over"
	}
	return "/jobs/" + string(j.PublicID()) + "?notice=" + notice, nil
}

// LogHistories reads histories from the log.
type LogHistories struct {
	Events eventlog.Store
	Types  *eventlog.Registry
}

// historyLimit is the maximum number of events that a page reads. The largest graph records about ten thousand.
const historyLimit = 20_000

// History returns the history of an account's job. Unknown jobs and jobs of other accounts are NotFound.
func (h LogHistories) History(ctx context.Context, owner string, id job.ID) (inspect.History, error) {
	recorded, err := h.Events.ReadStream(ctx, id.Stream(), 0, historyLimit)
	if err != nil {
		return inspect.History{}, err
	}
	if len(recorded) == 0 || recorded[0].Account != owner {
		return inspect.History{}, noJob()
	}
	return inspect.Read(h.Types, recorded)
}

// refusal returns the message for clients of a refused graph or request. ok is false for an internal failure.
func refusal(err error) (message string, ok bool) {
	var known *fault.Error
	var refused *graph.PromptError
	switch {
	case errors.As(err, &refused):
		return refused.Message, true
	case errors.As(err, &known) && known.Kind != fault.Internal && known.Kind != fault.Unavailable:
		return known.Message, true
	}
	return "", false
}
