package assetstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Uploads stores the state of resumable uploads. It implements asset.Uploads.
type Uploads struct{ *Store }

var _ asset.Uploads = Uploads{}

const (
	// lockOfUploads distinguishes the advisory locks of resumable uploads from others.
	lockOfUploads = 40
	// maxUploads bounds the unfinished uploads of an account.
	maxUploads = 64
	// uploadRetry is the Retry-After at that bound.
	uploadRetry = 30 * time.Second
	// uploadLasts is how long an upload is kept after its last bytes.
	uploadLasts = 24 * time.Hour
)

// Begin implements asset.Uploads.
func (s Uploads) Begin(ctx context.Context, u asset.Upload) error {
	unfinished := 0
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "begin an upload",
		Read: func(q *pgx.Batch) {
			q.Queue(`select pg_advisory_xact_lock(hashtextextended($1, $2))`, u.Account, lockOfUploads)
			postgres.ScanInto(q.Queue(`select count(*) from uploads where account = $1 and not made`, u.Account), &unfinished)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if unfinished >= maxUploads {
				return fault.New(fault.Exhausted, fault.CodeTooManyUploads, "an account may have %d unfinished uploads", maxUploads).
					WithRetryAfter(uploadRetry)
			}
			c.Queue(`insert into uploads (account, id, size, fields, expires_at) values ($1, $2, $3, $4, now() + $5)`,
				u.Account, string(u.ID), u.Size, u.Fields, uploadLasts)
			return nil
		},
	})
	return err
}

// Upload implements asset.Uploads.
func (s Uploads) Upload(ctx context.Context, account string, id asset.PublicID) (asset.Upload, error) {
	scan := func(row pgx.CollectableRow) (asset.Upload, error) {
		u := asset.Upload{ID: id, Account: account}
		var pieces [][]byte
		err := row.Scan(&u.Size, &u.Received, &u.Fields, &pieces, &u.Made)
		for _, p := range pieces {
			u.Pieces = append(u.Pieces, blob.Ref(p))
		}
		return u, err
	}
	u, ok, err := postgres.One(ctx, s.pool, "read an upload", scan,
		`select size, received, fields, pieces, made from uploads where account = $1 and id = $2 and expires_at > now()`, account, string(id))
	if err == nil && !ok {
		err = fault.New(fault.NotFound, fault.CodeNotFound, "there is no such upload; it may have expired")
	}
	return u, err
}

// Append implements asset.Uploads.
func (s Uploads) Append(ctx context.Context, u asset.Upload, at int64, piece blob.Stored) error {
	done, err := s.pool.Exec(ctx, `update uploads set received = received + $4, pieces = pieces || $5::bytea, expires_at = now() + $6
		where account = $1 and id = $2 and received = $3 and not made`, u.Account, string(u.ID), at, piece.Size, piece.Ref[:], uploadLasts)
	if err == nil && done.RowsAffected() == 0 {
		return fault.New(fault.Conflict, fault.CodeUploadOffset, "another request has sent bytes of this upload, or it has ended")
	}
	return postgres.Classify(err, "record bytes of an upload")
}

// Made implements asset.Uploads.
func (s Uploads) Made(ctx context.Context, u asset.Upload) error {
	_, err := s.pool.Exec(ctx, `update uploads set made = true, pieces = '{}', expires_at = now() + $3 where account = $1 and id = $2`,
		u.Account, string(u.ID), uploadLasts)
	return postgres.Classify(err, "end an upload")
}

// Drop implements asset.Uploads.
func (s Uploads) Drop(ctx context.Context, u asset.Upload) error {
	_, err := s.pool.Exec(ctx, `delete from uploads where account = $1 and id = $2`, u.Account, string(u.ID))
	return postgres.Classify(err, "remove an upload")
}

// Pending implements asset.Uploads.
func (s Uploads) Pending(ctx context.Context, account string) (bytes int64, err error) {
	err = s.pool.QueryRow(ctx, `select coalesce(sum(size), 0) from uploads where account = $1 and not made and expires_at > now()`, account).
		Scan(&bytes)
	return bytes, postgres.Classify(err, "add up unfinished uploads")
}
