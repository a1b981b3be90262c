package assetstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
)

// Downloads implements download.Store. The activity of a download makes its asset.
type Downloads struct {
	pool   *pgxpool.Pool
	events *eventstore.Store
	assets *Store
	sealer download.Sealer
}

var _ download.Store = (*Downloads)(nil)

// NewDownloads returns the downloads on pool that append through events. sealer encrypts their URLs, because a URL
// may contain a credential.
func NewDownloads(pool *pgxpool.Pool, events *eventstore.Store, sealer download.Sealer) *Downloads {
	return &Downloads{pool: pool, events: events, assets: New(pool, events), sealer: sealer}
}

const (
	// lockOfDownloads distinguishes the advisory locks of downloads from others.
	lockOfDownloads = 39
	// maxDownloads bounds the unfinished downloads of an account.
	maxDownloads = 16
	// downloadRetry is the Retry-After at that bound: large files take minutes.
	downloadRetry = 30 * time.Second
)

// Create implements download.Store.
func (s *Downloads) Create(ctx context.Context, n download.New) (made download.Download, intents []outbox.Intent, err error) {
	fingerprint := n.Request.Fingerprint()
	err = s.assets.transact(ctx, "accept a download", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, $2))`, n.Account, lockOfDownloads); err != nil {
			return err
		}
		same, err := s.same(ctx, tx, n.Account, fingerprint)
		if err != nil {
			return err
		}
		if same != "" {
			made, err = s.fold(ctx, tx, n.Account, same)
			return err
		}
		_, err = tx.Exec(ctx, `insert into downloads (id, account, fingerprint, source) values ($1, $2, $3, $4)`,
			string(n.ID), n.Account, fingerprint, s.sealer.Seal(n.ID.Stream(), n.Request.Source))
		if err != nil {
			return err
		}
		ref := download.Ref{Download: n.ID, Account: n.Account}
		if intents, err = outboxstore.Insert(ctx, tx, []outbox.Intent{fetching(ref)}); err != nil {
			return err
		}
		made, err = s.record(ctx, tx, ref, download.RequestedV1{Request: n.Request.Recorded()}, eventlog.Meta{Actor: n.Account, RequestID: n.RequestID})
		return err
	})
	return made, intents, err
}

// same returns the unfinished download of an equal request, or "" if there is none and the account may start another
// one.
func (s *Downloads) same(ctx context.Context, tx pgx.Tx, account string, fingerprint []byte) (same download.ID, err error) {
	var unfinished int
	err = tx.QueryRow(ctx, `select count(*), coalesce(max(id::text) filter (where fingerprint = $2), '') from downloads where account = $1`,
		account, fingerprint).Scan(&unfinished, &same)
	if err == nil && same == "" && unfinished >= maxDownloads {
		err = fault.New(fault.Exhausted, fault.CodeTooManyDownloads, "the account has %d unfinished downloads, its limit", unfinished).WithRetryAfter(downloadRetry)
	}
	return same, err
}

// fetching returns the intent to start a download.
func fetching(ref download.Ref) outbox.Intent {
	payload, err := json.Marshal(ref)
	if err != nil {
		panic(err) // strings always marshal
	}
	return outbox.Intent{WorkflowID: ref.Download.WorkflowID(), Kind: outbox.StartDownload, Payload: payload}
}

// record appends an event to an unfinished download and returns the new state.
func (s *Downloads) record(ctx context.Context, tx pgx.Tx, ref download.Ref, event any, meta eventlog.Meta) (download.Download, error) {
	state, err := s.fold(ctx, tx, ref.Account, ref.Download)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return download.Download{}, err
	}
	_, completed := event.(download.CompletedV1)
	_, failed := event.(download.FailedV1)
	placed, err := s.events.AppendTx(ctx, tx, eventlog.Append{
		Stream: ref.Download.Stream(), Account: ref.Account, Expected: eventlog.AnyVersion, Meta: meta,
		Events: []eventlog.Event{ref.Download.Event(event)}, Close: completed || failed,
	})
	if err != nil {
		return download.Download{}, err
	}
	for _, rec := range placed {
		state = download.Fold(state, rec, event)
	}
	return state, nil
}

// fold reads a download of the account from its stream, as seen by db.
func (s *Downloads) fold(ctx context.Context, db postgres.Queryer, account string, id download.ID) (download.Download, error) {
	state, err := eventlog.Fold(s.events.Types(), eventlog.Read(ctx, eventstore.StreamsOf(db), id.Stream(), 0), download.Download{}, download.Fold)
	if err != nil {
		return download.Download{}, err
	}
	if state.ID == "" || state.Account != account {
		return download.Download{}, fault.New(fault.NotFound, fault.CodeNotFound, "there is no such download")
	}
	return state, nil
}

// Get implements download.Store.
func (s *Downloads) Get(ctx context.Context, account string, id download.ID) (download.Download, error) {
	state, err := s.fold(ctx, s.pool, account, id)
	return state, postgres.Classify(err, "read download "+string(id))
}

// Begin records that a download is being fetched, and returns it with the URL that the client sent. open is false if
// the download has ended or the log does not have it.
func (s *Downloads) Begin(ctx context.Context, ref download.Ref) (state download.Download, open bool, err error) {
	var sealed []byte
	err = s.assets.transact(ctx, "begin a download", func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `select true, source from downloads where id = $1 and account = $2 for update`, string(ref.Download), ref.Account).Scan(&open, &sealed)
		if err = ignoreNoRows(err); err != nil || !open {
			return err
		}
		if state, err = s.fold(ctx, tx, ref.Account, ref.Download); err != nil {
			return err
		}
		state, err = s.record(ctx, tx, ref, download.StartedV1{Name: state.Request.Name}, eventlog.Meta{Actor: "download"})
		return err
	})
	if err != nil || !open || sealed == nil { // without sealed, a version accepted it that recorded the URL in the log
		return state, open, err
	}
	if state.Request.Source, err = s.sealer.Open(ref.Download.Stream(), sealed); err != nil {
		err = fault.Wrap(err, fault.Denied, fault.CodeAddressNotAllowed, "The URL of this download was encrypted with a key that no longer exists.")
	}
	return state, open, err
}

// Complete ends a download with its asset. It does not change a download that has ended.
func (s *Downloads) Complete(ctx context.Context, ref download.Ref, done download.CompletedV1) error {
	return s.end(ctx, ref, done)
}

// Fail ends a download without an asset. It does not change a download that has ended.
func (s *Downloads) Fail(ctx context.Context, ref download.Ref, failure download.FailedV1) error {
	return s.end(ctx, ref, failure)
}

func (s *Downloads) end(ctx context.Context, ref download.Ref, event any) error {
	return s.assets.transact(ctx, "end a download", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `delete from downloads where id = $1 and account = $2`, string(ref.Download), ref.Account)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = s.record(ctx, tx, ref, event, eventlog.Meta{Actor: "download"})
		return err
	})
}

// Unfinished returns up to limit downloads, in order of their ids from the first one after the given id, that are at
// least age old and wait for no intent.
func (s *Downloads) Unfinished(ctx context.Context, after download.ID, age time.Duration, limit int) ([]download.Ref, error) {
	if after == "" {
		after = download.ID(uuid.Nil.String())
	}
	return postgres.Collect(ctx, s.pool, "look for downloads that are not done", func(row pgx.CollectableRow) (download.Ref, error) {
		var ref download.Ref
		return ref, row.Scan(&ref.Download, &ref.Account)
	},
		`select id::text, account from downloads d
		where id > $1 and since <= now() - $2::interval
		  and not exists (select from outbox o where o.workflow_id = 'download-' || d.id)
		order by id limit $3`, string(after), age, limit)
}

// Restart records that a download whose workflow was lost is started again, and the intent to start it. It does not
// change a download that has ended.
func (s *Downloads) Restart(ctx context.Context, ref download.Ref, actor, reason string) (intents []outbox.Intent, err error) {
	err = s.assets.transact(ctx, "begin a download again", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update downloads set since = now() where id = $1 and account = $2`, string(ref.Download), ref.Account)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if intents, err = outboxstore.Insert(ctx, tx, []outbox.Intent{fetching(ref)}); err != nil {
			return err
		}
		_, err = s.record(ctx, tx, ref, download.RequeuedV1{}, eventlog.Meta{Actor: actor, Reason: reason})
		return err
	})
	return intents, err
}
