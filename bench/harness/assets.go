package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/assets"
)

const seedBatch = 5000

// SeedAssets records assets as uploads do: event, stream, row and view. The service must be down, because events are
// copied without the log's own statement. The checkpoints of the projections are moved to the end of the log.
func SeedAssets(ctx context.Context, dsn string, count int) error {
	types := eventlog.NewRegistry()
	if err := asset.Register(types); err != nil {
		return err
	}
	view := assets.NewProjection(types)
	last, err := CopyLog(ctx, dsn, count, 1, seedBatch, func(ctx context.Context, pool *pgxpool.Pool, before int64, first, count int) error {
		return newSeeds(before, first, count).write(ctx, pool, view)
	})
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, `update checkpoints set position = $1`, last)
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
	s.files = append(s.files, []any{
		uuid.MustParse(string(id)), "local", hash[:], int64(1), "a/b", path, "input", "seed", string(id), true,
		tags,
	})
	s.streams = append(s.streams, []any{rec.Stream, "local", int64(1)})
	s.written = append(s.written, []any{position, rec.Stream, int64(1), rec.ID, rec.Type, "local", rec.Data, json.RawMessage(`{}`), now})
}

func (s *seeds) write(ctx context.Context, pool *pgxpool.Pool, view projections.Projection) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		columns := []string{
			"asset_id", "account", "hash", "size", "content_type", "file_path", "folder", "subfolder", "filename", "named",
			"tags",
		}
		err := Copy(ctx, tx, "files", columns, s.files)
		if err == nil {
			err = Copy(ctx, tx, "streams", []string{"id", "account", "version"}, s.streams)
		}
		if err == nil {
			err = Copy(ctx, tx, "events", EventColumns, s.written)
		}
		if err != nil {
			return err
		}
		return view.Apply(ctx, tx, s.recorded)
	})
}
