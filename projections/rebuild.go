package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

const (
	cleanupTime   = 30 * time.Second // to drop a shadow of any size: it is a file deletion
	maxSwapEvents = 2000             // bound of the events that the swap folds while the runner waits: under a second
	swapAttempts  = 20               // the rebuild fails if a reader locks the live table through all of them
	swapWait      = time.Second      // how long one attempt may block new readers
)

// RebuildOptions tune Rebuild and Check. The zero value works.
type RebuildOptions struct {
	// Progress is called with the number of folded positions and their total. It may be nil.
	Progress func(done, total int64)
}

// Rebuilt is the outcome of a rebuild.
type Rebuilt struct {
	Position int64    // position of the view before and after
	Halted   []Halted // streams that could not be folded; they are halted in the live view too now
}

// Rebuild folds the view again from the start of the log into a shadow, which replaces the live view at the same
// position in one transaction: readers and the runner only wait for that transaction. An interrupted rebuild changes
// nothing and starts over when called again. A second rebuild at the same time is Conflict, rebuild_running.
func Rebuild(ctx context.Context, pool *pgxpool.Pool, p Projection, opts RebuildOptions) (Rebuilt, error) {
	s, err := openShadow(ctx, pool, p, opts.Progress)
	if err != nil {
		return Rebuilt{}, err
	}
	defer s.close(ctx)
	if err := s.catchUp(ctx); err != nil {
		return Rebuilt{}, err
	}
	for attempt := 1; ; attempt++ {
		err := s.swap(ctx)
		if err == nil {
			break
		}
		if attempt == swapAttempts || !fault.Is(err, fault.Unavailable) || s.conn.IsClosed() {
			return Rebuilt{}, err
		}
		if err := s.catchUp(ctx); err != nil {
			return Rebuilt{}, err
		}
	}
	s.progress(s.position, s.position)
	return Rebuilt{Position: s.position, Halted: s.stopped}, nil
}

// catchUp folds until the shadow is close to the live view, then creates its indexes.
func (s *shadow) catchUp(ctx context.Context) error {
	indexed := s.position > 0
	for {
		live, err := s.livePosition(ctx, s.conn)
		if err != nil {
			return err
		}
		if live-s.position <= maxSwapEvents && indexed {
			return nil
		}
		if err := s.foldTo(ctx, live); err != nil {
			return err
		}
		if !indexed {
			if err := s.inTx(ctx, s.indexAll(ctx)); err != nil {
				return err
			}
			indexed = true
		}
	}
}

func (s *shadow) indexAll(ctx context.Context) func(pgx.Tx) error {
	return func(tx pgx.Tx) error {
		for _, table := range s.p.Tables {
			if err := s.copyIndexes(ctx, tx, table); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "analyze "+quote(s.schema, table)); err != nil {
				return err
			}
		}
		return nil
	}
}

// livePosition returns the position of the live view. The position of a view beyond the end of the log is the end of
// the log.
func (s *shadow) livePosition(ctx context.Context, db postgres.Queryer) (int64, error) {
	position, _, err := postgres.One(ctx, db, "read the checkpoint of "+s.p.Name, pgx.RowTo[int64],
		`select least(coalesce((select position from checkpoints where name = $1), 0), coalesce((select max(position) from events), 0))`,
		s.p.Name)
	return position, err
}

// swap folds the remaining events while the lock of the checkpoint keeps the runner out, and replaces the live tables
// by the shadow's. After an error, nothing has changed, including the shadow.
func (s *shadow) swap(ctx context.Context) error {
	position, stopped := s.position, len(s.stopped)
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("set local lock_timeout = %d; set local synchronous_commit = on",
			swapWait.Milliseconds())); err != nil {
			return err
		}
		if _, err := lockCheckpoint(ctx, tx, s.p.Name); err != nil {
			return err
		}
		live, err := s.livePosition(ctx, tx)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update checkpoints set position = $2 where name = $1 and position > $2`, s.p.Name, live)
		if err != nil {
			return err
		}
		if err := s.foldRest(ctx, tx, live); err != nil {
			return err
		}
		if err := s.replaceHalted(ctx, tx); err != nil {
			return err
		}
		return s.replaceTables(ctx, tx)
	})
	if err != nil { // the transaction rolled its folding back
		s.position = position
		for _, h := range s.stopped[stopped:] {
			delete(s.halted, h.Stream)
		}
		s.stopped = s.stopped[:stopped]
	}
	return err
}

// replaceHalted replaces the halted streams. It writes the checkpoint, so that a runner which waits for it reads them again.
func (s *shadow) replaceHalted(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `update checkpoints set updated_at = clock_timestamp() where name = $1`, s.p.Name); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `delete from halted_streams where projection = $1`, s.p.Name); err != nil {
		return err
	}
	return halt(ctx, tx, s.stopped)
}

// replaceTables drops the live tables and moves the shadow's into their schema. Indexes and constraints keep the
// names that migrations use.
func (s *shadow) replaceTables(ctx context.Context, tx pgx.Tx) error {
	for _, table := range s.p.Tables {
		statements := []string{
			"drop table " + quote(s.live, table),
			"alter table " + quote(s.schema, table) + " set schema " + quote(s.live),
		}
		if err := execAll(ctx, tx, statements); err != nil {
			return err
		}
	}
	return nil
}
