package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections/assets"
)

const seedBatch = 5000

// SeedAssets records assets as uploads leave them: event, stream, row and view. The service must be down:
// events are copied past the log's own statement, and its projections find themselves at the log's end.
func SeedAssets(ctx context.Context, dsn string, count int) error {
	types := eventlog.NewRegistry()
	if err := asset.Register(types); err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, dsn, postgres.PoolOptions{MaxConns: 4})
	if err != nil {
		return err
	}
	defer pool.Close()
	var last int64 // position taken
	if err := pool.QueryRow(ctx, `select setval(pg_get_serial_sequence('events', 'position'),
		nextval(pg_get_serial_sequence('events', 'position')) + $1)`, count).Scan(&last); err != nil {
		return err
	}
	view := assets.NewProjection(types)
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for done := 0; done < count; done += seedBatch {
		batch := newSeeds(last-int64(count)+int64(done), done, min(seedBatch, count-done))
		group.Go(func() error { return batch.write(gctx, pool, view) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, `update checkpoints set position = $1`, last); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, `vacuum analyze`)
	return err
}

// seeds is some assets in the forms of the tables that hold them.
type seeds struct {
	recorded                []eventlog.Recorded
	files, streams, written [][]any
}

// newSeeds makes assets whose events follow position; first counts those of other batches before them.
func newSeeds(position int64, first, count int) *seeds {
	s := &seeds{}
	for i := range count {
		s.add(position+int64(i)+1, fmt.Sprintf("seed-%d", (first+i)%10))
	}
	return s
}

func (s *seeds) add(position int64, tag string) {
	id, tags := asset.NewID(), []string{tag}
	path, hash, now := "seed/"+string(id), blob.Sum([]byte(id)), time.Now().UTC()
	data, err := json.Marshal(asset.CreatedV1{
		Origin: asset.Uploaded, Hash: hash, Size: 1, ContentType: "a/b", FilePath: &path, Tags: tags,
		Place: &asset.Place{Folder: "input", Subfolder: "seed", Filename: string(id)},
	})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	rec := eventlog.Recorded{
		Position: position, Stream: id.Stream(), Version: 1, ID: asset.EventID(id, asset.TypeCreated), Type: asset.TypeCreated,
		Account: "local", Data: data, RecordedAt: now,
	}
	s.recorded = append(s.recorded, rec)
	s.files = append(s.files, []any{uuid.MustParse(string(id)), "local", hash[:], int64(1), "a/b", path, "input", "seed", string(id), true, tags})
	s.streams = append(s.streams, []any{rec.Stream, "local", int64(1)})
	s.written = append(s.written, []any{position, rec.Stream, int64(1), rec.ID, rec.Type, "local", rec.Data, json.RawMessage(`{}`), now})
}

func (s *seeds) write(ctx context.Context, pool *pgxpool.Pool, view *assets.Projection) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		for _, part := range []struct {
			table   string
			columns []string
			rows    [][]any
		}{
			{"files", []string{"asset_id", "account", "hash", "size", "content_type", "file_path", "folder", "subfolder", "filename", "named", "tags"}, s.files},
			{"streams", []string{"id", "account", "version"}, s.streams},
			{"events", []string{"position", "stream", "version", "id", "type", "account", "data", "meta", "recorded_at"}, s.written},
		} {
			if _, err := tx.CopyFrom(ctx, pgx.Identifier{part.table}, part.columns, pgx.CopyFromRows(part.rows)); err != nil {
				return fmt.Errorf("copy into %s: %w", part.table, err)
			}
		}
		return view.Apply(ctx, tx, s.recorded)
	})
}
