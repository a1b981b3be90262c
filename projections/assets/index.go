package assets

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/projections/folded"
)

// Further tables of the view: the assets by the owner's tag, by label, and the number of assets of each label.
const (
	tagTable   = "assets_v1_tags"
	labelTable = "assets_v1_labels"
	countTable = "assets_v1_counts"
)

// everything is the label under which all assets of an account are counted.
const everything = ""

// entry is a row of a list by tags or labels.
type entry struct {
	account, word string
	created       int64
	id            string
}

// lists returns the tags and the labels by which an asset is listed. An asset that has ended has none.
func lists(r row) (tags, labels []string) {
	if r.Version == 0 || r.State.State.Gone() {
		return nil, nil
	}
	return r.State.Tags, r.State.Labels()
}

// difference contains the changes of a batch to the lists.
type difference struct {
	fewerTags, moreTags, fewerLabels, moreLabels []entry
	counts                                       map[[2]string]int64 // by account and label
}

// index updates the label lists.
func index(ctx context.Context, tx pgx.Tx, b folded.Batch[asset.Asset]) error {
	d := difference{counts: map[[2]string]int64{}}
	for _, id := range b.IDs {
		d.compare(b.Before[id], b.After[id])
	}
	for _, l := range []struct {
		table, column string
		fewer, more   []entry
	}{{tagTable, "tag", d.fewerTags, d.moreTags}, {labelTable, "label", d.fewerLabels, d.moreLabels}} {
		if err := write(ctx, tx, l.table, l.column, l.fewer, l.more); err != nil {
			return err
		}
	}
	return d.count(ctx, tx)
}

func (d *difference) compare(before, after row) {
	if before.Version == after.Version {
		return
	}
	hadTags, hadLabels := lists(before)
	tags, labels := lists(after)
	d.fewerTags, d.moreTags = append(d.fewerTags, only(before, hadTags, tags)...), append(d.moreTags, only(after, tags, hadTags)...)
	fewer, more := only(before, hadLabels, labels), only(after, labels, hadLabels)
	d.fewerLabels, d.moreLabels = append(d.fewerLabels, fewer...), append(d.moreLabels, more...)
	for _, e := range fewer {
		d.counts[[2]string{e.account, e.word}]--
	}
	for _, e := range more {
		d.counts[[2]string{e.account, e.word}]++
	}
	all := [2]string{after.State.Account, everything}
	switch { // every live asset has labels
	case len(hadLabels) == 0 && len(labels) > 0:
		d.counts[all]++
	case len(hadLabels) > 0 && len(labels) == 0:
		d.counts[all]--
	}
}

// only returns entries for the words that are not in others.
func only(r row, words, others []string) []entry {
	var left []entry
	for i, w := range words {
		if !slices.Contains(others, w) && !slices.Contains(words[:i], w) {
			left = append(left, entry{r.State.Account, w, r.First, r.ID})
		}
	}
	return left
}

// write removes entries from a list and adds others.
func write(ctx context.Context, tx pgx.Tx, table, column string, fewer, more []entry) error {
	if len(fewer) > 0 {
		accounts, words, created, _ := columnsOf(fewer)
		sql := `delete from ` + table + ` t using unnest($1::text[], $2::text[], $3::bigint[]) as e (account, word, created)
			where t.account = e.account and t.` + column + ` = e.word and t.created = e.created`
		if _, err := tx.Exec(ctx, sql, accounts, words, created); err != nil {
			return fmt.Errorf("remove assets from the list %s: %w", table, err)
		}
	}
	if len(more) > 0 {
		accounts, words, created, ids := columnsOf(more)
		sql := `insert into ` + table + ` (account, ` + column + `, created, id)
			select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) on conflict (account, ` + column + `, created) do nothing`
		if _, err := tx.Exec(ctx, sql, accounts, words, created, ids); err != nil {
			return fmt.Errorf("add assets to the list %s: %w", table, err)
		}
	}
	return nil
}

func columnsOf(entries []entry) (accounts, words []string, created []int64, ids []string) {
	for _, e := range entries {
		accounts, words = append(accounts, e.account), append(words, e.word)
		created, ids = append(created, e.created), append(ids, e.id)
	}
	return accounts, words, created, ids
}

// count updates the counts of labels. A label without assets has no row.
func (d *difference) count(ctx context.Context, tx pgx.Tx) error {
	var accounts, labels []string
	var moves []int64
	for key, n := range d.counts {
		if n != 0 {
			accounts, labels, moves = append(accounts, key[0]), append(labels, key[1]), append(moves, n)
		}
	}
	if len(moves) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `insert into `+countTable+` as c (account, label, count) select * from unnest($1::text[], $2::text[], $3::bigint[])
		on conflict (account, label) do update set count = c.count + excluded.count`, accounts, labels, moves)
	if err == nil && slices.ContainsFunc(moves, func(n int64) bool { return n < 0 }) {
		_, err = tx.Exec(ctx, `delete from `+countTable+` c using unnest($1::text[], $2::text[]) as m (account, label)
			where c.account = m.account and c.label = m.label and c.count = 0`, accounts, labels)
	}
	if err != nil {
		return fmt.Errorf("count the assets of labels: %w", err)
	}
	return nil
}

// newestFirst orders rows by age, newest first.
func newestFirst(a, b row) int { return cmp.Compare(b.First, a.First) }
