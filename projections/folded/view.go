// Package folded is what views share that have one row for each stream: the folded state of that stream. It promises that the
// projection and every reader fold with the same function, so that a reader completes from the log what the view lacks, and its
// answer is the one that the view will give. Which further columns and indexes a view has, and what a listing selects, is left to
// the packages of the views.
package folded

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Kind describes a view of states S.
type Kind[S any] struct {
	Name    string // the table and its checkpoint, with the version of the fold
	Noun    string // "job": the streams are job-<id>, the table job_public_ids has the public ids, and the column job the state
	First   string // the column with the position of a stream's first event
	Fold    func(S, eventlog.Recorded, any) S
	Of      func(S) (id string, version int64) // of a state
	Retires string                             // the type of the event that takes a row out of the view; "" = none does
}

// Row is a row of a view. The zero Row is that of a stream of which nothing is folded.
type Row[S any] struct {
	State   S
	ID      string
	Version int64 // of the stream, folded so far
	First   int64 // position of the stream's first event: age, and order of listings
	Size    int   // bytes of the stored state
	Gone    bool  // the view has no row of this stream any more
}

// View folds and reads the rows of a kind.
type View[S any] struct {
	Kind[S]
	types                                *eventlog.Registry
	rowsOf, rowsOwned, one, behind, tail string // statements
}

// New returns the view; types knows the events of its streams.
func New[S any](types *eventlog.Registry, k Kind[S]) *View[S] {
	named := strings.NewReplacer("NAME", k.Name, "NOUN", k.Noun, "FIRST", k.First, "START", fmt.Sprint(len(k.Noun)+2))
	return &View[S]{
		Kind: k, types: types,
		rowsOf:    named.Replace(`select FIRST, NOUN from NAME where id = any($1)`),
		rowsOwned: named.Replace(`select FIRST, NOUN from NAME where id = any($1) and account = $2`),
		one: named.Replace(`select i.id, s.version, coalesce(v.FIRST, 0), v.NOUN
			from streams s join lateral (select substr(s.id, START) as id) i on true left join NAME v on v.id = i.id
			where s.account = $1 and s.id = 'NOUN-' || `),
		behind: named.Replace(selectBehind),
		tail: eventstore.SelectEvents + named.Replace(
			` where position > $1 and position <= $1 + $2::bigint and account = $3 and stream like 'NOUN-%' order by position`),
	}
}

// IDOf returns the id of the row to which an event belongs. ok is false if the view has none.
func (v *View[S]) IDOf(rec eventlog.Recorded) (id string, ok bool) {
	return eventlog.IDOfStream[string](v.Noun+"-", rec.Stream)
}

func byID[S any](rows []Row[S]) map[string]Row[S] {
	known := make(map[string]Row[S], len(rows))
	for _, r := range rows {
		known[r.ID] = r
	}
	return known
}

// Apply folds one event into a row; one that the row has folded changes nothing. An event whose predecessor the row has not
// folded is an error, because the view would miss an event.
func (v *View[S]) Apply(r Row[S], rec eventlog.Recorded) (Row[S], error) {
	if rec.Version <= r.Version {
		return r, nil
	}
	if rec.Type == v.Retires { // earlier events may have been removed from the log
		r.Version, r.Gone = rec.Version, true
		return r, nil
	}
	if rec.Version != r.Version+1 {
		return r, fmt.Errorf("%s: event %d follows version %d", rec.Stream, rec.Version, r.Version)
	}
	data, err := v.types.DecodeKnown(rec)
	if err != nil {
		return r, err
	}
	r.State, r.Version = v.Fold(r.State, rec, data), rec.Version
	if rec.Version == 1 {
		r.ID, _ = v.IDOf(rec)
		r.First = rec.Position
	}
	return r, nil
}

// ScanRow reads a row of the position of the first event and the state.
func (v *View[S]) ScanRow(found pgx.CollectableRow) (r Row[S], err error) {
	var state []byte
	if err := found.Scan(&r.First, &state); err != nil {
		return r, err
	}
	return v.Decode(r.First, state)
}

// Decode returns the row with a stored state, or without one if the view has none.
func (v *View[S]) Decode(first int64, state []byte) (Row[S], error) {
	r := Row[S]{First: first, Size: len(state)}
	if state == nil {
		return r, nil
	}
	err := json.Unmarshal(state, &r.State)
	r.ID, r.Version = v.Of(r.State)
	return r, err
}

// Rows returns the rows that a statement selects: the positions of their first events, and their states.
func (v *View[S]) Rows(ctx context.Context, db postgres.Queryer, sql string, args ...any) ([]Row[S], error) {
	return postgres.Collect(ctx, db, "read "+v.Noun+"s", v.ScanRow, sql, args...)
}

// Read returns the row of one stream of the account, with every event that was committed before the call. ok is false if the
// view never has one. One query reads the row and the stream's version; only a row that lags behind needs a second query.
func (v *View[S]) Read(ctx context.Context, db postgres.Tx, account, id string) (r Row[S], ok bool, err error) {
	return v.read(ctx, db, v.one+`$2::text`, account, id)
}

// ReadPublic is Read by a public id. Plan: a look-up in the primary key of the public ids, then that of Read.
func (v *View[S]) ReadPublic(ctx context.Context, db postgres.Tx, account, public string) (r Row[S], ok bool, err error) {
	return v.read(ctx, db, v.one+`(select coalesce((select `+v.Noun+`_id::text from `+v.Noun+`_public_ids
		where account = $1 and public_id = $2::uuid), $2::uuid::text))`, account, public)
}

func (v *View[S]) read(ctx context.Context, db postgres.Tx, sql string, args ...any) (r Row[S], ok bool, err error) {
	var id string
	var version int64
	r, ok, err = postgres.One(ctx, db, "read one of the "+v.Noun+"s", func(row pgx.CollectableRow) (Row[S], error) {
		var first int64
		var state []byte
		if err := row.Scan(&id, &version, &first, &state); err != nil {
			return Row[S]{}, err
		}
		return v.Decode(first, state)
	}, sql, args...)
	if err == nil && ok {
		r, err = v.CatchUp(ctx, db, id, r, version)
	}
	if err != nil || !ok || r.Gone {
		return Row[S]{}, false, err
	}
	return r, true, nil
}

// CatchUp folds the events of a stream that a row has not folded, at least up to version.
func (v *View[S]) CatchUp(ctx context.Context, db postgres.Queryer, id string, r Row[S], version int64) (_ Row[S], err error) {
	for rec, err := range eventlog.ReadThrough(ctx, eventstore.StreamsOf(db), v.Noun+"-"+id, r.Version, version) {
		if err != nil {
			return r, err
		}
		if r, err = v.Apply(r, rec); err != nil {
			return r, err
		}
	}
	return r, nil
}
