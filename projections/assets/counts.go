package assets

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/folded"
)

// snapshot is what a listing reads before its rows: the assets that the view has not folded yet, the number of
// assets of each label in the filter, and the filter simplified by these numbers.
type snapshot struct {
	account string
	now     time.Time
	fresh   folded.Fresh[asset.Asset] // assets with events that the view has not folded yet
	counts  map[string]int64          // of assets, per label of the filter and in total
	filter  Filter
	empty   bool // nothing can match
}

// snapshot reads the snapshot for a filter.
func (r *Reader) snapshot(ctx context.Context, tx pgx.Tx, account string, f Filter) (*snapshot, error) {
	s := &snapshot{account: account, now: r.now(), filter: f}
	var err error
	if s.fresh, err = r.fresh(ctx, tx, account); err != nil {
		return nil, err
	}
	labels := slices.Concat([]string{everything}, f.All, f.Any, f.None)
	if s.counts, err = readCounts(ctx, tx, account, labels); err != nil {
		return nil, err
	}
	for label, n := range s.moves() {
		if slices.Contains(labels, label) {
			s.counts[label] += n
		}
	}
	s.simplify()
	return s, nil
}

func readCounts(ctx context.Context, tx pgx.Tx, account string, labels []string) (map[string]int64, error) {
	return postgres.Map[string, int64](ctx, tx, "count assets by label",
		`select label, count from `+countTable+` where account = $1 and label = any($2)`, account, labels)
}

// moves returns the changes of the label counts by events that are not folded yet.
func (s *snapshot) moves() map[string]int64 {
	moves := map[string]int64{}
	d := difference{counts: map[[2]string]int64{}}
	for _, after := range s.fresh.Rows {
		d.compare(s.fresh.Before[after.ID], after)
	}
	for key, n := range d.counts {
		if n != 0 {
			moves[key[1]] = n
		}
	}
	return moves
}

// simplify removes labels that no asset has from the filter: they select or exclude nothing.
func (s *snapshot) simplify() {
	f := &s.filter
	present := func(labels []string) []string {
		return slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return s.counts[l] <= 0 })
	}
	some := len(f.Any) > 0
	f.Any, f.None = present(f.Any), present(f.None)
	slices.Sort(f.Any)
	f.Any = slices.Compact(f.Any)
	f.All = slices.Clone(f.All)
	slices.Sort(f.All)
	f.All = slices.Compact(f.All)
	s.empty = len(present(f.All)) < len(f.All) || some && len(f.Any) == 0 ||
		slices.ContainsFunc(f.All, func(l string) bool { return slices.Contains(f.None, l) })
	switch {
	case slices.ContainsFunc(f.Any, func(l string) bool { return slices.Contains(f.All, l) }):
		f.Any = nil
	case len(f.Any) == 1:
		f.All, f.Any = append(f.All, f.Any[0]), nil
	}
}

// selected returns the assets in fresh that the listing selects.
func (s *snapshot) selected(q Browse) []row {
	var rows []row
	for _, r := range s.fresh.Rows {
		if readable(r.State, s.now) && q.matches(r.State) && (q.After == nil || q.comparePlaces(*q.After, q.place(r)) < 0) {
			rows = append(rows, r)
		}
	}
	return rows
}

// rarest returns the label of All that the fewest assets have, or "" if there is none.
func (s *snapshot) rarest() string {
	if len(s.filter.All) == 0 || !s.filter.Hash.IsZero() {
		return ""
	}
	return slices.MinFunc(s.filter.All, func(a, b string) int { return int(min(max(s.counts[a]-s.counts[b], -1), 1)) })
}

// upperBound returns an upper bound of the number of assets with a label of Any.
func (s *snapshot) upperBound() (n int64) {
	for _, l := range s.filter.Any {
		n += s.counts[l]
	}
	return n
}

// rowOf joins a list l with the rows v by one look-up for each listed asset. offset 0 keeps the planner from reading
// the rows in their own order instead.
const rowOf = `cross join lateral (select v.* from ` + Name + ` v where v.id = l.id offset 0) v`

// sql returns the query that reads a column of the rows of the view, with their age, in the order of q. It uses the
// list of the rarest label, or the index of the order.
func (s *snapshot) sql(column string, q Browse, skip, limit int) (string, []any, error) {
	b := &postgres.Binder{Args: []any{s.account}}
	lead := s.rarest()
	if q.Sort != ByCreation && s.counts[lead] > maxSorted {
		lead = ""
	}
	window := fmt.Sprintf(" limit %d offset %d", bucket(skip, limit), skip)
	if lead == "" && len(s.filter.Any) > 0 && s.filter.Hash.IsZero() && (q.Sort == ByCreation || s.upperBound() <= maxSorted) {
		return s.ofAny(column, q, b, skip, limit, window)
	}
	age, from := "v.created", Name+` v`
	if lead != "" {
		from, age = labelTable+` l `+rowOf, "l.created"
	}
	where, err := s.filter.sql(b, s.now, s.fresh.IDs, lead)
	if err != nil {
		return "", nil, err
	}
	if lead != "" {
		where += ` and l.account = $1 and l.label = ` + b.Bind(lead)
	}
	if len(s.filter.Any) > 0 {
		where += ` and v.labels && ` + b.Bind(s.filter.Any) + `::text[]`
	}
	behind, order := q.keys(b, age)
	return `select v.created, v.` + column + ` from ` + from + ` where` + where + behind + ` order by ` + order + window, b.Args, nil
}

// ofAny returns the query for the assets that have at least one label of Any, without duplicates. Sorted by age, it
// reads one page per label; in other orders it reads all of them, which are few.
func (s *snapshot) ofAny(column string, q Browse, b *postgres.Binder, skip, limit int, window string) (string, []any, error) {
	where, err := s.filter.sql(b, s.now, s.fresh.IDs, "")
	if err != nil {
		return "", nil, err
	}
	labels := b.Bind(s.filter.Any)
	if q.Sort != ByCreation {
		behind, order := q.keys(b, "v.created")
		return `select v.created, v.` + column + ` from (select distinct id from ` + labelTable + ` where account = $1 and label = any(` +
			labels + `)) l ` +
			rowOf + ` where` + where + behind + ` order by ` + order + window, b.Args, nil
	}
	behind, order := q.keys(b, "l.created")
	_, way := q.direction()
	each := fmt.Sprintf(" limit %d", skip+bucket(skip, limit))
	return `select created, ` + column + ` from (select distinct on (x.created) x.* from unnest(` + labels + `::text[]) as u (label)
		cross join lateral (select v.created, v.` + column + ` from ` + labelTable + ` l ` + rowOf + ` where` + where +
		` and l.account = $1 and l.label = u.label` + behind + ` order by ` + order + each + `) x
		order by x.created ` + way + `) y order by created ` + way + window, b.Args, nil
}

// bucket rounds the limit of a first page up to one of a few numbers, because each number is a different statement.
func bucket(skip, limit int) int {
	for _, n := range []int{DefaultLimit + 1, 101, MaxLimit + 1} {
		if skip == 0 && limit <= n {
			return n
		}
	}
	return limit
}

// total returns the number of assets that the filter selects; see Found.
func (r *Reader) total(ctx context.Context, tx pgx.Tx, s *snapshot, q Browse, page Found) (int64, error) {
	if n, counted := s.counted(); counted {
		ended, err := s.ended(ctx, tx)
		return max(n-ended, int64(len(page.Assets))), err
	}
	seen := int64(q.Offset + len(page.Assets))
	if page.Next == nil && q.After == nil && (q.Offset == 0 || len(page.Assets) > 0) {
		return seen, nil
	}
	if page.Next != nil {
		seen++
	}
	var n int64
	err := postgres.Savepoint(ctx, tx, func(tx pgx.Tx) error { // a count that takes too long does not fail the page
		sql, args, err := s.sql("id", Browse{Filter: q.Filter, Sort: ByCreation}, 0, MaxTotal)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `select count(*) from (`+sql+`) as selected`, args...).Scan(&n)
	})
	if tookTooLong(err) && ctx.Err() == nil {
		return seen, nil
	}
	n += int64(len(s.selected(Browse{Filter: q.Filter, Sort: ByCreation})))
	return max(min(n, MaxTotal), seen), err
}

// counted returns the number of assets that the filter selects, if the label counts determine it.
func (s *snapshot) counted() (int64, bool) {
	f := s.filter
	switch {
	case !f.onlyLabels() || len(f.None) > 0:
		return 0, false
	case len(f.All) == 0 && len(f.Any) == 0:
		return s.counts[everything], true
	case len(f.All) == 1 && len(f.Any) == 0:
		return s.counts[f.All[0]], true
	case len(f.All) == 0 && !slices.ContainsFunc(f.Any, func(l string) bool { return !asset.IsPlaceLabel(l) }):
		return s.upperBound(), true // each file has exactly one place label
	}
	return 0, false
}

// ended returns the number of assets in the label counts whose deadline has passed.
func (s *snapshot) ended(ctx context.Context, tx pgx.Tx) (int64, error) {
	b := &postgres.Binder{Args: []any{s.account}}
	sql := `select count(*) from ` + Name + ` v where v.account = $1 and v.state in ('live', 'rejected') and v.expires_at <= ` +
		b.Bind(s.now) + ` and v.id <> all(` + b.Bind(s.fresh.IDs) + `)`
	if labels := slices.Concat(s.filter.All, s.filter.Any); len(labels) > 0 {
		sql += ` and v.labels && ` + b.Bind(labels) + `::text[]`
	}
	var n int64
	if err := tx.QueryRow(ctx, sql, b.Args...).Scan(&n); err != nil {
		return 0, err
	}
	for _, r := range s.fresh.Rows {
		if !r.State.State.Gone() && !readable(r.State, s.now) && s.filter.matches(r.State) {
			n++
		}
	}
	return n, nil
}
