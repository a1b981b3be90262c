package assets

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// LabelQuery selects labels of an account's files.
type LabelQuery struct {
	Prefix string
	ByName bool // sort by name instead of the most frequent first
	Offset int
	Limit  int
}

// LabelCount is a label and the number of files that have it, including files that expired since the last sweep.
type LabelCount struct {
	Label string
	Count int64
}

func (q LabelQuery) compare(a, b LabelCount) int {
	if q.ByName {
		return strings.Compare(a.Label, b.Label)
	}
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Label, b.Label))
}

// Labels returns a page of an account's labels, and the number of labels, counted up to MaxTotal. more reports
// whether others follow.
func (r *Reader) Labels(ctx context.Context, account string, q LabelQuery) (page []LabelCount, total int64, more bool, err error) {
	err = r.readBounded(ctx, "list the labels of assets", func(tx pgx.Tx) error {
		moved, err := r.changedLabels(ctx, tx, account)
		if err != nil {
			return err
		}
		labels := make([]string, 0, len(moved))
		var fresh []LabelCount
		for label, n := range moved {
			labels = append(labels, label)
			if n > 0 && strings.HasPrefix(label, q.Prefix) {
				fresh = append(fresh, LabelCount{label, n})
			}
		}
		slices.Sort(labels)
		page, more, err = q.read(ctx, tx, account, labels, fresh)
		if err != nil {
			return err
		}
		total, err = q.count(ctx, tx, account, labels)
		total = max(total+int64(len(fresh)), int64(q.Offset+len(page)))
		return err
	})
	return page, total, more, err
}

// changedLabels returns the current counts of the labels that unfolded events change.
func (r *Reader) changedLabels(ctx context.Context, tx pgx.Tx, account string) (map[string]int64, error) {
	s := snapshot{account: account}
	var err error
	if s.fresh, err = r.fresh(ctx, tx, account); err != nil {
		return nil, err
	}
	moves := s.moves()
	delete(moves, everything)
	if len(moves) == 0 {
		return nil, nil
	}
	labels := make([]string, 0, len(moves))
	for label := range moves {
		labels = append(labels, label)
	}
	counts, err := readCounts(ctx, tx, account, labels)
	for label := range moves {
		moves[label] += counts[label]
	}
	return moves, err
}

// where selects the labels of the account except the moved ones.
func (q LabelQuery) where(b *postgres.Binder, moved []string) string {
	sql := ` from ` + countTable + ` where account = $1 and label <> '' and label <> all(` + b.Bind(moved) + `)`
	if q.Prefix != "" { // the labels with the prefix, in byte order
		sql += ` and label >= ` + b.Bind(q.Prefix) + ` and label < ` + b.Bind(q.Prefix+"\U0010FFFF")
	}
	return sql
}

// read returns a page of the stored labels merged with the moved ones, as page does for assets.
func (q LabelQuery) read(ctx context.Context, tx pgx.Tx, account string, moved []string, fresh []LabelCount) ([]LabelCount, bool, error) {
	skip := max(0, q.Offset-len(fresh))
	b := &postgres.Binder{Args: []any{account}}
	order := `count desc, label`
	if q.ByName {
		order = `label`
	}
	sql := `select label, count` + q.where(b, moved) + fmt.Sprintf(` order by %s limit %d offset %d`, order, q.Offset-skip+q.Limit+1, skip)
	rows, err := postgres.Collect(ctx, tx, "list the labels of assets", pgx.RowToStructByPos[LabelCount], sql, b.Args...)
	if err != nil {
		return nil, false, err
	}
	rows = append(rows, fresh...)
	slices.SortFunc(rows, q.compare)
	rows = rows[min(q.Offset-skip, len(rows)):]
	return rows[:min(q.Limit, len(rows))], len(rows) > q.Limit, nil
}

func (q LabelQuery) count(ctx context.Context, tx pgx.Tx, account string, moved []string) (n int64, err error) {
	b := &postgres.Binder{Args: []any{account}}
	sql := `select count(*) from (select 1` + q.where(b, moved) + fmt.Sprintf(` limit %d) as labels`, MaxTotal)
	err = tx.QueryRow(ctx, sql, b.Args...).Scan(&n)
	return n, err
}

const (
	// MaxRefined bounds the files whose labels are counted one by one, newest first.
	MaxRefined = 20_000
	// maxRefinedLabels bounds the different labels of these files.
	maxRefinedLabels = 10_000
)

// Refine counts the labels of the files that a filter selects, and returns the most frequent ones. Without a filter
// all files count, otherwise the newest MaxRefined of the selected ones.
func (r *Reader) Refine(ctx context.Context, account string, f Filter, limit int) ([]LabelCount, error) {
	if f.onlyLabels() && len(f.All) == 0 && len(f.Any) == 0 && len(f.None) == 0 {
		page, _, _, err := r.Labels(ctx, account, LabelQuery{Limit: limit})
		return page, err
	}
	var found []LabelCount
	err := r.readBounded(ctx, "count the labels of assets", func(tx pgx.Tx) error {
		s, err := r.snapshot(ctx, tx, account, f)
		if err != nil || s.empty {
			return err
		}
		found, err = s.countLabels(ctx, tx, limit)
		return err
	})
	return found, err
}

func (s *snapshot) countLabels(ctx context.Context, tx pgx.Tx, limit int) ([]LabelCount, error) {
	newest := Browse{Filter: s.filter, Sort: ByCreation}
	sql, args, err := s.sql("labels", newest, 0, MaxRefined)
	if err != nil {
		return nil, err
	}
	counts, err := postgres.Map[string, int64](ctx, tx, "count the labels of assets", `select l.label, count(*) from (`+sql+`) as selected
		cross join lateral unnest(selected.labels) as l (label) group by l.label order by 2 desc, 1 limit `+fmt.Sprint(maxRefinedLabels), args...)
	if err != nil {
		return nil, err
	}
	for _, r := range s.selected(newest) {
		for _, l := range r.State.Labels() {
			counts[l]++
		}
	}
	most := make([]LabelCount, 0, len(counts))
	for l, n := range counts {
		most = append(most, LabelCount{l, n})
	}
	slices.SortFunc(most, LabelQuery{}.compare)
	return most[:min(limit, len(most))], nil
}
