// Package jobindex is the view for searching jobs: by title, classes, models, servers and words, and by the cause of
// a failure. It promises that failures with one cause are one group, independently of their numbers and names. The
// view of package jobs, which queries join, contains the state and metadata of jobs.
package jobindex

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections"
)

// Name is the view, its only table and its checkpoint, with the version of its fold.
const Name = "job_index_v1"

// NewProjection returns the projection, which folds the submissions and failures of jobs into job_index_v1; registry knows their
// event types. A search may miss jobs of the last moment.
func NewProjection(registry *eventlog.Registry) projections.Projection {
	return projections.Projection{
		Name: Name, Tables: []string{Name}, Wants: wants, Linger: 250 * time.Millisecond,
		Fold: func(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
			return fold(ctx, tx, registry, batch)
		},
	}
}

func wants(e eventlog.Recorded) bool {
	switch e.Type {
	case job.TypeSubmitted, job.TypeNodeExecuted, job.TypeSegmentPlaced, job.TypeFailed, job.TypeRetired:
		return true
	}
	return false
}

// row is a row of the view; the fold keeps those of a batch in memory.
type row struct {
	id, account              string
	submitted, version       int64
	title                    string
	classes, models, servers []string
	code, class, cause, text string
	fresh, changed, retired  bool
}

func fold(ctx context.Context, tx pgx.Tx, registry *eventlog.Registry, batch []eventlog.Recorded) error {
	rows, order, err := readRows(ctx, tx, batch)
	if err != nil {
		return err
	}
	for _, rec := range batch {
		r := rows[idOf(rec)]
		if rec.Version <= r.version {
			continue
		}
		data, err := registry.DecodeKnown(rec)
		if err != nil {
			return err
		}
		r.fold(rec, data)
	}
	return store(ctx, tx, rows, order)
}

func idOf(rec eventlog.Recorded) string {
	id, _ := job.IDOfStream(rec.Stream)
	return string(id)
}

// readRows reads the rows of the jobs in a batch.
func readRows(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) (rows map[string]*row, order []string, err error) {
	rows = map[string]*row{}
	for _, rec := range batch {
		if id := idOf(rec); rows[id] == nil {
			rows[id] = &row{id: id, fresh: true}
			order = append(order, id)
		}
	}
	err = postgres.Each(ctx, tx, "read the index of jobs", func(found pgx.CollectableRow) error {
		var r row
		err := found.Scan(&r.id, &r.account, &r.submitted, &r.version, &r.classes, &r.servers)
		rows[r.id] = &r
		return err
	}, `select id, account, submitted, version, classes, servers from `+Name+` where id = any($1)`, order)
	return rows, order, err
}

// fold applies an event to a row.
func (r *row) fold(rec eventlog.Recorded, data any) {
	before := len(r.classes) + len(r.servers)
	switch e := data.(type) {
	case job.SubmittedV1:
		r.account, r.submitted = rec.Account, rec.Position
		r.describe(e)
	case job.NodeExecutedV1:
		if r.classes = with(r.classes, e.Class); len(r.classes)+len(r.servers) == before {
			return // the class is already known, or the document is a blob
		}
	case job.SegmentPlacedV1:
		if r.servers = with(r.servers, e.URL); len(r.classes)+len(r.servers) == before {
			return
		}
	case job.FailedV1:
		r.code, r.class, r.cause = clean(string(e.Failure.Code)), clean(e.Failure.Class), Cause(e.Failure)
	case job.RetiredV1:
		r.retired = true
	default:
		return
	}
	r.version, r.changed = rec.Version, true
}

// describe reads the submission in the event. A document that is a blob is not read: the events of its nodes add the
// classes.
func (r *row) describe(e job.SubmittedV1) {
	var source job.Source
	if e.Document.Inline != "" {
		_ = json.Unmarshal([]byte(e.Document.Inline), &source) // an accepted submission is JSON; otherwise the row has no words
	}
	d := describe(source)
	r.title, r.classes, r.models = clean(titleOf(d.title, e.Metadata)), d.classes, d.models
	r.text = d.text
	for _, name := range slices.Sorted(maps.Keys(e.Metadata)) {
		r.text = appendWord(r.text, e.Metadata[name])
	}
	r.text = strings.ToLower(clean(appendWord(appendWord(r.text, r.title), string(e.PublicID)))) // the database may only convert ASCII
}

// maxNames bounds the classes, models and servers of one row.
const maxNames = 200

// with adds a name to a sorted list, unless the list contains it.
func with(names []string, name string) []string {
	name = clean(name)
	at, found := slices.BinarySearch(names, name)
	if found || name == "" || len(names) >= maxNames {
		return names
	}
	return slices.Insert(slices.Clone(names), at, name)
}

const (
	insert = `insert into ` + Name + ` (id, account, submitted, version, title, classes, models, servers, code, class, cause, words)
		select r.id, r.account, r.submitted, r.version, r.title, r.classes, r.models, r.servers, r.code, r.class, r.cause,
			to_tsvector('simple', r.words)
		from json_to_recordset($1) as r (id text, account text, submitted bigint, version bigint, title text, classes text[],
			models text[], servers text[], code text, class text, cause text, words text)`
	change = `update ` + Name + ` i set version = r.version, classes = r.classes, servers = r.servers,
			code = case when r.code = '' then i.code else r.code end, class = case when r.code = '' then i.class else r.class end,
			cause = case when r.code = '' then i.cause else r.cause end
		from json_to_recordset($1) as r (id text, version bigint, classes text[], servers text[], code text, class text, cause text)
		where i.id = r.id`
)

// columns returns the row as the statements above read it.
func (r *row) columns() map[string]any {
	return map[string]any{
		"id": r.id, "account": r.account, "submitted": r.submitted, "version": r.version, "title": r.title, "classes": list(r.classes),
		"models": list(r.models), "servers": list(r.servers), "code": r.code, "class": r.class, "cause": r.cause, "words": r.text,
	}
}

// store writes the rows that changed, in one statement for each kind of change.
func store(ctx context.Context, tx pgx.Tx, rows map[string]*row, order []string) error {
	var inserted, changed []map[string]any
	var retired []string
	for _, id := range order {
		r := rows[id]
		switch {
		case !r.changed:
		case r.retired:
			retired = append(retired, id)
		case !r.fresh:
			changed = append(changed, r.columns())
		case r.account != "": // its submission was folded
			inserted = append(inserted, r.columns())
		}
	}
	batch := &pgx.Batch{}
	if len(retired) > 0 {
		batch.Queue(`delete from `+Name+` where id = any($1)`, retired)
	}
	for statement, written := range map[string][]map[string]any{insert: inserted, change: changed} {
		if len(written) > 0 {
			batch.Queue(statement, written)
		}
	}
	if batch.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("write the index of jobs: %w", err)
	}
	return nil
}

// list is never nil: the columns are not null.
func list(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}
