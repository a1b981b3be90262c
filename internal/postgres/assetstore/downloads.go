package assetstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Downloads implements download.Store. The activity of a download makes its asset.
type Downloads struct {
	tasks  *tasks[download.Download]
	sealer download.Sealer
}

var _ download.Store = (*Downloads)(nil)

// NewDownloads returns the downloads on pool that append through events. sealer encrypts their URLs, because a URL
// may contain a credential.
func NewDownloads(pool *pgxpool.Pool, events *eventstore.Store, sealer download.Sealer) *Downloads {
	return &Downloads{sealer: sealer, tasks: &tasks[download.Download]{
		pool: pool, events: events, word: "download", kind: outbox.StartDownload, lock: lockOfDownloads,
		most: maxDownloads, tooMany: fault.CodeTooManyDownloads, retry: downloadRetry,
		fold: download.Fold, of: func(d download.Download) (id, account string) { return string(d.ID), d.Account },
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

func fetching(ref download.Ref) task {
	return task{id: string(ref.Download), account: ref.Account, stream: ref.Download.Stream(), workflow: ref.Download.WorkflowID(), ref: ref}
}

// Create implements download.Store.
func (s *Downloads) Create(ctx context.Context, n download.New) (download.Download, error) {
	fingerprint := n.Request.Fingerprint()
	insert := func(c *eventstore.Changes) {
		c.Queue(`insert into downloads (id, account, fingerprint, source) values ($1, $2, $3, $4)`,
			string(n.ID), n.Account, fingerprint, s.sealer.Seal(n.ID.Stream(), n.Request.Source))
	}
	return s.tasks.create(ctx, fetching(download.Ref{Download: n.ID, Account: n.Account}), fingerprint,
		func(id string) string { return download.ID(id).Stream() }, insert,
		n.ID.Event(download.RequestedV1{Request: n.Request.Recorded()}), eventlog.Meta{Actor: n.Account, RequestID: n.RequestID})
}

// Get implements download.Store.
func (s *Downloads) Get(ctx context.Context, account string, id download.ID) (download.Download, error) {
	return s.tasks.get(ctx, account, id.Stream())
}

// Begin records that a download is being fetched, and returns it with the URL that the client sent. open is false if
// the download has ended or the log does not have it.
func (s *Downloads) Begin(ctx context.Context, ref download.Ref) (state download.Download, open bool, err error) {
	var sealed []byte
	state, open, err = s.tasks.begin(ctx, fetching(ref), "source", func(row pgx.Row) error { return row.Scan(&sealed) },
		func(d download.Download) eventlog.Event {
			return ref.Download.Event(download.StartedV1{Name: d.Request.Name})
		})
	if err != nil || !open {
		return state, open, err
	}
	if state.Request.Source, err = s.sealer.Open(ref.Download.Stream(), sealed); err != nil {
		err = fault.Wrap(err, fault.Denied, fault.CodeAddressNotAllowed,
			"The URL of this download was encrypted with a key that no longer exists.")
	}
	return state, open, err
}

// Complete ends a download with its asset. It does not change a download that has ended.
func (s *Downloads) Complete(ctx context.Context, ref download.Ref, done download.CompletedV1) error {
	return s.tasks.end(ctx, fetching(ref), ref.Download.Event(done))
}

// Fail ends a download without an asset. It does not change a download that has ended.
func (s *Downloads) Fail(ctx context.Context, ref download.Ref, failure download.FailedV1) error {
	return s.tasks.end(ctx, fetching(ref), ref.Download.Event(failure))
}

// Unfinished returns up to limit downloads, in order of their ids from the first one after the given id, that are at
// least age old and wait for no intent.
func (s *Downloads) Unfinished(ctx context.Context, after download.ID, age time.Duration, limit int) ([]download.Ref, error) {
	return unfinished(ctx, s.tasks, func(row pgx.CollectableRow) (ref download.Ref, err error) {
		return ref, row.Scan(&ref.Download, &ref.Account)
	}, `id::text, account`, string(after), age, limit)
}

// Restart records that a download whose workflow was lost is started again, and the intent to start it. It does not
// change a download that has ended, and then returns false.
func (s *Downloads) Restart(ctx context.Context, ref download.Ref, actor, reason string) (bool, error) {
	return s.tasks.restart(ctx, fetching(ref), ref.Download.Event(download.RequeuedV1{}), eventlog.Meta{Actor: actor, Reason: reason})
}
