package assetstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// saveFile assigns the next number of a prefix and inserts the file, unless its producer saved it before. In both
// cases it returns the file and whether it is new. The row of the counter stays locked until the commit, so
// concurrent calls get different numbers. The files of the folder are only searched if the prefix is new.
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
select ` + fileNames + `, true from new union all select ` + fileNames + `, false from known`

// highestNumber is the highest number in a name with the prefix ($1 account, $2 folder, $3 subfolder, $4 prefix), or
// 0.
const highestNumber = `select coalesce(max((regexp_match(substr(filename, length($4::text) + 2), '^([0-9]{1,9})([^0-9]|$)'))[1]::bigint), 0)
	from files where account = $1 and folder = $2 and subfolder = $3 and named and starts_with(filename, $4::text || '_')`

// raiseCounter sets a counter to the highest number in use. It repairs a counter that missed a name.
const raiseCounter = `update file_counters set last = greatest(last, (` + highestNumber + `))
	where account = $1 and folder = $2 and subfolder = $3 and prefix = $4`

// saveAttempts bounds the retries after a concurrent attempt or a name in use.
const saveAttempts = 4

// Save implements files.Store.
func (f *Files) Save(ctx context.Context, s files.Saving) (files.Entry, error) {
	for attempt := 1; ; attempt++ {
		e, err := f.trySave(ctx, s)
		switch taken := violated(err); {
		case errors.Is(err, errEnded):
			return f.alreadySaved(ctx, s.Account, s.Asset)
		case taken == "" || attempt == saveAttempts:
			return e, postgres.Classify(err, "save a file")
		case taken == "files_name":
			if _, err := f.pool.Exec(ctx, raiseCounter, s.Account, s.Folder, s.Subfolder, s.Prefix); err != nil {
				return files.Entry{}, postgres.Classify(err, "repair a file counter")
			}
		}
	}
}

// violated returns the unique constraint that err violates, or "".
func violated(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == postgres.UniqueViolation {
		return pg.ConstraintName
	}
	return ""
}

func (f *Files) trySave(ctx context.Context, s files.Saving) (files.Entry, error) {
	var saved numbered
	var may permission
	look := func(q *pgx.Batch) {
		saved.queue(q, s)
		may.queue(q, s)
	}
	err := postgres.Pipelined(ctx, f.pool, look, func(_ postgres.Tx, q *pgx.Batch) error {
		if !saved.fresh {
			return nil
		}
		if err := may.check(s.Producer); err != nil {
			return err
		}
		if sql, args := advancing(saved.Account, saved.Place, s.Prefix); sql != "" {
			q.Queue(sql, args...)
		}
		p := s.Producer
		p.Chosen = may.chosen
		_, err := f.events.QueueAppend(q, []eventlog.Append{creation(saved.Entry, asset.Produced, &p, eventlog.Meta{Actor: "job " + p.Job})})
		return err
	})
	if err != nil {
		return files.Entry{}, err
	}
	if saved.fresh {
		f.events.Wake()
	}
	return saved.Entry, nil
}

// errEnded means that an earlier attempt saved the file, and the file was deleted or has expired since.
var errEnded = errors.New("the file was saved before and has been deleted")

// permission is whether an attempt may save a file, read with the stream of its job locked, so that the job ends before or
// after the save.
type permission struct {
	over   bool   // the job or the run has ended
	ended  bool   // the asset exists: the file was saved before and has ended since
	chosen string // the public id that a client chose for the job, if any
}

// queue reads the permission. The row of the file is written already, so a stream that exists belongs to a file without a row.
func (m *permission) queue(q *pgx.Batch, s files.Saving) {
	p := s.Producer
	q.Queue(`select coalesce((select s.closed or coalesce(j.run <> $3, false)
			from streams s left join job_slots j on j.job_id = $2
			where s.id = $1 for share of s), false), exists (select from streams where id = $4),
			coalesce((select public_id::text from job_public_ids where job_id = $2), '')`,
		job.ID(p.Job).Stream(), p.Job, p.Run, s.Asset.Stream()).
		QueryRow(func(row pgx.Row) error { return row.Scan(&m.over, &m.ended, &m.chosen) })
}

// check refuses an attempt that outlived its job or its run, because its file would belong to no job. It also refuses to
// restore a file that an earlier attempt saved and that has ended since.
func (m *permission) check(p asset.Producer) error {
	switch {
	case m.over:
		return fault.New(fault.Conflict, fault.CodeRunOver, "run %d of job %s has ended", p.Run, p.Job)
	case m.ended:
		return errEnded
	}
	return nil
}

// alreadySaved returns a file as it was recorded, even if it has ended. If a user deletes an output of a running job,
// the file stays deleted and the job continues.
func (f *Files) alreadySaved(ctx context.Context, account string, id asset.ID) (files.Entry, error) {
	recorded, err := eventstore.ReadStream(ctx, f.pool, id.Stream(), 0, 1)
	if err != nil {
		return files.Entry{}, err
	}
	for _, rec := range recorded {
		data, err := f.events.Decode(rec)
		if err != nil {
			return files.Entry{}, err
		}
		if e, ok := data.(asset.CreatedV1); ok && e.Place != nil && rec.Account == account {
			return files.Entry{
				Asset: id, Public: asset.PublicID(id), Account: account, Place: *e.Place, Hash: e.Hash, Size: e.Size, ContentType: e.ContentType,
				Width: e.Width, Height: e.Height, CreatedAt: rec.RecordedAt, ExpiresAt: e.ExpiresAt,
			}, nil
		}
	}
	return files.Entry{}, fault.New(fault.Internal, "", "the stream of asset %s does not begin with a saved output", id)
}

// numbered is a file with the next number of its prefix.
type numbered struct {
	files.Entry
	fresh bool // no attempt saved it before
}

func (n *numbered) queue(q *pgx.Batch, s files.Saving) {
	q.Queue(saveFile, s.Account, string(s.Folder), s.Subfolder, s.Prefix, s.Suffix, string(s.Asset),
		s.Producer.Job, s.Producer.Run, s.Producer.Node, s.Producer.Index, s.Hash[:], s.Size, s.ContentType,
		s.Width, s.Height, s.ExpiresAt).Query(func(rows pgx.Rows) (err error) {
		*n, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (r numbered, err error) {
			r.Entry, err = scanFile(withLast{row, &r.fresh})
			return r, err
		})
		return err
	})
}

// withLast scans one more column after the requested ones.
type withLast struct {
	pgx.CollectableRow
	last any
}

// Scan implements pgx.Row.
func (w withLast) Scan(dest ...any) error { return w.CollectableRow.Scan(append(dest, w.last)...) }

// advancing returns the statement that raises the existing counters of other prefixes to which a new name belongs, "" if it can
// belong to none.
func advancing(account string, p asset.Place, own string) (sql string, args []any) {
	prefixes, numbers := files.Counters(p.Filename)
	if p.Folder == string(node.FolderInput) || len(prefixes) == 0 || len(prefixes) == 1 && prefixes[0] == own {
		return "", nil // the input folder has no counters
	}
	return `update file_counters c set last = greatest(c.last, n.number)
		from unnest($4::text[], $5::bigint[]) as n (prefix, number)
		where c.account = $1 and c.folder = $2 and c.subfolder = $3 and c.prefix = n.prefix and c.prefix <> $6`,
		[]any{account, p.Folder, p.Subfolder, prefixes, numbers, own}
}
