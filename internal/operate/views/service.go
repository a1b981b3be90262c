// Package views lists the views of the program, and implements the operators' commands on them.
package views

import (
	"context"
	"fmt"
	"io"
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
	Pool   *postgres.Pool
	Events *eventstore.Store
	Base   string // public URL
}

// Views implements admin.Views.
func (v Service) Views(ctx context.Context) ([]View, error) {
	all, err := Followers(v.Base)
	if err != nil {
		return nil, err
	}
	return Status(ctx, v.Pool, all)
}

// Resume implements admin.Views.
func (v Service) Resume(ctx context.Context, view, stream string, by operate.Attribution) error {
	all, err := Followers(v.Base)
	if err != nil {
		return err
	}
	p, err := viewNamed(all, view)
	if err != nil {
		return err
	}
	return v.ResumeStream(ctx, p, stream, by)
}

func viewNamed(all []projections.Projection, name string) (projections.Projection, error) {
	for _, p := range all {
		if p.Name == name {
			return p, nil
		}
	}
	return projections.Projection{}, fault.New(fault.NotFound, fault.CodeViewNotFound, "view %.64q does not exist", name)
}

// foldTimeout bounds the time in which one request folds a view. For a larger log, use the command line.
const foldTimeout = 15 * time.Minute

// Rebuild implements admin.Views.
func (v Service) Rebuild(ctx context.Context, view string, by operate.Attribution) (any, error) {
	return v.folded(ctx, view, func(ctx context.Context, p projections.Projection) (Result, error) {
		return v.RebuildView(ctx, p, nil, by)
	})
}

// Check compares a view with a new fold of its events.
func (v Service) Check(ctx context.Context, view string) (any, error) {
	return v.folded(ctx, view, func(ctx context.Context, p projections.Projection) (Result, error) {
		return Check(ctx, v.Pool, p, nil)
	})
}

// folded runs an operation that folds the named view again. It refuses the follower that makes webhook messages.
func (v Service) folded(ctx context.Context, view string, do func(context.Context, projections.Projection) (Result, error)) (any, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	p, err := viewNamed(all, view)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, foldTimeout)
	defer cancel()
	return operate.Redacted(do(ctx, p))
}

// ResumeStream makes a view continue with a halted stream, and records the change.
func (v Service) ResumeStream(ctx context.Context, p projections.Projection, stream string, by operate.Attribution) error {
	if err := projections.Resume(ctx, v.Pool, p, stream); err != nil {
		return err
	}
	return operate.Record(ctx, v.Events, audit.ViewStream(p.Name), gate.All, audit.TypeStreamResumed, audit.StreamResumedV1{Stream: stream},
		by)
}

// Status returns the checkpoint of each view, and its halted streams.
func Status(ctx context.Context, pool *postgres.Pool, all []projections.Projection) ([]View, error) {
	head, err := operatestore.New(pool).Head(ctx)
	if err != nil {
		return nil, err
	}
	shown := make([]View, len(all))
	for i, p := range all {
		position, err := projections.Position(ctx, pool, p.Name)
		if err != nil {
			return nil, err
		}
		halted, err := projections.ListHalted(ctx, pool, p.Name)
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

// RebuildView folds a view again, replaces the live one and records the change. The event is appended even if ctx is
// canceled after the replacement.
func (v Service) RebuildView(ctx context.Context, p projections.Projection, step func(done, total int64),
	by operate.Attribution,
) (Result, error) {
	began := time.Now()
	done, err := projections.Rebuild(ctx, v.Pool, p, projections.RebuildOptions{Progress: step})
	if err != nil {
		return Result{}, fmt.Errorf("rebuild %s: %w", p.Name, err)
	}
	err = operate.Record(context.WithoutCancel(ctx), v.Events, audit.ViewStream(p.Name), gate.All, audit.TypeViewRebuilt,
		audit.ViewRebuiltV1{Position: done.Position}, by)
	return Result{View: p.Name, Position: done.Position, Halted: len(done.Halted), Millis: time.Since(began).Milliseconds()}, err
}

// Check compares a view with a new fold of its events.
func Check(ctx context.Context, pool *postgres.Pool, p projections.Projection, step func(done, total int64)) (Result, error) {
	began := time.Now()
	report, err := projections.Check(ctx, pool, p, projections.RebuildOptions{Progress: step})
	if err != nil {
		return Result{}, fmt.Errorf("check %s: %w", p.Name, err)
	}
	return Result{
		View: p.Name, Position: report.Position, Rows: report.Rows, Millis: time.Since(began).Milliseconds(),
		Differences: report.Differences,
	}, nil
}

// Describe writes the result of a rebuild or a check for people.
func (r Result) Describe(w io.Writer, checked bool) error {
	took := (time.Duration(r.Millis) * time.Millisecond).String()
	if !checked {
		_, err := fmt.Fprintf(w, "%s rebuilt at position %d in %s, %d streams halted\n", r.View, r.Position, took, r.Halted)
		return err
	}
	if len(r.Differences) == 0 {
		_, err := fmt.Fprintf(w, "%s equals its rebuild at position %d (%d rows, %s)\n", r.View, r.Position, r.Rows, took)
		return err
	}
	for _, d := range r.Differences {
		if _, err := fmt.Fprintf(w, "%s %s %s\n", d.Table, d.Kind, terminal.Clean(d.Key)); err != nil {
			return err
		}
	}
	return nil
}
