package app

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// teller answers from the facts what became of jobs, for commands and the admin API alike. A job is named by its
// id or the beginning of it.
type teller struct {
	pool *pgxpool.Pool
	// blobs opens the store of archives and large submissions; errNoDataDir says that it is elsewhere.
	blobs func(context.Context) (blob.Store, error)
}

// teller is that of a command, on a machine that may not have the data directory.
func (s *shell) teller(pool *pgxpool.Pool) teller {
	return teller{pool: pool, blobs: func(ctx context.Context) (blob.Store, error) { return existingBlobs(ctx, s.cfg, pool) }}
}

// teller is that of a process of the service.
func (in *instance) teller() teller {
	return teller{pool: in.pool, blobs: func(context.Context) (blob.Store, error) { return in.blobs, nil }}
}

// history reads the facts of a job, those of a retired one from its archive.
func (t teller) history(ctx context.Context, text string) (inspect.History, error) {
	h, err := history(ctx, t.pool, text)
	if fault.CodeOf(err) != "job_retired" {
		return h, err
	}
	blobs, missing := t.blobs(ctx)
	if missing != nil {
		return h, errors.Join(err, missing)
	}
	id, err := findJob(ctx, t.pool, text)
	if err != nil {
		return h, err
	}
	all, err := postgres.Facts(ctx, t.pool, blobs, id)
	if err != nil {
		return h, err
	}
	if all[0].Version > 1 {
		return h, fault.New(fault.NotFound, "job_erased", "job %s is past its retention: its facts were erased, or the retention of their archive is over", id)
	}
	types, err := eventTypes()
	if err != nil {
		return h, err
	}
	return inspect.Read(types, all)
}

// at is history up to a version or a time; "" is now. whole is all of it.
func (t teller) at(ctx context.Context, text, at string) (then, whole inspect.History, err error) {
	whole, err = t.history(ctx, text)
	if err != nil || at == "" {
		return whole, whole, err
	}
	p, err := inspect.ParsePoint(at)
	if err != nil {
		return then, whole, err
	}
	then, err = whole.At(p)
	return then, whole, err
}

// side adds the submission to a history. A large one is a blob: where the store is elsewhere, graphs are not compared.
func (t teller) side(ctx context.Context, h inspect.History) (inspect.Side, error) {
	side := inspect.Side{History: h}
	doc, ok := h.Document()
	if !ok {
		return side, nil
	}
	var blobs blob.Store
	if doc.Blob != "" {
		var err error
		if blobs, err = t.blobs(ctx); errors.Is(err, errNoDataDir) {
			return side, nil
		} else if err != nil {
			return side, err
		}
	}
	source, err := doc.Load(ctx, blobs)
	if fault.Is(err, fault.NotFound) {
		return side, nil
	}
	if err != nil {
		return side, err
	}
	side.Source = &source
	return side, nil
}

// timeline says where the time of a job went.
func (t teller) timeline(ctx context.Context, text string) (inspect.Timeline, error) {
	h, err := t.history(ctx, text)
	if err != nil {
		return inspect.Timeline{}, err
	}
	now, err := databaseTime(ctx, t.pool)
	if err != nil {
		return inspect.Timeline{}, err
	}
	line := h.Timeline(now)
	side, err := t.side(ctx, h)
	if err != nil {
		return inspect.Timeline{}, err
	}
	return line, line.NameClasses(side.Source)
}

// diff says how two jobs differ.
func (t teller) diff(ctx context.Context, a, b string) (inspect.Comparison, error) {
	var sides [2]inspect.Side
	for i, text := range []string{a, b} {
		h, err := t.history(ctx, text)
		if err != nil {
			return inspect.Comparison{}, err
		}
		if sides[i], err = t.side(ctx, h); err != nil {
			return inspect.Comparison{}, err
		}
	}
	return inspect.Diff(sides[0], sides[1])
}
