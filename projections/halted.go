package projections

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Halted is a stream that a projection could not fold. Its later events are not folded until it is resumed. Other
// streams continue.
type Halted struct {
	Projection string
	Stream     string
	Position   int64 // of the event that failed
	Error      string
	At         time.Time

	cause error // for the log
}

// maxError bounds the recorded error of a halted stream, in bytes.
const maxError = 2000

// halt records halted streams.
func halt(ctx context.Context, tx pgx.Tx, all []Halted) error {
	for _, h := range all {
		cause := strings.ToValidUTF8(strings.ReplaceAll(h.Error, "\x00", ""), "")
		_, err := tx.Exec(ctx, `insert into halted_streams (projection, stream, position, error) values ($1, $2, $3, $4)`,
			h.Projection, h.Stream, h.Position, cause[:min(len(cause), maxError)])
		if err != nil {
			return postgres.Classify(err, "halt stream "+h.Stream)
		}
	}
	return nil
}

func haltedIn(ctx context.Context, db postgres.Queryer, projection string) (map[string]int64, error) {
	return postgres.Map[string, int64](ctx, db, "read halted streams", `select stream, position from halted_streams where projection = $1`,
		projection)
}

// ListHalted returns the halted streams of a projection; "" = of all projections.
func ListHalted(ctx context.Context, pool *pgxpool.Pool, projection string) ([]Halted, error) {
	return postgres.Collect(ctx, pool, "list halted streams", pgx.RowToStructByPos[Halted],
		`select projection, stream, position, error, halted_at from halted_streams
		where $1 = '' or projection = $1 order by projection, position`, projection)
}

// Resume folds the events of a halted stream that were not folded, and ends the halt. If an event fails again,
// nothing changes and its error is returned. A stream that is not halted is NotFound.
func Resume(ctx context.Context, pool *pgxpool.Pool, p Projection, stream string) error {
	err := write(ctx, pool, pgx.TxOptions{}, func(tx pgx.Tx) error { return resume(ctx, tx, p, stream) })
	if err != nil {
		return fmt.Errorf("resume %s in %s: %w", stream, p.Name, err)
	}
	return nil
}

func resume(ctx context.Context, tx pgx.Tx, p Projection, stream string) error {
	position, err := lockCheckpoint(ctx, tx, p.Name)
	if err != nil {
		return err
	}
	halted, err := haltedIn(ctx, tx, p.Name)
	if err != nil {
		return err
	}
	from, ok := halted[stream]
	if !ok {
		return fault.New(fault.NotFound, fault.CodeNotHalted, "stream %s is not halted in %s", stream, p.Name)
	}
	version, err := versionBefore(ctx, tx, stream, from)
	if err != nil {
		return err
	}
	for {
		events, err := eventstore.ReadStream(ctx, tx, stream, version, batchLimit)
		if err != nil {
			return err
		}
		for len(events) > 0 && events[len(events)-1].Position > position { // the runner folds these
			events = events[:len(events)-1]
		}
		if len(events) == 0 {
			break
		}
		if err := apply(ctx, tx, p, events); err != nil {
			return err
		}
		version = events[len(events)-1].Version
	}
	_, err = tx.Exec(ctx, `delete from halted_streams where projection = $1 and stream = $2`, p.Name, stream)
	return err
}

// versionBefore returns the version of a stream before the event at position.
func versionBefore(ctx context.Context, tx pgx.Tx, stream string, position int64) (int64, error) {
	var version int64
	err := tx.QueryRow(ctx, `select version - 1 from events where position = $1 and stream = $2`, position, stream).Scan(&version)
	return version, postgres.Classify(err, "find the position at which "+stream+" halted")
}

// Position returns a projection's checkpoint, 0 if it has none.
func Position(ctx context.Context, pool *pgxpool.Pool, name string) (int64, error) {
	var position int64
	err := pool.QueryRow(ctx, `select coalesce(max(position), 0) from checkpoints where name = $1`, name).Scan(&position)
	return position, postgres.Classify(err, "read the checkpoint of "+name)
}
