package assets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Sort is the order of a listing of the hosted surface.
type Sort string

// The sorts. Assets with equal keys are ordered by age.
const (
	ByCreation Sort = "created_at"
	ByChange   Sort = "updated_at"
	ByName     Sort = "name"
	BySize     Sort = "size"
)

// Browse selects a page of the assets that a filter matches.
type Browse struct {
	Filter
	Sort      Sort
	Ascending bool
	Offset    int
	After     *Place // the end of the previous page, with the same sort and direction; Offset counts from there
	Limit     int    // at most MaxLimit
}

// Place is an asset's position in a listing.
type Place struct {
	Name    string // of ByName
	Number  int64  // size of BySize, position of ByChange
	Created int64
}

// Found is a page of a listing.
type Found struct {
	Assets []asset.Asset
	Next   *Place // the end of this page if there are more, else nil
	// Total is the number of assets that the filter selects. It is exact without a filter, for one label and for
	// folder labels; for other filters it is exact up to MaxTotal, and a lower bound beyond.
	Total int64
}

const (
	// MaxTotal bounds the assets that are counted one by one.
	MaxTotal = 10_000
	// maxSorted bounds the assets of a label that are sorted for an order other than age. If more assets have the
	// label, the index of the order finds a page of them quickly.
	maxSorted = 20_000
	// maxReadTime bounds a statement whose filter has no index.
	maxReadTime = 5 * time.Second
)

// readBounded runs fn on one snapshot of the database. A statement that takes too long is Invalid, query_too_broad.
func (r *Reader) readBounded(ctx context.Context, what string, fn func(pgx.Tx) error) error {
	err := postgres.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf(`set local statement_timeout = %d`, maxReadTime.Milliseconds())); err != nil {
			return err
		}
		return fn(tx)
	})
	if tookTooLong(err) && ctx.Err() == nil {
		return fault.Wrap(err, fault.Invalid, fault.CodeQueryTooBroad, "too many files would have to be read: add a tag to the filter")
	}
	return postgres.Classify(err, what)
}

// tookTooLong reports whether a statement was ended by its timeout.
func tookTooLong(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "57014"
}

// Browse returns a page of the account's assets. Like List, it includes every event that was committed before the
// call.
func (r *Reader) Browse(ctx context.Context, account string, q Browse) (Found, error) {
	var page Found
	err := r.readBounded(ctx, "browse assets", func(tx pgx.Tx) error {
		s, err := r.snapshot(ctx, tx, account, q.Filter)
		if err != nil || s.empty {
			return err
		}
		q.Filter = s.filter
		if page, err = r.page(ctx, tx, s, q); err != nil {
			return err
		}
		page.Total, err = r.total(ctx, tx, s, q, page)
		return err
	})
	return page, err
}

// page reads the rows of the view and inserts those that the view has not folded. The rows before skip precede the
// page, whatever is inserted.
func (r *Reader) page(ctx context.Context, tx pgx.Tx, s *snapshot, q Browse) (Found, error) {
	fresh := s.selected(q)
	skip := max(0, q.Offset-len(fresh))
	sql, args, err := s.sql("asset", q, skip, q.Offset-skip+q.Limit+1)
	if err != nil {
		return Found{}, err
	}
	rows, err := r.query(ctx, tx, sql, args...)
	if err != nil {
		return Found{}, err
	}
	rows = append(rows, fresh...)
	slices.SortFunc(rows, q.compare)
	rows = rows[min(q.Offset-skip, len(rows)):]
	var page Found
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		end := q.place(rows[q.Limit-1])
		page.Next = &end
	}
	for _, row := range rows {
		page.Assets = append(page.Assets, row.State)
	}
	return page, nil
}

func (q Browse) place(r row) Place {
	p := Place{Created: r.First}
	switch q.Sort {
	case ByName:
		p.Name = label(r.State)
	case BySize:
		p.Number = r.State.Size
	case ByChange:
		p.Number = changed(r)
	case ByCreation:
	}
	return p
}

func (q Browse) compare(a, b row) int { return q.comparePlaces(q.place(a), q.place(b)) }

func (q Browse) comparePlaces(a, b Place) int {
	c := cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Created, b.Created))
	if q.Ascending {
		return c
	}
	return -c
}

// direction returns the comparison that leads on, and the order.
func (q Browse) direction() (operator, order string) {
	if q.Ascending {
		return ">", "asc"
	}
	return "<", "desc"
}

// keys returns the condition for assets after the place After, and the order. age is the column of the position.
func (q Browse) keys(b *postgres.Binder, age string) (condition, order string) {
	operator, way := q.direction()
	var first string // the column of the order before the age; "" = there is none
	var value any
	p := Place{}
	if q.After != nil {
		p = *q.After
	}
	switch q.Sort {
	case ByName:
		first, value = "v.label", p.Name
	case BySize:
		first, value = "v.size", p.Number
	case ByChange:
		age, p.Created = "v.changed", p.Number
	case ByCreation:
	}
	if first == "" {
		if q.After != nil {
			condition = ` and ` + age + ` ` + operator + ` ` + b.Bind(p.Created)
		}
		return condition, age + ` ` + way
	}
	if q.After != nil {
		condition = ` and (` + first + `, v.created) ` + operator + ` (` + b.Bind(value) + `, ` + b.Bind(p.Created) + `)`
	}
	return condition, first + ` ` + way + `, v.created ` + way
}
