package assetstore

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

const (
	fileColumns = `asset_id, account, folder, subfolder, filename, hash, size, content_type, width, height,
		rejected, thumbnail, created_at, expires_at, named,
		coalesce((select public_id from asset_public_ids p where p.asset_id = files.asset_id), files.asset_id) as public_id`
	alive = `(expires_at is null or expires_at > now())`
	// selectFile selects files for one viewer: account $1 and job $2, which may be null.
	selectFile = `select ` + fileColumns + ` from files where account = $1 and (` + alive + `
		or exists (select from asset_holds h where h.asset_id = files.asset_id and h.job_id = $2::uuid))`
)

func scanFile(row pgx.CollectableRow) (files.Entry, error) {
	var e files.Entry
	var id, public [16]byte
	var hash, thumbnail []byte
	err := row.Scan(&id, &e.Account, &e.Place.Folder, &e.Place.Subfolder, &e.Place.Filename, &hash, &e.Size,
		&e.ContentType, &e.Width, &e.Height, &e.Rejected, &thumbnail, &e.CreatedAt, &e.ExpiresAt, &e.Named, &public)
	if err != nil {
		return files.Entry{}, err
	}
	e.Asset, e.Public, e.Hash = assetID(id), asset.PublicID(assetID(public)), blob.Ref(hash)
	if thumbnail != nil {
		e.Thumbnail = blob.Ref(thumbnail)
	}
	e.CreatedAt = e.CreatedAt.UTC()
	if e.ExpiresAt != nil {
		*e.ExpiresAt = e.ExpiresAt.UTC()
	}
	return e, nil
}

// one runs a query for at most one file. Without a row it returns NotFound.
func one(ctx context.Context, db postgres.Queryer, query string, args ...any) (files.Entry, error) {
	e, ok, err := postgres.One(ctx, db, "find a file", scanFile, query, args...)
	if err == nil && !ok {
		err = errNoFile(nil)
	}
	return e, err
}

func jobOrNull(who files.Viewer) *string {
	if who.Job == "" {
		return nil
	}
	return &who.Job
}

// ByName implements files.Store.
func (s *Store) ByName(ctx context.Context, who files.Viewer, p asset.Place) (files.Entry, error) {
	return one(ctx, s.pool, selectFile+` and named and folder = $3 and subfolder = $4 and filename = $5`,
		who.Account, jobOrNull(who), p.Folder, p.Subfolder, p.Filename)
}

// ByAsset implements files.Store.
func (s *Store) ByAsset(ctx context.Context, who files.Viewer, id asset.PublicID) (files.Entry, error) {
	found, err := s.ByAssets(ctx, who, []asset.PublicID{id})
	if err != nil {
		return files.Entry{}, err
	}
	e, ok := found[id]
	if !ok {
		return files.Entry{}, errNoFile(nil)
	}
	return e, nil
}

func errNoFile(cause error) error {
	return fault.Wrap(cause, fault.NotFound, fault.CodeNotFound, "there is no such file")
}

// OfAnyone implements files.Store.
func (s *Store) OfAnyone(ctx context.Context, id asset.ID) (files.Entry, error) {
	return one(ctx, s.pool, `select `+fileColumns+` from files where asset_id = $1 and `+alive, string(id))
}

// known is the condition that a file of account $1 has one of the ids $3, as its own id or as a public id that a
// client chose.
const known = ` and asset_id = any($3::uuid[] || array(select asset_id from asset_public_ids where account = $1
	and public_id = any($3::uuid[])))`

// ByAssets implements files.Store with one query. It leaves out a file that it finds by its own id although a client
// chose another public id for it.
func (s *Store) ByAssets(ctx context.Context, who files.Viewer, ids []asset.PublicID) (map[asset.PublicID]files.Entry, error) {
	entries, err := postgres.Collect(ctx, s.pool, "find files", scanFile, selectFile+known, who.Account, jobOrNull(who), ids)
	if err != nil {
		return nil, err
	}
	found := make(map[asset.PublicID]files.Entry, len(entries))
	for _, e := range entries {
		if slices.Contains(ids, e.Public) {
			found[e.Public] = e
		}
	}
	return found, nil
}

// ByHash implements files.Store: it returns the newest of the account's files with these bytes.
func (s *Store) ByHash(ctx context.Context, who files.Viewer, hash blob.Ref) (files.Entry, error) {
	return one(ctx, s.pool, selectFile+` and hash = $3 and not rejected order by created_at desc, asset_id limit 1`,
		who.Account, jobOrNull(who), hash[:])
}

// Names implements files.Store.
func (s *Store) Names(ctx context.Context, account string, folder node.Folder, limit int) ([]string, error) {
	return postgres.Collect(ctx, s.pool, "list files", pgx.RowTo[string],
		`select case subfolder when '' then filename else subfolder || '/' || filename end
		from files where account = $1 and folder = $2 and named and not rejected and `+alive+`
		order by subfolder, filename limit $3`, account, string(folder), limit)
}

func assetID(raw [16]byte) asset.ID { return asset.ID(uuid.UUID(raw).String()) }

// maxWeights bounds the weights that one query reads.
const maxWeights = 10_000

// selectWeights reads the model files of some accounts, or of all if there are none: those that operators put, and in modes
// without accounts all. Servers offer a file to everyone, so the uploads of an account do not count.
const selectWeights = `select f.asset_id::text, f.account, f.folder, f.subfolder, f.filename, f.hash, f.size, f.rejected, f.created_at,
		coalesce(v.metadata, '{}')
	from files f left join assets_v1 v on v.id = f.asset_id::text
	where ($1::text[] is null or f.account = any($1)) and f.named and f.folder = 'input' and f.subfolder like 'models/%'
		and (f.operators or f.account in ('*', 'local'))
		and (f.expires_at is null or f.expires_at > now())
	order by f.subfolder, f.filename, f.account limit $2`

// Weights returns the weights of some accounts by folder and name; nil = of all accounts.
func (s *Store) Weights(ctx context.Context, accounts []string) ([]asset.Weight, error) {
	return postgres.Collect(ctx, s.pool, "read weights", scanWeight, selectWeights, accounts, maxWeights)
}

func scanWeight(row pgx.CollectableRow) (w asset.Weight, err error) {
	var place asset.Place
	var hash, notes []byte
	if err = row.Scan(&w.ID, &w.Account, &place.Folder, &place.Subfolder, &place.Filename, &hash, &w.Size, &w.Rejected, &w.CreatedAt,
		&notes); err != nil {
		return w, err
	}
	w.Hash, w.CreatedAt = blob.Ref(hash), w.CreatedAt.UTC()
	w.Folder, w.Name, _ = place.ModelPath()
	_ = json.Unmarshal(notes, &w.WeightNotes) // other metadata of an owner gives no notes
	return w, nil
}
