package assetstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Downloads runs the transactions of downloads. The activity of a download makes its asset.
type Downloads struct {
	downloadTasks
	sealer Sealer
}

type downloadTasks = tasks[download.RequestedV1, download.StartedV1, download.CompletedV1, download.FailedV1]

// Sealer encrypts the URLs of unfinished downloads, because a URL may contain a credential.
type Sealer interface {
	Seal(owner, text string) []byte
	Open(owner string, sealed []byte) (string, error)
}

// NewDownloads returns the downloads on pool that append through events. sealer encrypts their URLs.
func NewDownloads(pool *pgxpool.Pool, events *eventstore.Store, sealer Sealer) *Downloads {
	return &Downloads{sealer: sealer, downloadTasks: downloadTasks{
		pool: pool, events: events, types: download.Events, bytes: "0", intent: outbox.StartDownload, lock: lockOfDownloads,
		most: maxDownloads, tooMany: fault.CodeTooManyDownloads, retry: downloadRetry,
	}}
}

const (
	// lockOfDownloads distinguishes the advisory locks of downloads from others.
	lockOfDownloads = 39
	// maxDownloads bounds the unfinished downloads of an account.
	maxDownloads = 16
	// downloadRetry is the Retry-After at that bound: large files take minutes.
	downloadRetry = 30 * time.Second
)

// Create records a download and the intent to start it, or returns an equal unfinished download of the account. Too many
// unfinished downloads of the account are Exhausted.
func (s *Downloads) Create(ctx context.Context, account string, r download.Request, requestID string) (download.Download, error) {
	id, fingerprint := task.NewID(), r.Fingerprint()
	insert := func(c *eventstore.Changes) {
		c.Queue(`insert into downloads (id, account, fingerprint, source) values ($1, $2, $3, $4)`,
			string(id), account, fingerprint, s.sealer.Seal(task.Download.Stream(id), r.Source))
	}
	return s.create(ctx, task.Ref{Task: id, Account: account}, fingerprint, insert, download.RequestedV1{Request: r.Recorded()}, requestID)
}

// Get returns a download of the account with the progress that was last recorded. An unknown download is NotFound.
func (s *Downloads) Get(ctx context.Context, account string, id task.ID) (download.Download, error) {
	d, err := s.downloadTasks.Get(ctx, account, id)
	if err == nil && !d.State.Final() {
		d.Progress, _, err = postgres.One(ctx, s.pool, "read the progress of a download", pgx.RowTo[task.Progress],
			`select progress from downloads where id = $1`, string(id))
	}
	return d, err
}

// Open returns the downloads of accounts that are not over, the oldest first; nil = of all accounts.
func (s *Downloads) Open(ctx context.Context, accounts []string) (open []download.Download, err error) {
	scan := func(row pgx.CollectableRow) (ref task.Ref, err error) { return ref, row.Scan(&ref.Task, &ref.Account) }
	refs, err := postgres.Collect(ctx, s.pool, "look for open downloads", scan,
		`select id::text, account from downloads where $1::text[] is null or account = any($1) order by since, id`, accounts)
	for _, ref := range refs {
		d, err := s.Get(ctx, ref.Account, ref.Task)
		if err != nil {
			return nil, err
		}
		if !d.State.Final() {
			open = append(open, d)
		}
	}
	return open, err
}

// RecordProgress records how far a download is, or why it waits. It changes nothing if the download has ended.
func (s *Downloads) RecordProgress(ctx context.Context, p task.Progress) error {
	_, err := s.pool.Exec(ctx, `update downloads set progress = $2 where id = $1`, string(p.Task), p)
	return postgres.Classify(err, "record the progress of a download")
}

// Begin records that a download is being fetched, and returns it with the URL that the client sent. open is false if
// the download has ended or the log does not have it.
func (s *Downloads) Begin(ctx context.Context, ref task.Ref) (state download.Download, open bool, err error) {
	var sealed []byte
	state, open, err = s.begin(ctx, ref, "source", &sealed, func(d download.Download) download.StartedV1 {
		return download.StartedV1{Name: d.Requested.Request.Name}
	})
	if err != nil || !open {
		return state, open, err
	}
	if state.Requested.Request.Source, err = s.sealer.Open(task.Download.Stream(ref.Task), sealed); err != nil {
		err = fault.Wrap(err, fault.Denied, fault.CodeAddressNotAllowed,
			"The URL of this download was encrypted with a key that no longer exists.")
	}
	return state, open, err
}

// Complete ends a download with its asset. It does not change a download that has ended.
func (s *Downloads) Complete(ctx context.Context, ref task.Ref, done download.CompletedV1) error {
	return s.end(ctx, ref, done)
}
