package jobindex

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Query selects jobs. Empty fields select all.
type Query struct {
	Account  string // "" = every account
	States   []job.State
	Class    string
	Model    string
	Server   string
	Code     string // of the failure
	Cause    string // of the failure, as Group has it
	Metadata map[string]string
	Text     string // all of its words, as prefixes
	Since    time.Time
	Until    time.Time
	Before   int64 // Page.Next of the page before; 0 = from the newest
	Limit    int
}

// Page is a part of a listing.
type Page struct {
	Jobs []job.Job
	Next int64 // Query.Before of the next page; 0 = this is the last
}

// Description contains the indexed properties of a job.
type Description struct {
	Title                    string
	Classes, Models, Servers []string
}

// Group contains the failures of one cause.
type Group struct {
	Code, Class, Cause string
	Count              int64
	Last               job.PublicID // the newest job with this failure
	LastAt             time.Time
	Account            string // of that job
}

// Reader reads the view, which may lag behind the log.
type Reader struct{ pool *pgxpool.Pool }

// NewReader returns a reader of the view in pool's database.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// Find returns the jobs that q selects, newest first.
func (r *Reader) Find(ctx context.Context, q Query) (Page, error) {
	if prefixes(q.Text) == "" {
		return r.find(ctx, q, restriction{})
	}
	if q.Until.IsZero() {
		page, err := r.find(ctx, q, restriction{newest: true})
		if err != nil || page.Next > 0 {
			return page, err
		}
	}
	ids, few, err := r.withWords(ctx, q)
	if err != nil {
		return Page{}, postgres.Classify(err, "find jobs by their words")
	}
	if few && len(ids) == 0 {
		return Page{}, nil
	}
	return r.find(ctx, q, restriction{ids: ids, listed: few})
}

// restriction restricts the jobs that a query reads. Its zero value restricts nothing.
type restriction struct {
	newest bool     // only the newest jobs: they fill the page of a query for common words
	listed bool     // only the jobs in ids
	ids    []job.ID // set if listed
}

// find returns a page of the jobs that q selects.
func (r *Reader) find(ctx context.Context, q Query, of restriction) (Page, error) {
	sql, args, err := q.sql(of)
	if err != nil {
		return Page{}, err
	}
	var page Page
	more := false
	err = postgres.Each(ctx, r.pool, "find jobs", func(row pgx.CollectableRow) error {
		var submitted int64
		var j job.Job
		if more = len(page.Jobs) == q.Limit; more {
			return nil
		}
		err := row.Scan(&submitted, &j)
		page.Jobs, page.Next = append(page.Jobs, j), submitted
		return err
	}, sql, args...)
	if !more {
		page.Next = 0
	}
	return page, err
}

// maxListed is the number of jobs up to which the ids of all jobs with the words of a query are read first.
const maxListed = 2000

// withWords returns the ids of the jobs that have the words of q. If there are more than maxListed, few is false. The
// planner of PostgreSQL cannot estimate how rare a prefix is: to find a word that no job has, it would read all jobs of
// the account, newest first. This query forces the index of words.
func (r *Reader) withWords(ctx context.Context, q Query) (ids []job.ID, few bool, err error) {
	batch := &pgx.Batch{}
	batch.Queue(`set local enable_seqscan = off`)
	batch.Queue(`set local enable_indexscan = off`)
	postgres.CollectInto(batch.Queue(`select id from `+Name+` where words @@ to_tsquery('simple', $1) and ($2 = '' or account = $2) limit $3`,
		prefixes(q.Text), q.Account, maxListed+1), &ids, pgx.RowTo[job.ID])
	err = postgres.Snapshot(ctx, r.pool, func(tx pgx.Tx) error { return tx.SendBatch(ctx, batch).Close() })
	if err != nil || len(ids) > maxListed {
		return nil, false, err
	}
	return ids, true, nil
}

// newestOf selects the newest jobs of an account, or of all, before a position.
const newestOf = `(select * from ` + Name + ` where %s order by submitted desc limit %d)`

// sql returns the query of a page. It reads one job more than fits on the page, to learn whether there is another page.
// The order is that of the table with most of the conditions, so that an index of that table yields the newest jobs.
func (q Query) sql(of restriction) (string, []any, error) {
	var args []any
	by := "i"
	if len(q.States) > 0 || len(q.Metadata) > 0 {
		by = "j"
	}
	index := Name
	if of.newest {
		before := int64(math.MaxInt64)
		if q.Before > 0 {
			before = q.Before
		}
		args = append(args, before)
		where := "submitted < $1"
		if q.Account != "" {
			args = append(args, q.Account)
			where += " and account = $2"
		}
		index = fmt.Sprintf(newestOf, where, maxListed)
	}
	sql := `select j.submitted, j.job from ` + jobs.Name + ` j join ` + index + ` i on i.id = j.id where true`
	and := func(condition string, v any) {
		args = append(args, v)
		sql += " and " + strings.ReplaceAll(condition, "?", fmt.Sprintf("$%d", len(args)))
	}
	for _, c := range []struct{ condition, value string }{
		{by + ".account = ?", q.Account},
		{"i.classes @> array[?]", q.Class},
		{"i.models @> array[?]", q.Model},
		{"i.servers @> array[?]", q.Server},
		{"i.code = ?", q.Code},
		{"i.cause = ?", q.Cause},
	} {
		if c.value != "" {
			and(c.condition, c.value)
		}
	}
	if of.listed {
		and("j.id = any(?)", of.ids)
	} else if words := prefixes(q.Text); words != "" {
		and("i.words @@ to_tsquery('simple', ?)", words)
	}
	if q.Code != "" || q.Cause != "" { // the index may be ahead of the view
		sql += " and j.state = 'failed'"
	}
	switch len(q.States) {
	case 0:
	case 1: // the index of states is ordered within one state
		and("j.state = ?", q.States[0])
	default:
		and("j.state = any(?)", q.States)
	}
	if len(q.Metadata) > 0 {
		raw, err := json.Marshal(q.Metadata)
		if err != nil {
			return "", nil, err
		}
		and("j.metadata @> ?::jsonb", json.RawMessage(raw))
	}
	if !q.Since.IsZero() {
		and("j.created_at >= ? and "+by+".submitted >= "+fmt.Sprintf(firstSince, jobs.Name), q.Since)
	}
	if !q.Until.IsZero() {
		and("j.created_at < ? and "+by+".submitted <= "+fmt.Sprintf(lastUntil, jobs.Name), q.Until)
	}
	if q.Before > 0 {
		and(by+".submitted < ?", q.Before)
	}
	args = append(args, q.Limit+1)
	return sql + fmt.Sprintf(" order by "+by+".submitted desc limit $%d", len(args)), args, nil
}

// Bounds of the positions of jobs that were created since or until a time. With them, a query can use the index of
// positions. The order of positions is that of the times up to a minute, because the clocks of machines differ.
const (
	firstSince = `coalesce((select submitted from %s where created_at >= ?::timestamptz - interval '1 minute' order by created_at, id
		limit 1), 9223372036854775807)`
	lastUntil = `coalesce((select submitted from %s where created_at < ?::timestamptz + interval '1 minute' order by created_at desc,
		id desc limit 1), 0)`
)

// prefixes returns a query for words with the words of text as prefixes.
func prefixes(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		words[i] = w + ":*"
	}
	return strings.Join(words[:min(len(words), 10)], " & ")
}

// Descriptions returns the indexed properties of some jobs, by their ids. Jobs that the view has not folded yet are left
// out.
func (r *Reader) Descriptions(ctx context.Context, ids []job.ID) (map[job.ID]Description, error) {
	known := make(map[job.ID]Description, len(ids))
	if len(ids) == 0 {
		return known, nil
	}
	err := postgres.Each(ctx, r.pool, "read the index of jobs", func(row pgx.CollectableRow) error {
		var id job.ID
		var k Description
		err := row.Scan(&id, &k.Title, &k.Classes, &k.Models, &k.Servers)
		known[id] = k
		return err
	}, `select id, title, classes, models, servers from `+Name+` where id = any($1)`, ids)
	return known, err
}

// grouped is the number of the newest failures that are grouped.
const grouped = 1000

// Failures returns the newest failures of jobs that were created since a time (accurate to a minute), at most 1,000,
// in groups of one cause, the largest group first. A failure that the view of jobs has not folded yet does not count: Find
// does not list it either.
func (r *Reader) Failures(ctx context.Context, account string, since time.Time) ([]Group, error) {
	args, of := []any{since}, ""
	if account != "" {
		args, of = append(args, account), " and i.account = $2"
	}
	return postgres.Collect(ctx, r.pool, "group failures", func(row pgx.CollectableRow) (Group, error) {
		var g Group
		var j job.Job
		err := row.Scan(&g.Code, &g.Class, &g.Cause, &g.Count, &j)
		g.Last, g.LastAt, g.Account = j.PublicID(), j.SubmittedAt, j.Account
		return g, err
	}, `with newest as (
			select i.code, i.class, i.cause, i.submitted, i.id from (
				select * from `+Name+` i where i.code <> ''`+of+` and i.submitted >= `+
		strings.ReplaceAll(fmt.Sprintf(firstSince, jobs.Name), "?", "$1")+`
				order by i.submitted desc limit `+fmt.Sprint(grouped)+`) i join `+jobs.Name+` j on j.id = i.id and j.state = 'failed'),
		counted as (select code, class, cause, count(*) as n, max(submitted) as last from newest group by 1, 2, 3)
		select c.code, c.class, c.cause, c.n, j.job from counted c join newest n on n.submitted = c.last join `+jobs.Name+` j on j.id = n.id
		order by c.n desc, c.last desc limit 100`, args...)
}
