package assetstore

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
)

// namesAtOnce is the number of alternative names that one query checks.
const namesAtOnce = 32

// Upload implements files.Store.
func (f *Files) Upload(ctx context.Context, u files.Upload) (e files.Entry, err error) {
	limit, err := f.storage.Limit(ctx, u.Account)
	if err != nil {
		return e, err
	}
	name := naming{asset.NewID(), uuid.New()}
	recorded, err := f.events.RetryAmbiguous(ctx, name.first, func(ctx context.Context) (err error) {
		e, err = f.upload(ctx, u, name, limit)
		return err
	})
	if err != nil {
		return files.Entry{}, postgres.Classify(err, "record an upload")
	}
	f.events.Wake()
	if recorded { // an attempt whose answer was lost recorded it; the relay starts its ingestion
		return f.alreadySaved(ctx, u.Account, name.id)
	}
	return e, nil
}

// upload is one attempt to record an upload. It starts over if a concurrent upload took the name.
func (f *Files) upload(ctx context.Context, u files.Upload, name naming, limit int64) (files.Entry, error) {
	for attempt := 1; ; attempt++ {
		e, err := f.tryUpload(ctx, u, name, limit)
		if violated(err) != "files_name" || attempt == saveAttempts {
			return e, err
		}
	}
}

func (f *Files) tryUpload(ctx context.Context, u files.Upload, name naming, limit int64) (files.Entry, error) {
	var e files.Entry
	err := postgres.InTx(ctx, f.pool, func(tx pgx.Tx) error {
		if err := lockName(ctx, tx, u.Account, u.Place); err != nil {
			return err
		}
		held, filename, err := f.findOrInsert(ctx, tx, u)
		if err != nil {
			return err
		}
		meta := eventlog.Meta{Actor: u.Account, RequestID: u.RequestID}
		if held != nil {
			e = *held
			return f.extend(ctx, tx, &e, u.ExpiresAt, meta)
		}
		u.Place.Filename = filename
		if e, err = f.insertUpload(ctx, tx, name.id, u); err != nil {
			return err
		}
		if err := accountstore.Within(ctx, tx, u.Account, limit, u.Size); err != nil {
			return err
		}
		made := creation(e, asset.Uploaded, nil, meta)
		made.Events[0].ID = name.first
		_, err = f.events.AppendTx(ctx, tx, made)
		return err
	})
	return e, err
}

// lockName serialises uploads of the same name in an account.
func lockName(ctx context.Context, tx pgx.Tx, account string, p asset.Place) error {
	_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, $2))`, keyOfName(account, p), lockOfNames)
	return err
}

// keyOfName returns the key of a lock on a name, which is the same for every surface.
func keyOfName(account string, p asset.Place) string {
	return account + "\x1f" + p.Folder + "\x1f" + p.Subfolder + "/" + p.Filename
}

// findOrInsert returns the file of that name with the same bytes, or else the first free name.
func (f *Files) findOrInsert(ctx context.Context, tx pgx.Tx, u files.Upload) (*files.Entry, string, error) {
	for from := 0; ; from += namesAtOnce {
		candidates := make([]string, namesAtOnce)
		for i := range candidates {
			candidates[i] = files.Numbered(u.Place.Filename, from+i)
		}
		taken, err := f.takenNames(ctx, tx, u, candidates)
		if err != nil {
			return nil, "", err
		}
		for _, name := range candidates {
			e, ok := taken[name]
			switch {
			case ok && e.Hash == u.Hash && !e.Rejected:
				return &e, "", nil
			case !ok:
				return nil, name, nil
			case u.Overwrite:
				return nil, name, f.removeName(ctx, tx, e)
			}
		}
	}
}

func (f *Files) takenNames(ctx context.Context, tx pgx.Tx, u files.Upload, names []string) (map[string]files.Entry, error) {
	rows, err := tx.Query(ctx, `select `+fileColumns+` from files
		where account = $1 and named and folder = $2 and subfolder = $3 and filename = any($4)`,
		u.Account, u.Place.Folder, u.Place.Subfolder, names)
	if err != nil {
		return nil, err
	}
	entries, err := pgx.CollectRows(rows, scanFile)
	taken := make(map[string]files.Entry, len(entries))
	for _, e := range entries {
		if e.ExpiresAt != nil && !e.ExpiresAt.After(time.Now()) { // expired and not swept yet: its name is free
			if err := f.removeName(ctx, tx, e); err != nil {
				return nil, err
			}
			continue
		}
		taken[e.Place.Filename] = e
	}
	return taken, err
}

// removeName removes the name of a file. The asset stays under its id.
func (f *Files) removeName(ctx context.Context, tx pgx.Tx, e files.Entry) error {
	_, err := tx.Exec(ctx, `update files set named = false where asset_id = $1`, string(e.Asset))
	return err
}

func (f *Files) insertUpload(ctx context.Context, tx pgx.Tx, id asset.ID, u files.Upload) (files.Entry, error) {
	if sql, args := advancing(u.Account, u.Place, ""); sql != "" {
		if _, err := tx.Exec(ctx, sql, args...); err != nil {
			return files.Entry{}, fmt.Errorf("advance file counters: %w", err)
		}
	}
	if _, err := outboxstore.Insert(ctx, tx, []outbox.Intent{ingestion(id, u.Account, u.Size)}); err != nil {
		return files.Entry{}, err
	}
	return one(ctx, tx, `insert into files (asset_id, account, folder, subfolder, filename, named, file_path, hash, size,
			content_type, width, height, expires_at, ingest_since)
		values ($1, $2, $3, $4, $5, true, $6, $7, $8, $9, $10, $11, $12, now()) returning `+fileColumns,
		string(id), u.Account, u.Place.Folder, u.Place.Subfolder, u.Place.Filename, files.Join(u.Place),
		u.Hash[:], u.Size, u.ContentType, u.Width, u.Height, u.ExpiresAt)
}

// extend moves the deadline of a file to a later time; it never moves it to an earlier one.
func (f *Files) extend(ctx context.Context, tx pgx.Tx, e *files.Entry, wanted *time.Time, meta eventlog.Meta) error {
	deadline := asset.LaterDeadline(e.ExpiresAt, wanted)
	if e.ExpiresAt == nil || deadline != nil && deadline.Equal(*e.ExpiresAt) {
		return nil
	}
	e.ExpiresAt = deadline
	if _, err := tx.Exec(ctx, `update files set expires_at = $2 where asset_id = $1`, string(e.Asset), deadline); err != nil {
		return err
	}
	_, err := f.events.AppendTx(ctx, tx, extension(e.Asset, e.Account, deadline, meta))
	return err
}
