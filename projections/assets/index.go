package assets

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/postgres"
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

// index updates the lists.
func index(ctx context.Context, tx pgx.Tx, b folded.Batch[asset.Asset]) error {
	d := difference{counts: map[[2]string]int64{}}
	for _, id := range b.IDs {
		d.compare(b.Before[id], b.After[id])
	}
	var q pgx.Batch
	queueList(&q, tagTable, "tag", d.fewerTags, d.moreTags)
	queueList(&q, labelTable, "label", d.fewerLabels, d.moreLabels)
	d.queueCounts(&q)
	if q.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, &q).Close(); err != nil {
		return fmt.Errorf("change the lists of assets: %w", err)
	}
	return nil
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

// queueList removes entries from a list and adds others.
func queueList(q *pgx.Batch, table, column string, fewer, more []entry) {
	queueEntries(q, fewer, `delete from `+table+` t
		using unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) as e (account, word, created, id)
		where t.account = e.account and t.`+column+` = e.word and t.created = e.created`)
	queueEntries(q, more, `insert into `+table+` (account, `+column+`, created, id)
		select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) on conflict (account, `+column+`, created) do nothing`)
}

func queueEntries(q *pgx.Batch, entries []entry, sql string) {
	var rows postgres.Columns
	for _, e := range entries {
		rows.Add(e.account, e.word, e.created, e.id)
	}
	if rows.Rows() > 0 {
		q.Queue(sql, rows.Args()...)
	}
}

// queueCounts updates the counts of labels. A label without assets has no row.
func (d *difference) queueCounts(q *pgx.Batch) {
	var rows postgres.Columns
	for key, n := range d.counts {
		if n != 0 {
			rows.Add(key[0], key[1], n)
		}
	}
	if rows.Rows() == 0 {
		return
	}
	q.Queue(`insert into `+countTable+` as c (account, label, count) select * from unnest($1::text[], $2::text[], $3::bigint[])
		on conflict (account, label) do update set count = c.count + excluded.count`, rows.Args()...)
	q.Queue(`delete from `+countTable+` c using unnest($1::text[], $2::text[], $3::bigint[]) as m (account, label, moved)
		where c.account = m.account and c.label = m.label and c.count = 0 and m.moved < 0`, rows.Args()...)
}

// newestFirst orders rows by age, newest first.
func newestFirst(a, b row) int { return cmp.Compare(b.First, a.First) }
