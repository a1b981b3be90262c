package records

import (
	"context"
	"strings"

	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Reader answers questions about the jobs, the calls or the assets. An id may be a prefix of one: NotFound if none
// matches, Conflict if several do.
type Reader interface {
	// State folds the events up to a version or a time; "" = all. A time before the first event, or a version after
	// the last one, is NotFound.
	State(ctx context.Context, id, at string) (Answer, error)
	// Events lists every event.
	Events(ctx context.Context, id string) (Answer, error)
	// Timeline measures the phases.
	Timeline(ctx context.Context, id string) (Answer, error)
	// Diff compares two.
	Diff(ctx context.Context, a, b string) (Answer, error)
	// Workflow lists the events beside those of the workflows in Temporal.
	Workflow(ctx context.Context, id, at string) (Answer, error)
}

// Answer is an answer for programs and for people.
type Answer struct {
	JSON any
	Body any // of the route; nil = JSON
	Show func(*terminal.Printer)
}

// Shown returns a function that makes an answer of a value, which show writes for people.
func Shown[T any](show func(*terminal.Printer, T)) func(T, error) (Answer, error) {
	return func(v T, err error) (Answer, error) {
		return Answer{JSON: v, Show: func(p *terminal.Printer) { show(p, v) }}, err
	}
}

// Beside returns a history together with the steps of its workflows.
func Beside(ctx context.Context, e histories.Engine, history any, events []inspect.Event, runs []inspect.Execution) (Answer, error) {
	beside, err := e.Beside(ctx, history, runs)
	return Answer{JSON: beside, Show: func(p *terminal.Printer) {
		report.SideBySide(p, events, beside.Workflow)
		for _, id := range beside.Forgotten {
			p.Line("Temporal has no workflow "+id+": it never began, or its retention has passed", terminal.Notice)
		}
	}}, err
}

// Texts are the words for a kind in the help of commands and in the OpenAPI document.
type Texts struct {
	Noun, A      string // job, a job
	Parts        string // of its time
	Differ       string // in what two may differ
	State        string // the summary of the route that returns its state
	Phases, Diff string // schemas of the OpenAPI document
}

type idParams struct {
	ID string `name:"id" arg:"ID" help:"An id, or its first characters, four at least, while no other begins with them."`
}

type showParams struct {
	idParams
	At       string `name:"at" help:"a version (12) or a time (2026-01-02T15:04:05Z); default: now"`
	Workflow bool   `name:"workflow" route:"-" help:"show the events together with the steps of the workflow"`
}

type diffParams struct {
	idParams
	With string `name:"with" arg:"ID" required:"true" help:"the id of the other one"`
}

// Actions returns what operators ask of one job, call or asset.
func Actions[S Reader](t Texts) []action.For[S] {
	get := func(name, path, summary, schema string, c ...action.Command) action.Spec {
		return action.Spec{
			ID: "admin" + strings.ToUpper(t.Noun[:1]) + t.Noun[1:] + name, Route: "GET /" + t.Noun + "s/{id}" + path,
			Summary: summary, Schema: schema, Redact: true, Commands: c,
		}
	}
	show := get("", "", t.State, "AdminState", action.Command{
		Use: "show ID", Short: "Show the state of " + t.A + ", now or at any version or time", Temporal: true,
		Long: "Show the state of " + t.A + `, folded from its events: now or, with --at, at a version or a time.
With --workflow, show its events together with the steps of its workflow in Temporal.`,
		Example: strings.ReplaceAll(`  millrace NOUNs show 62e89ef5 --at 7
  millrace NOUNs show 62e89ef5 --at 2026-01-02T15:04:05Z
  millrace NOUNs show 62e89ef5 --workflow`, "NOUN", t.Noun),
	})
	show.Member = t.Noun
	return []action.For[S]{
		answered(show, func(ctx context.Context, s S, p showParams) (Answer, error) {
			if p.Workflow {
				return s.Workflow(ctx, p.ID, p.At)
			}
			return s.State(ctx, p.ID, p.At)
		}),
		answered(get("Events", "/events", "List all events of "+t.A+", with their actors and causes.", "AdminHistory", action.Command{
			Use: "events ID", Short: "List every event of " + t.A + ", with time, position, actor and reason",
		}), func(ctx context.Context, s S, p idParams) (Answer, error) { return s.Events(ctx, p.ID) }),
		answered(get("Timeline", "/timeline", "Get the timeline of "+t.A+": how long it waited and ran.", t.Phases, action.Command{
			Use: "timeline ID", Short: "Show how " + t.A + " used its time: waits, " + t.Parts + ", attempts, workers",
		}), func(ctx context.Context, s S, p idParams) (Answer, error) { return s.Timeline(ctx, p.ID) }),
		answered(get("Diff", "/diff", "Compare "+t.A+" with another.", t.Diff, action.Command{
			Use: "diff ID ID", Short: "Show the differences between two " + t.Noun + "s: " + t.Differ,
		}), func(ctx context.Context, s S, p diffParams) (Answer, error) { return s.Diff(ctx, p.ID, p.With) }),
		answered(get("Workflow", "/workflow", "List the events of "+t.A+" beside those of its workflows.", "AdminBesideWorkflow"),
			func(ctx context.Context, s S, p idParams) (Answer, error) { return s.Workflow(ctx, p.ID, "") }),
	}
}

// answered returns an action whose answer shows itself.
func answered[S, P any](spec action.Spec, do func(ctx context.Context, s S, p P) (Answer, error)) action.For[S] {
	return action.Of[S, P, Answer]{
		Spec: spec,
		Do:   func(ctx context.Context, s S, p P, _ operate.Attribution) (Answer, error) { return do(ctx, s, p) },
		Show: func(out *terminal.Printer, _ P, a Answer) { a.Show(out) },
		JSON: func(a Answer) any { return a.JSON },
		Body: func(a Answer) any {
			if a.Body != nil {
				return a.Body
			}
			return a.JSON
		},
	}.Untyped()
}
