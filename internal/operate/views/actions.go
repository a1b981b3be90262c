package views

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/audit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/projections"
)

// Actions are what operators do to views.
var Actions = action.Group[Service]{
	Use:   "views",
	Short: "List, check and rebuild the views",
	Long: `Polls are answered from the views. A view is folded from the event log and can be folded again:
the new copy is built while the live one is in use, and replaces it at the end.`,
	Actions: []action.For[Service]{list, Rebuild, Check, foldAll, Resume},
}

var list = action.Of[Service, struct{}, []View]{
	Spec: action.Spec{
		ID: "adminViews", Route: "GET /views", Member: "views", List: true,
		Summary:  "List the views: how far each lags behind the log, and its halted streams.",
		Commands: []action.Command{{Use: "list", Short: "Show the views, with their positions and halted streams"}},
	},
	Do: func(ctx context.Context, v Service, _ struct{}, _ operate.Attribution) ([]View, error) {
		return v.Views(ctx)
	},
	Show: func(out *terminal.Printer, _ struct{}, shown []View) {
		var rows [][]terminal.Cell
		for _, v := range shown {
			style := terminal.Plain
			if len(v.Halted) > 0 {
				style = terminal.Bad
			}
			rows = append(rows, []terminal.Cell{
				{Text: v.Name},
				{Text: fmt.Sprint(v.Position), Right: true},
				{Text: fmt.Sprint(v.Behind), Right: true},
				{Text: fmt.Sprint(len(v.Halted)), Style: style},
			})
			for _, h := range v.Halted {
				rows = append(rows, []terminal.Cell{{Text: fmt.Sprintf("  %s at %d", h.Stream, h.Position), Style: terminal.Bad}},
					[]terminal.Cell{{Text: "    " + h.Error}})
			}
		}
		out.Table([]string{"VIEW", "POSITION", "BEHIND", "HALTED STREAMS"}, rows)
	},
}.Untyped()

// Named is the parameter of actions on one view.
type Named struct {
	View string `name:"view"`
}

// Rebuild folds a view again and replaces the live one.
var Rebuild = action.Of[Service, Named, Result]{
	Spec: action.Spec{
		ID: "adminRebuildView", Route: "POST /views/{view}/rebuild", Page: "/views/:view/rebuild",
		Reason: action.Required, Schema: "AdminFolded", Redact: true,
		Summary: "Rebuild a view from the log. The live view serves until the rebuilt one replaces it. " +
			"The answer comes at the end; if the client disconnects earlier, nothing is changed.",
		Commands: []action.Command{{
			Label: "Rebuild", Warning: "A new copy of the view is built from the log, which may take minutes, and then replaces the current one.",
		}},
	},
	Do: func(ctx context.Context, v Service, p Named, by operate.Attribution) (Result, error) {
		return folded(ctx, p.View, func(ctx context.Context, view projections.Projection) (Result, error) {
			return v.rebuild(ctx, view, by)
		})
	},
	Back: func(Named, Result) string { return "/views" },
}.Untyped()

// Check compares a view with a new fold of its events.
var Check = action.Of[Service, Named, Result]{
	Spec: action.Spec{
		ID: "adminCheckView", Route: "GET /views/{view}/check", Schema: "AdminFolded", Redact: true,
		Summary: "Compare a view with a rebuild from its events, byte for byte. Nothing is changed.",
	},
	Do: func(ctx context.Context, v Service, p Named, _ operate.Attribution) (Result, error) {
		return folded(ctx, p.View, v.check)
	},
}.Untyped()

// viewName is the name of a view that may be rebuilt.
type viewName string

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *viewName) UnmarshalText(text []byte) error {
	if *n = viewName(text); !Rebuildable(string(text)) || !slices.Contains(Names(), string(text)) {
		return errors.New("no view")
	}
	return nil
}

// Takes describes the values.
func (*viewName) Takes() string {
	return "a view: " + strings.Join(slices.DeleteFunc(Names(), func(n string) bool { return !Rebuildable(n) }), ", ")
}

type foldParams struct {
	View  viewName `name:"view" arg:"[NAME]"`
	Check bool     `name:"check" help:"compare only; replace nothing"`
}

// foldAll rebuilds or checks one view or all, each after the other, also if one fails.
var foldAll = action.Of[Service, foldParams, []Result]{
	Spec: action.Spec{Reason: action.Optional, Commands: []action.Command{{
		Use: "rebuild [NAME]", Short: "Fold a view again from the log, or all of them",
		Long: `Fold one view, or all of them, again from the start of the log. The live view stays in
use until the new one replaces it at the same position. An interrupted rebuild changes
nothing.

With --check, no view is replaced: the rebuilt rows are compared with the live ones, byte
for byte at the same position. The exit code is 1 if they differ.`,
		Example: "  millrace views rebuild\n  millrace views rebuild jobs_v1 --check",
	}}},
	Do: func(ctx context.Context, v Service, p foldParams, by operate.Attribution) ([]Result, error) {
		all, err := All()
		if err != nil {
			return nil, err
		}
		chosen, err := named(all, string(p.View))
		if err != nil {
			return nil, err
		}
		done, problems := []Result{}, []error{}
		for _, view := range chosen {
			do := func() (Result, error) { return v.rebuild(ctx, view, by) }
			if p.Check {
				do = func() (Result, error) { return v.check(ctx, view) }
			}
			one, err := do()
			if problems = append(problems, err); one.View != "" {
				done = append(done, one)
			}
		}
		return done, action.AfterSome(errors.Join(problems...))
	},
	Show: func(out *terminal.Printer, p foldParams, all []Result) {
		for _, one := range all {
			one.describe(out, p.Check)
		}
	},
	Fail: func(_ foldParams, all []Result) error {
		var problems []error
		for _, one := range all {
			if len(one.Differences) > 0 {
				problems = append(problems, fmt.Errorf("view %s differs from its rebuild at position %d; `millrace views rebuild %s` replaces it",
					one.View, one.Position, one.View))
			}
		}
		return errors.Join(problems...)
	},
}.Untyped()

type resumeParams struct {
	View   string `name:"view" arg:"VIEW"`
	Stream string `name:"stream" arg:"STREAM"`
}

// Resume makes a view continue with a halted stream.
var Resume = action.Of[Service, resumeParams, struct{}]{
	Spec: action.Spec{
		ID: "adminResume", Route: "POST /views/{view}/streams/{stream}/resume", Summary: "Fold a halted stream again.",
		Page: "/views/:view/resume", Reason: action.Optional, Status: 204,
		Commands: []action.Command{{
			Use: "resume VIEW STREAM", Short: "Fold a halted stream again, after its cause was repaired",
			Long:  "Fold the remaining events of a halted stream. The change is recorded with its actor and reason.",
			Label: "Resume", Warning: "The view continues with this stream. If the cause of the failure remains, it halts again.",
		}},
	},
	Do: func(ctx context.Context, v Service, p resumeParams, by operate.Attribution) (struct{}, error) {
		all, err := Followers(v.Base)
		if err != nil {
			return struct{}{}, err
		}
		one, err := named(all, p.View)
		if err != nil {
			return struct{}{}, err
		}
		if err := projections.Resume(ctx, v.Pool, one[0], p.Stream); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, operate.Record(ctx, v.Events, audit.ViewStream(p.View), gate.All, audit.TypeStreamResumed,
			audit.StreamResumedV1{Stream: p.Stream}, by)
	},
	Show: func(out *terminal.Printer, p resumeParams, _ struct{}) {
		out.Printf("%s continues with %s\n", p.View, p.Stream)
	},
	Back: func(resumeParams, struct{}) string { return "/views" },
	JSON: action.Done[struct{}],
}.Untyped()
