package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/asset"
	"github.com/millrace-dev/millrace/internal/blob"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

var _ asset.References = (*Assets)(nil)

// Expire ends up to limit assets whose deadline has passed and that no unfinished job needs, and
// returns how many. Reads ended at the deadline already; this frees the rows.
func (s *Assets) Expire(ctx context.Context, limit int) (int, error) {
	var ended int
	err := s.transact(ctx, "expire assets", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `delete from files where asset_id in (
				select asset_id from files where expires_at <= now() and not `+heldByJob+`
				order by expires_at limit $1 for update skip locked)
			returning asset_id, account`, limit)
		if err != nil {
			return err
		}
		var id uuid.UUID
		var account string
		var appends []eventlog.Append
		_, err = pgx.ForEachRow(rows, []any{&id, &account}, func() error {
			appends = append(appends, expiry(asset.ID(id.String()), account))
			return nil
		})
		if err != nil || len(appends) == 0 {
			return err
		}
		ended = len(appends)
		_, err = s.events.AppendAll(ctx, tx, appends)
		return err
	})
	return ended, err
}

func expiry(id asset.ID, account string) eventlog.Append {
	return eventlog.Append{
		Stream: id.Stream(), Account: account, Expected: eventlog.AnyVersion, Close: true,
		Events: []eventlog.Event{{ID: asset.FactID(id, asset.TypeExpired), Type: asset.TypeExpired, Data: asset.ExpiredV1{}}},
		Meta:   eventlog.Meta{Actor: "retention"},
	}
}

// Forget removes keys and holds that mean nothing any more: keys past their day, holds of jobs that
// neither wait nor run.
func (s *Assets) Forget(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `with keys as (delete from idempotency_keys where expires_at <= now())
		delete from asset_holds h where not exists (select from job_slots s where s.job_id = h.job_id)
			and not exists (select from job_queue q where q.job_id = h.job_id)`)
	return classify(err, "forget spent keys and holds")
}

// documentBlob is the expression of the index events_document, letter for letter.
const documentBlob = `substring(data::text from '"document":\{"blob":"(blake3:[0-9a-f]{64})"\}')`

// Referenced implements asset.References: the blobs of files, of their thumbnails, and of large
// submissions, which only their event refers to.
func (s *Assets) Referenced(ctx context.Context, refs []blob.Ref) (map[blob.Ref]bool, error) {
	hashes, names := make([][]byte, len(refs)), make([]string, len(refs))
	for i, ref := range refs {
		hashes[i], names[i] = ref[:], ref.String()
	}
	rows, err := s.pool.Query(ctx, `
		select h from unnest($1::bytea[]) h where exists (select from files where hash = h)
			or exists (select from files where thumbnail = h)
			or exists (select from userdata where hash = h)
		union all
		select decode(substr(n, 8), 'hex') from unnest($2::text[]) n where exists (
			select from events where type = 'job.submitted.v1' and `+documentBlob+` = n and `+documentBlob+` is not null)`, hashes, names)
	if err != nil {
		return nil, classify(err, "look for references")
	}
	needed := make(map[blob.Ref]bool, len(refs))
	var hash []byte
	_, err = pgx.ForEachRow(rows, []any{&hash}, func() error {
		needed[blob.Ref(hash)] = true
		return nil
	})
	return needed, classify(err, "look for references")
}
