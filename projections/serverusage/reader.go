package serverusage

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Day is an account's usage of one server on one day.
type Day struct {
	Account  string    `json:"account"` // "" = the operator's: a machine had no work at all
	Server   string    `json:"server"`  // its id
	URL      string    `json:"url"`
	Day      time.Time `json:"day"`      // midnight UTC
	Segments int64     `json:"segments"` // attempts that ended
	GivenUp  int64     `json:"given_up"` // those of them that were followed by another attempt
	Millis   int64     `json:"millis"`
	Cost     int64     `json:"cost_micros"` // at the servers' prices, in USD millionths; accounts without credit are not charged
	Idle     int64     `json:"idle_millis"` // the account's share of the time that a machine of a pool had no work
	IdleCost int64     `json:"idle_micros"` // at the price of the pool, in USD millionths; no account is charged for it
}

// Reader reads the view, which may lag behind the log.
type Reader struct{ pool *pgxpool.Pool }

// NewReader returns a reader of the view in pool's database.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// LastServer returns the id of the server that last ended a segment of a job, or "".
func (r *Reader) LastServer(ctx context.Context, of job.ID) (string, error) {
	id, _, err := postgres.One(ctx, r.pool, "read the server of a job", pgx.RowTo[string],
		`select server from `+Name+` where job = $1 order by run desc, segment desc, attempt desc limit 1`, of.Stream())
	return id, err
}

// maxDays bounds one answer.
const maxDays = 10_000

// sums are the columns of a Day that are added up.
const sums = `count(*) filter (where outcome <> '` + idle + `'), count(*) filter (where outcome = 'given_up'),
	coalesce(sum(millis) filter (where outcome <> '` + idle + `'), 0)::bigint,
	coalesce(sum(charged_micros) filter (where outcome <> '` + idle + `'), 0)::bigint,
	coalesce(sum(millis) filter (where outcome = '` + idle + `'), 0)::bigint,
	coalesce(sum(charged_micros) filter (where outcome = '` + idle + `'), 0)::bigint`

// Between returns the usage from one day to another, both inclusive, newest first; account "" = all accounts.
func (r *Reader) Between(ctx context.Context, account string, from, to time.Time) ([]Day, error) {
	return postgres.Collect(ctx, r.pool, "read time on servers", pgx.RowToStructByPos[Day],
		`select account, server, coalesce(max(url) filter (where outcome <> '`+idle+`'), max(url)), day, `+sums+`
		from `+Name+` where ($1 = '' or account = $1) and day between $2::date and $3::date
		group by day, account, server order by day desc, account, server limit $4`,
		account, from.UTC().Format(time.DateOnly), to.UTC().Format(time.DateOnly), maxDays)
}

// Sum returns the usage of an account from one day to another, both inclusive, on all servers.
func (r *Reader) Sum(ctx context.Context, account string, from, to time.Time) (Day, error) {
	sum, _, err := postgres.One(ctx, r.pool, "add up time on servers", pgx.RowToStructByPos[Day],
		`select $1::text, '', '', $2::date, `+sums+` from `+Name+` where account = $1 and day between $2::date and $3::date`,
		account, from.UTC().Format(time.DateOnly), to.UTC().Format(time.DateOnly))
	return sum, err
}
