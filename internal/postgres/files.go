package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/asset"
	"github.com/millrace-dev/millrace/internal/blob"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/files"
	"github.com/millrace-dev/millrace/internal/job"
	"github.com/millrace-dev/millrace/internal/node"
	"github.com/millrace-dev/millrace/internal/outbox"
)

// Files records the files of accounts. It implements files.Store.
type Files struct {
	pool    *pgxpool.Pool
	events  *EventStore
	storage *Storage // nil = no limit
}

var _ files.Store = (*Files)(nil)

// NewFiles returns the file records in pool's database, whose facts go through events.
func NewFiles(pool *pgxpool.Pool, events *EventStore) *Files {
	return &Files{pool: pool, events: events}
}

// Within returns the store that keeps uploads within the limits of accounts. What nodes save is kept in any case:
// their job was accepted.
func (f *Files) Within(storage *Storage) *Files {
	limited := *f
	limited.storage = storage
	return &limited
}

const (
	fileColumns = `asset_id, account, folder, subfolder, filename, hash, size, content_type, width, height,
		rejected, thumbnail, created_at, expires_at, named`
	alive = `(expires_at is null or expires_at > now())`
	// selectFile is for one viewer: account $1, job $2 or null.
	selectFile = `select ` + fileColumns + ` from files where account = $1 and (` + alive + `
		or exists (select from asset_holds h where h.asset_id = files.asset_id and h.job_id = $2::uuid))`
)

func scanFile(row pgx.CollectableRow) (files.Entry, error) {
	var e files.Entry
	var id [16]byte
	var hash, thumbnail []byte
	err := row.Scan(&id, &e.Account, &e.Place.Folder, &e.Place.Subfolder, &e.Place.Filename, &hash, &e.Size,
		&e.ContentType, &e.Width, &e.Height, &e.Rejected, &thumbnail, &e.CreatedAt, &e.ExpiresAt, &e.Named)
	if err != nil {
		return files.Entry{}, err
	}
	e.Asset, e.Hash = assetID(id), blob.Ref(hash)
	if thumbnail != nil {
		e.Thumbnail = blob.Ref(thumbnail)
	}
	e.CreatedAt = e.CreatedAt.UTC()
	if e.ExpiresAt != nil {
		*e.ExpiresAt = e.ExpiresAt.UTC()
	}
	return e, nil
}

// one runs a query for at most one file; none is NotFound.
func one(ctx context.Context, db Queryer, query string, args ...any) (files.Entry, error) {
	rows, err := db.Query(ctx, query, args...)
	if err != nil {
		return files.Entry{}, classify(err, "look up a file")
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanFile)
	if errors.Is(err, pgx.ErrNoRows) {
		return files.Entry{}, fault.New(fault.NotFound, "not_found", "there is no such file")
	}
	return e, classify(err, "look up a file")
}

func jobOrNull(who files.Viewer) *string {
	if who.Job == "" {
		return nil
	}
	return &who.Job
}

// ByName implements files.Store.
func (f *Files) ByName(ctx context.Context, who files.Viewer, p asset.Place) (files.Entry, error) {
	return one(ctx, f.pool, selectFile+` and named and folder = $3 and subfolder = $4 and filename = $5`,
		who.Account, jobOrNull(who), p.Folder, p.Subfolder, p.Filename)
}

// ByAsset implements files.Store.
func (f *Files) ByAsset(ctx context.Context, who files.Viewer, id asset.ID) (files.Entry, error) {
	return one(ctx, f.pool, selectFile+` and asset_id = $3`, who.Account, jobOrNull(who), string(id))
}

// OfAnyone implements files.Store.
func (f *Files) OfAnyone(ctx context.Context, id asset.ID) (files.Entry, error) {
	return one(ctx, f.pool, `select `+fileColumns+` from files where asset_id = $1 and `+alive, string(id))
}

// ByAssets implements files.Store in one query.
func (f *Files) ByAssets(ctx context.Context, who files.Viewer, ids []asset.ID) (map[asset.ID]files.Entry, error) {
	rows, err := f.pool.Query(ctx, selectFile+` and asset_id = any($3::uuid[])`, who.Account, jobOrNull(who), assetIDs(ids))
	if err != nil {
		return nil, classify(err, "look up files")
	}
	entries, err := pgx.CollectRows(rows, scanFile)
	if err != nil {
		return nil, classify(err, "look up files")
	}
	found := make(map[asset.ID]files.Entry, len(entries))
	for _, e := range entries {
		found[e.Asset] = e
	}
	return found, nil
}

// ByHash implements files.Store: the newest of the account's files with these bytes.
func (f *Files) ByHash(ctx context.Context, who files.Viewer, hash blob.Ref) (files.Entry, error) {
	return one(ctx, f.pool, selectFile+` and hash = $3 and not rejected order by created_at desc, asset_id limit 1`,
		who.Account, jobOrNull(who), hash[:])
}

// Names implements files.Store.
func (f *Files) Names(ctx context.Context, account string, folder node.Folder, limit int) ([]string, error) {
	rows, err := f.pool.Query(ctx, `select case subfolder when '' then filename else subfolder || '/' || filename end
		from files where account = $1 and folder = $2 and named and not rejected and `+alive+`
		order by subfolder, filename limit $3`, account, string(folder), limit)
	if err != nil {
		return nil, classify(err, "list files")
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return names, classify(err, "list files")
}

// saveFile allots the next number of a prefix and inserts the file, unless its producer saved it
// before; either way it returns the file and whether it is new. The counter's row is locked until
// commit, so parallel calls get different numbers. The files of the folder are looked through
// only when the prefix is new.
const saveFile = `
with known as (
	select ` + fileColumns + ` from files where job_id = $7 and run = $8 and node = $9 and idx = $10
), counter as (
	insert into file_counters as c (account, folder, subfolder, prefix, last)
	select $1, $2, $3, $4, case
		when exists (select from file_counters where account = $1 and folder = $2 and subfolder = $3 and prefix = $4) then 1
		else 1 + (` + highestNumber + `) end
	where not exists (select from known)
	on conflict (account, folder, subfolder, prefix) do update set last = c.last + 1
	returning last
), new as (
	insert into files (account, folder, subfolder, filename, named, asset_id, job_id, run, node, idx, hash, size,
		content_type, width, height, expires_at)
	select $1, $2, $3, $4 || '_' || lpad(last::text, greatest(5, length(last::text)), '0') || $5, true,
		$6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16
	from counter
	returning ` + fileColumns + `
)
select ` + fileColumns + `, true from new union all select ` + fileColumns + `, false from known`

// highestNumber is the highest number that a name below the prefix ($1 account, $2 folder,
// $3 subfolder, $4 prefix) carries, 0 when none does.
const highestNumber = `select coalesce(max((regexp_match(substr(filename, length($4::text) + 2), '^([0-9]{1,9})([^0-9]|$)'))[1]::bigint), 0)
	from files where account = $1 and folder = $2 and subfolder = $3 and named and starts_with(filename, $4::text || '_')`

// raiseCounter brings a counter to the highest number in use. It repairs the case of a name that
// was taken without its counter knowing.
const raiseCounter = `update file_counters set last = greatest(last, (` + highestNumber + `))
	where account = $1 and folder = $2 and subfolder = $3 and prefix = $4`

// saveAttempts bounds how often a save meets another attempt of itself or a name in its way.
const saveAttempts = 4

// Save implements files.Store.
func (f *Files) Save(ctx context.Context, s files.Saving) (files.Entry, error) {
	for attempt := 1; ; attempt++ {
		e, err := f.trySave(ctx, s)
		switch taken := violated(err); {
		case errors.Is(err, errEnded):
			return f.ended(ctx, s)
		case taken == "" || attempt == saveAttempts:
			return e, classify(err, "save a file")
		case taken == "files_name":
			if _, err := f.pool.Exec(ctx, raiseCounter, s.Account, s.Folder, s.Subfolder, s.Prefix); err != nil {
				return files.Entry{}, classify(err, "repair a file counter")
			}
		}
	}
}

// violated returns the unique constraint that err is about, or "".
func violated(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == uniqueViolation {
		return pg.ConstraintName
	}
	return ""
}

func (f *Files) trySave(ctx context.Context, s files.Saving) (files.Entry, error) {
	var e files.Entry
	var fresh bool
	err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		var err error
		if e, fresh, err = f.allot(ctx, tx, s); err != nil || !fresh {
			return err
		}
		if err := mayProduce(ctx, tx, s); err != nil {
			return err
		}
		if err := f.advance(ctx, tx, e.Account, e.Place, s.Prefix); err != nil {
			return err
		}
		p := s.Producer
		_, err = f.events.AppendTx(ctx, tx, creation(e, asset.Produced, &p, eventlog.Meta{Actor: "job " + p.Job}))
		return err
	})
	if err == nil && fresh {
		f.events.Wake()
	}
	return e, err
}

// errEnded says that what is to be saved was saved by an earlier attempt, and deleted or expired since.
var errEnded = errors.New("the file was saved before and is gone")

// mayProduce refuses an attempt that outlived its job or its run: what it saves would belong to nobody. The
// stream stays locked, so that the job ends after what it saved, or before. It also refuses to bring back a file
// that an earlier attempt saved and that has ended since: the new row is written, so no other attempt can
// write one, and a stream that is there by now is that of a file without a row.
func mayProduce(ctx context.Context, tx pgx.Tx, s files.Saving) error {
	var over, ended bool
	p := s.Producer
	err := tx.QueryRow(ctx, `select coalesce((select s.closed or coalesce(j.run <> $3, false)
			from streams s left join job_slots j on j.job_id = $2
			where s.id = $1 for share of s), false), exists (select from streams where id = $4)`,
		job.ID(p.Job).Stream(), p.Job, p.Run, s.Asset.Stream()).Scan(&over, &ended)
	switch {
	case err != nil:
		return fmt.Errorf("look whether the job goes on: %w", err)
	case over:
		return fault.New(fault.Conflict, "run_over", "run %d of job %s is over", p.Run, p.Job)
	case ended:
		return errEnded
	}
	return nil
}

// ended returns a file that is gone as it was recorded. A user who deletes an output of a job that still runs wants
// the file gone and the job finished, whether the attempt that saved it lives to tell of it or not.
func (f *Files) ended(ctx context.Context, s files.Saving) (files.Entry, error) {
	recorded, err := ReadStream(ctx, f.pool, s.Asset.Stream(), 0, 1)
	if err != nil {
		return files.Entry{}, err
	}
	for _, rec := range recorded {
		data, err := f.events.Decode(rec)
		if err != nil {
			return files.Entry{}, err
		}
		if e, ok := data.(asset.CreatedV1); ok && e.Place != nil && rec.Account == s.Account {
			return files.Entry{
				Asset: s.Asset, Account: s.Account, Place: *e.Place, Hash: e.Hash, Size: e.Size, ContentType: e.ContentType,
				Width: e.Width, Height: e.Height, CreatedAt: rec.RecordedAt, ExpiresAt: e.ExpiresAt,
			}, nil
		}
	}
	return files.Entry{}, fault.New(fault.Internal, "", "the stream of asset %s does not say how it was saved", s.Asset)
}

func (f *Files) allot(ctx context.Context, tx pgx.Tx, s files.Saving) (files.Entry, bool, error) {
	rows, err := tx.Query(ctx, saveFile, s.Account, string(s.Folder), s.Subfolder, s.Prefix, s.Suffix, string(s.Asset),
		s.Producer.Job, s.Producer.Run, s.Producer.Node, s.Producer.Index, s.Hash[:], s.Size, s.ContentType,
		s.Width, s.Height, s.ExpiresAt)
	if err != nil {
		return files.Entry{}, false, err
	}
	type result struct {
		files.Entry
		fresh bool
	}
	r, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (result, error) {
		var r result
		e, err := scanFile(withLast{row, &r.fresh})
		r.Entry = e
		return r, err
	})
	return r.Entry, r.fresh, err
}

// withLast scans one more column behind those asked for.
type withLast struct {
	pgx.CollectableRow
	last any
}

// Scan implements pgx.Row.
func (w withLast) Scan(dest ...any) error { return w.CollectableRow.Scan(append(dest, w.last)...) }

// advance moves the existing counters of other prefixes that a new name also counts for.
func (f *Files) advance(ctx context.Context, tx pgx.Tx, account string, p asset.Place, own string) error {
	prefixes, numbers := files.Counters(p.Filename)
	if p.Folder == string(node.FolderInput) || len(prefixes) == 0 || len(prefixes) == 1 && prefixes[0] == own {
		return nil // nothing is allotted in the input folder
	}
	_, err := tx.Exec(ctx, `update file_counters c set last = greatest(c.last, n.number)
		from unnest($4::text[], $5::bigint[]) as n (prefix, number)
		where c.account = $1 and c.folder = $2 and c.subfolder = $3 and c.prefix = n.prefix and c.prefix <> $6`,
		account, p.Folder, p.Subfolder, prefixes, numbers, own)
	if err != nil {
		return fmt.Errorf("advance file counters: %w", err)
	}
	return nil
}

// creation returns the append that records a new asset.
func creation(e files.Entry, origin asset.Origin, producer *asset.Producer, meta eventlog.Meta) eventlog.Append {
	place := e.Place
	fact := asset.CreatedV1{
		Origin: origin, Hash: e.Hash, Size: e.Size, ContentType: e.ContentType, Place: &place, Producer: producer,
		Width: e.Width, Height: e.Height, ExpiresAt: e.ExpiresAt,
	}
	path := files.Join(place)
	fact.FilePath = &path
	return createdAppend(e.Asset, e.Account, fact, meta)
}

func createdAppend(id asset.ID, account string, fact asset.CreatedV1, meta eventlog.Meta) eventlog.Append {
	return eventlog.Append{
		Stream: id.Stream(), Account: account, Expected: 0, Meta: meta,
		Events: []eventlog.Event{{ID: asset.FactID(id, asset.TypeCreated), Type: asset.TypeCreated, Data: fact}},
	}
}

// namesAtOnce is how many alternatives of a name one query looks at.
const namesAtOnce = 32

// Upload implements files.Store.
func (f *Files) Upload(ctx context.Context, u files.Upload) (files.Entry, error) {
	for attempt := 1; ; attempt++ {
		e, err := f.tryUpload(ctx, u)
		if violated(err) != "files_name" || attempt == saveAttempts {
			return e, classify(err, "record an upload")
		}
	}
}

func (f *Files) tryUpload(ctx context.Context, u files.Upload) (files.Entry, error) {
	var e files.Entry
	limit, err := f.storage.Limit(ctx, u.Account)
	if err != nil {
		return e, err
	}
	err = pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		if err := lockName(ctx, tx, u.Account, u.Place); err != nil {
			return err
		}
		held, filename, err := f.settle(ctx, tx, u)
		if err != nil {
			return err
		}
		meta := eventlog.Meta{Actor: u.Account, RequestID: u.RequestID}
		if held != nil {
			e = *held
			return f.extend(ctx, tx, &e, u.ExpiresAt, meta)
		}
		u.Place.Filename = filename
		if e, err = f.insertUpload(ctx, tx, u); err != nil {
			return err
		}
		if err := within(ctx, tx, u.Account, limit); err != nil {
			return err
		}
		_, err = f.events.AppendTx(ctx, tx, creation(e, asset.Uploaded, nil, meta))
		return err
	})
	if err == nil {
		f.events.Wake()
	}
	return e, err
}

// lockName lets uploads of the same name in an account wait for each other.
func lockName(ctx context.Context, tx pgx.Tx, account string, p asset.Place) error {
	_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, $2))`,
		account+"\x1f"+p.Folder+"\x1f"+p.Subfolder+"/"+p.Filename, lockOfNames)
	return err
}

// settle finds the file of that name with the same bytes, or else the first free name.
func (f *Files) settle(ctx context.Context, tx pgx.Tx, u files.Upload) (*files.Entry, string, error) {
	for from := 0; ; from += namesAtOnce {
		candidates := make([]string, namesAtOnce)
		for i := range candidates {
			candidates[i] = files.Numbered(u.Place.Filename, from+i)
		}
		taken, err := f.taken(ctx, tx, u, candidates)
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
				return nil, name, f.unname(ctx, tx, e)
			}
		}
	}
}

func (f *Files) taken(ctx context.Context, tx pgx.Tx, u files.Upload, names []string) (map[string]files.Entry, error) {
	rows, err := tx.Query(ctx, `select `+fileColumns+` from files
		where account = $1 and named and folder = $2 and subfolder = $3 and filename = any($4)`,
		u.Account, u.Place.Folder, u.Place.Subfolder, names)
	if err != nil {
		return nil, err
	}
	entries, err := pgx.CollectRows(rows, scanFile)
	taken := make(map[string]files.Entry, len(entries))
	for _, e := range entries {
		if e.ExpiresAt != nil && !e.ExpiresAt.After(time.Now()) { // waits for the sweep; its name is free
			if err := f.unname(ctx, tx, e); err != nil {
				return nil, err
			}
			continue
		}
		taken[e.Place.Filename] = e
	}
	return taken, err
}

// unname takes a file's name away; the asset lives on under its id.
func (f *Files) unname(ctx context.Context, tx pgx.Tx, e files.Entry) error {
	_, err := tx.Exec(ctx, `update files set named = false where asset_id = $1`, string(e.Asset))
	return err
}

func (f *Files) insertUpload(ctx context.Context, tx pgx.Tx, u files.Upload) (files.Entry, error) {
	if err := f.advance(ctx, tx, u.Account, u.Place, ""); err != nil {
		return files.Entry{}, err
	}
	id := asset.NewID()
	if _, err := putIntents(ctx, tx, []outbox.Intent{ingestion(id, u.Account, u.Size)}); err != nil {
		return files.Entry{}, err
	}
	return one(ctx, tx, `insert into files (asset_id, account, folder, subfolder, filename, named, file_path, hash, size,
			content_type, width, height, expires_at, ingest_since)
		values ($1, $2, $3, $4, $5, true, $6, $7, $8, $9, $10, $11, $12, now()) returning `+fileColumns,
		string(id), u.Account, u.Place.Folder, u.Place.Subfolder, u.Place.Filename, files.Join(u.Place),
		u.Hash[:], u.Size, u.ContentType, u.Width, u.Height, u.ExpiresAt)
}

// extend moves a file's deadline to a later one, never to an earlier one.
func (f *Files) extend(ctx context.Context, tx pgx.Tx, e *files.Entry, wanted *time.Time, meta eventlog.Meta) error {
	deadline := asset.Later(e.ExpiresAt, wanted)
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

func assetID(raw [16]byte) asset.ID { return asset.ID(uuid.UUID(raw).String()) }
