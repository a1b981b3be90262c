package usage

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// Day is an account's usage of one model on one day.
type Day struct {
	Account   string    `json:"account"`
	Model     string    `json:"model"`
	Day       time.Time `json:"day"` // midnight UTC
	Succeeded int64     `json:"succeeded"`
	Failed    int64     `json:"failed"`
	Canceled  int64     `json:"canceled"`
	Unknown   int64     `json:"unknown"`
	Late      int64     `json:"late"` // those of succeeded and failed whose outcome was unknown before
	Bytes     int64     `json:"answer_bytes"`
	Charged   int64     `json:"charged_micros"` // USD millionths
}

// Reader reads the view, which may lag behind the log.
type Reader struct{ pool *pgxpool.Pool }

// NewReader returns a reader of the view in pool's database.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// maxDays bounds one answer.
const maxDays = 10_000

// Between returns the usage from one day to another, both inclusive, newest first; account "" = all accounts, for
// operators.
func (r *Reader) Between(ctx context.Context, account string, from, to time.Time) ([]Day, error) {
	return postgres.Collect(ctx, r.pool, "read usage", pgx.RowToStructByPos[Day],
		`select account, model, day, succeeded, failed, canceled, unknown, late, answer_bytes, charged_micros
		from `+Name+` where ($1 = '' or account = $1) and day between $2::date and $3::date
		order by day desc, account, model limit $4`, account, from.UTC().Format(time.DateOnly), to.UTC().Format(time.DateOnly), maxDays)
}
