// Package views lists the views of the program, and lets operators list, check, rebuild and resume them.
package views

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/audit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/projections"
)

// Service lists, checks, rebuilds and resumes views for operators.
type Service struct {
	Pool    *postgres.Pool
	Events  *eventstore.Store
	Base    string // public URL
	Session operate.Session
}

// named returns the view with a name, or all of them for "".
func named(all []projections.Projection, name string) ([]projections.Projection, error) {
	names := ""
	for i, p := range all {
		if p.Name == name {
			return all[i : i+1], nil
		}
		names += " " + p.Name
	}
	if name != "" {
		return nil, fault.New(fault.NotFound, fault.CodeViewNotFound, "view %.64q does not exist; the views are:%s", name, names)
	}
	return all, nil
}

// foldTimeout bounds the time in which one request folds a view. For a larger log, use the command line.
const foldTimeout = 15 * time.Minute

// folded runs an operation that folds the named view again. The follower that makes webhook messages is none.
func folded(ctx context.Context, view string, do func(context.Context, projections.Projection) (Result, error)) (Result, error) {
	all, err := All()
	if err != nil {
		return Result{}, err
	}
	one, err := named(all, view)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, foldTimeout)
	defer cancel()
	return do(ctx, one[0])
}

// View is the progress of a view, with its halted streams.
type View struct {
	Name     string   `json:"name"`
	Position int64    `json:"position"`
	Behind   int64    `json:"behind"`
	Halted   []Halted `json:"halted"`
}

// Halted is a stream that a view could not fold.
type Halted struct {
	Stream   string `json:"stream"`
	Position int64  `json:"position"`
	Error    string `json:"error"`
}

// Views returns the checkpoint of each view, and its halted streams.
func (v Service) Views(ctx context.Context) ([]View, error) {
	all, err := Followers(v.Base)
	if err != nil {
		return nil, err
	}
	head, err := operatestore.New(v.Pool).Head(ctx)
	if err != nil {
		return nil, err
	}
	shown := make([]View, len(all))
	for i, p := range all {
		position, err := projections.Position(ctx, v.Pool, p.Name)
		if err != nil {
			return nil, err
		}
		halted, err := projections.ListHalted(ctx, v.Pool, p.Name)
		if err != nil {
			return nil, err
		}
		shown[i] = View{Name: p.Name, Position: position, Behind: max(0, head-position), Halted: []Halted{}}
		for _, h := range halted {
			shown[i].Halted = append(shown[i].Halted, Halted{Stream: h.Stream, Position: h.Position, Error: terminal.Clean(h.Error)})
		}
	}
	return shown, nil
}

// Result is the result of a rebuild or a check of a view.
type Result struct {
	View        string                   `json:"view"`
	Position    int64                    `json:"position"`
	Rows        int64                    `json:"rows,omitempty"`   // number of compared rows
	Halted      int                      `json:"halted,omitempty"` // halted streams
	Millis      int64                    `json:"millis"`
	Differences []projections.Difference `json:"differences,omitempty"`
}

// rebuild folds a view again, replaces the live one and records the change. The event is appended even if ctx is
// canceled after the replacement.
func (v Service) rebuild(ctx context.Context, p projections.Projection, by operate.Attribution) (Result, error) {
	began := time.Now()
	done, err := projections.Rebuild(ctx, v.Pool, p, projections.RebuildOptions{Progress: v.Session.Step(p.Name, "events")})
	if err != nil {
		return Result{}, fmt.Errorf("rebuild %s: %w", p.Name, err)
	}
	err = operate.Record(context.WithoutCancel(ctx), v.Events, audit.ViewStream(p.Name), gate.All, audit.TypeViewRebuilt,
		audit.ViewRebuiltV1{Position: done.Position}, by)
	return Result{View: p.Name, Position: done.Position, Halted: len(done.Halted), Millis: time.Since(began).Milliseconds()}, err
}

// check compares a view with a new fold of its events.
func (v Service) check(ctx context.Context, p projections.Projection) (Result, error) {
	began := time.Now()
	report, err := projections.Check(ctx, v.Pool, p, projections.RebuildOptions{Progress: v.Session.Step(p.Name, "events")})
	if err != nil {
		return Result{}, fmt.Errorf("check %s: %w", p.Name, err)
	}
	return Result{
		View: p.Name, Position: report.Position, Rows: report.Rows, Millis: time.Since(began).Milliseconds(),
		Differences: report.Differences,
	}, nil
}

// describe writes the result of a rebuild or a check for people.
func (r Result) describe(out *terminal.Printer, checked bool) {
	took := (time.Duration(r.Millis) * time.Millisecond).String()
	switch {
	case !checked:
		out.Printf("%s rebuilt at position %d in %s, %d streams halted\n", r.View, r.Position, took, r.Halted)
	case len(r.Differences) == 0:
		out.Printf("%s equals its rebuild at position %d (%d rows, %s)\n", r.View, r.Position, r.Rows, took)
	}
	for _, d := range r.Differences {
		out.Printf("%s %s %s\n", d.Table, d.Kind, terminal.Clean(d.Key))
	}
}
