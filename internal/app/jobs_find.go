package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// shortestID is how many characters of an id a person must give.
const shortestID = 4

// idRange returns the least and the greatest id of a kind (job, call, asset) that begin with text, which may be
// a whole id or the name of its stream. All ids have their hyphens in the same places and only lower-case hex digits
// otherwise, so every collation of a database orders them alike.
func idRange(noun, text string) (from, to string, err error) {
	digits := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(text, noun+"-")), "-", "")
	if len(digits) < shortestID || len(digits) > 32 || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", "", fault.New(fault.NotFound, noun+"_not_found", "%q is not the id of %s %s, or its first %d or more characters", inspect.Clean(text), article(noun), noun, shortestID)
	}
	padded := func(with string) string {
		d := digits + strings.Repeat(with, 32-len(digits))
		return d[:8] + "-" + d[8:12] + "-" + d[12:16] + "-" + d[16:20] + "-" + d[20:]
	}
	return padded("0"), padded("f"), nil
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeiou") {
		return "an"
	}
	return "a"
}

// findJob returns the one job whose id begins with text.
func findJob(ctx context.Context, pool *pgxpool.Pool, text string) (job.ID, error) {
	stream, err := findStream(ctx, pool, "job", text)
	if err != nil {
		return "", err
	}
	id, _ := job.IDOfStream(stream)
	return id, nil
}

// history reads the facts of the job whose id begins with text.
func history(ctx context.Context, pool *pgxpool.Pool, text string) (inspect.History, error) {
	types, err := eventTypes()
	if err != nil {
		return inspect.History{}, err
	}
	id, err := findJob(ctx, pool, text)
	if err != nil {
		return inspect.History{}, err
	}
	all, err := postgres.Facts(ctx, pool, nil, id)
	if err != nil {
		return inspect.History{}, err
	}
	if len(all) > 0 && all[0].Version > 1 {
		return inspect.History{}, fault.New(fault.NotFound, "job_retired", "job %s is past its retention: its facts left the log", id)
	}
	return inspect.Read(types, all)
}

// existingBlobs opens the blob store, but makes none.
func existingBlobs(ctx context.Context, cfg config.Config, pool *pgxpool.Pool) (blob.Store, error) {
	if _, err := os.Stat(blobDir(cfg)); cfg.Bucket.Name == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, errNoDataDir
	}
	return (&instance{cfg: cfg, pool: pool, log: slog.New(slog.DiscardHandler)}).openBlobs(ctx)
}
