package jobs

import (
	"context"
	"errors"

	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// findAll returns the jobs whose ids begin with these texts, one job for each text.
func (t Histories) findAll(ctx context.Context, texts []string) ([]job.ID, error) {
	ids := make([]job.ID, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = FindJob(ctx, t.Pool, text); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// FindJob returns the one job whose id begins with text.
func FindJob(ctx context.Context, pool *postgres.Pool, text string) (job.ID, error) {
	stream, err := records.FindStream(ctx, pool, "job", text)
	if err != nil {
		return "", err
	}
	id, _ := job.IDOfStream(stream)
	return id, nil
}

// history reads the events of the job whose id begins with text.
func history(ctx context.Context, pool *postgres.Pool, text string) (inspect.History, error) {
	types, err := eventtypes.Registry()
	if err != nil {
		return inspect.History{}, err
	}
	id, err := FindJob(ctx, pool, text)
	if err != nil {
		return inspect.History{}, err
	}
	all, err := jobstore.Events(ctx, pool, nil, id)
	if err != nil {
		return inspect.History{}, err
	}
	if len(all) > 0 && all[0].Version > 1 {
		return inspect.History{}, fault.New(fault.NotFound, fault.CodeJobRetired, "job %s is past its retention: its events left the log", id)
	}
	return inspect.Read(types, all)
}

// Histories reads the recorded events of jobs. A job is named by its id or a prefix of its id.
type Histories struct {
	Pool *postgres.Pool
	// Blobs opens the store of archives and large submissions. It returns errNoDataDir if the store is on another
	// machine.
	Blobs func(context.Context) (blob.Store, error)
}

// History reads the events of a job. The events of a retired job come from its archive.
func (t Histories) History(ctx context.Context, text string) (inspect.History, error) {
	h, err := history(ctx, t.Pool, text)
	if fault.CodeOf(err) != fault.CodeJobRetired {
		return h, err
	}
	blobs, missing := t.Blobs(ctx)
	if missing != nil {
		return h, errors.Join(err, missing)
	}
	id, err := FindJob(ctx, t.Pool, text)
	if err != nil {
		return h, err
	}
	all, err := jobstore.Events(ctx, t.Pool, blobs, id)
	if err != nil {
		return h, err
	}
	if all[0].Version > 1 {
		return h, fault.New(fault.NotFound, fault.CodeJobErased,
			"job %s is past its retention: its events were erased, or the retention of their archive is over", id)
	}
	types, err := eventtypes.Registry()
	if err != nil {
		return h, err
	}
	return inspect.Read(types, all)
}

// at returns the history up to a version or a time; "" means now. whole is the complete history.
func (t Histories) at(ctx context.Context, text, at string) (then, whole inspect.History, err error) {
	whole, err = t.History(ctx, text)
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

// withSubmission adds the submission to a history. A large submission is a blob; if the blob store is on another machine,
// graphs are not compared.
func (t Histories) withSubmission(ctx context.Context, h inspect.History) (inspect.Side, error) {
	side := inspect.Side{History: h}
	doc, ok := h.Document()
	if !ok {
		return side, nil
	}
	var blobs blob.Store
	if doc.Blob != "" {
		var err error
		if blobs, err = t.Blobs(ctx); errors.Is(err, operate.ErrNoDataDir) {
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

// measure returns the timeline of a job.
func (t Histories) measure(ctx context.Context, text string) (inspect.Timeline, error) {
	h, err := t.History(ctx, text)
	if err != nil {
		return inspect.Timeline{}, err
	}
	now, err := operate.Now(ctx, t.Pool)
	if err != nil {
		return inspect.Timeline{}, err
	}
	line := h.Timeline(now)
	side, err := t.withSubmission(ctx, h)
	if err != nil {
		return inspect.Timeline{}, err
	}
	return line, line.NameClasses(side.Source)
}

// compare returns the differences between two jobs.
func (t Histories) compare(ctx context.Context, a, b string) (inspect.Comparison, error) {
	var sides [2]inspect.Side
	for i, text := range []string{a, b} {
		h, err := t.History(ctx, text)
		if err != nil {
			return inspect.Comparison{}, err
		}
		if sides[i], err = t.withSubmission(ctx, h); err != nil {
			return inspect.Comparison{}, err
		}
	}
	return inspect.Diff(sides[0], sides[1])
}
