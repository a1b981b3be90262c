package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/web/console"
)

func (s *Surface) job(c *gin.Context, id page.Visitor) (console.Page, error) {
	found, err := s.find(c, id)
	if err != nil {
		return nil, err
	}
	history, err := s.Histories.History(c.Request.Context(), id.Account, found.ID)
	if err != nil {
		return nil, err
	}
	shown := &console.JobPage{Versions: int64(len(history.Events)), CanRetry: s.Retry != nil && id.Allows(account.ScopeWrite), Notice: notices[c.Query("notice")]}
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
	shown.Job, shown.Timeline, shown.Drawing, shown.Events, shown.Outputs, shown.Parts = j, timeline, drawing, history.Events, outputs(j), console.Parts(timeline)
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
	shown.Title, shown.Live, shown.Scripts = "Job "+string(j.PublicID()), shown.At == 0 && shown.Compared == nil, []string{"graph.js"}
	return shown, nil
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
	return fmt.Sprintf("Waits for a server, place %d: %s", w.Place, w.Reason)
}

// notices are the messages that a redirect after an action may show. Other values in the query are ignored.
var notices = map[string]string{
	"canceling": "The job was asked to stop.",
	"over":      "The job had ended before it could be canceled.",
	"again":     "This is the new run.",
}

// find returns the job of the visitor's account that the path names.
func (s *Surface) find(c *gin.Context, id page.Visitor) (job.Job, error) {
	public, err := job.ParsePublicID(c.Param("id"))
	if err != nil {
		return job.Job{}, noJob()
	}
	j, err := s.Reader.ByPublicID(c.Request.Context(), id.Account, public)
	if fault.Is(err, fault.NotFound) {
		err = noJob()
	}
	return j, err
}

func noJob() error { return fault.New(fault.NotFound, fault.CodeJobNotFound, "There is no such job.") }

// drawing returns the layout of the submitted graph, and names the classes of the timeline's nodes. It is empty when
// the submission is no longer stored.
func (s *Surface) drawing(ctx context.Context, owner string, id job.ID, t *inspect.Timeline) (console.Drawing, *graph.Graph, error) {
	source, err := s.Sources.Load(ctx, owner, id)
	if fault.Is(err, fault.NotFound) {
		return console.Drawing{}, nil, nil
	}
	if err != nil {
		return console.Drawing{}, nil, err
	}
	g, err := graph.Parse(source.Prompt, acceptedLimits)
	if err != nil {
		return console.Drawing{}, nil, err
	}
	if err := t.NameClasses(&source); err != nil {
		return console.Drawing{}, nil, err
	}
	return console.Draw(g, *t), g, nil
}

// outputs are the files and texts of a job, in order.
func outputs(j job.Job) []console.Output {
	var shown []console.Output
	for _, o := range j.Outputs {
		for _, file := range o.Files {
			shown = append(shown, console.Output{
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
				shown = append(shown, console.Output{Node: o.Node, Class: o.Class, Kind: "text", Text: text})
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

func (s *Surface) cancel(c *gin.Context, id page.Visitor) (string, error) {
	j, err := s.find(c, id)
	if err != nil {
		return "", err
	}
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

// LogHistories reads histories from the log. It implements Histories.
type LogHistories struct {
	Events eventlog.Store
	Types  *eventlog.Registry
}

// historyLimit is the maximum number of events that a page reads. The largest graph records about ten thousand.
const historyLimit = 20_000

// History implements Histories.
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
