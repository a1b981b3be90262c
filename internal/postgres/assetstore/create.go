package assetstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/keystore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// upload is the command that makes an asset of stored bytes. The outcome of each of several that share a transaction is what
// it would have been, had they been carried out one after the other.
type upload struct {
	eventstore.Outcome
	newRow
	free     *freeName // nil = it takes the name that it asks for
	existing *files.Entry
	created

	hadBytesFirst *bool // as the first attempt found it: a later one may find the asset of the first
}

// freeName is the naming rule of ComfyUI: an upload gets the next free name, unless the file that has its name has the same
// bytes or is overwritten. Under an exact rule, it gets its own name or none.
type freeName struct {
	overwrite bool
	exact     bool
	deletes   bool // a file with other bytes that loses its name
	asked     asset.Place
	taken     map[asset.Place]files.Entry // files that have one of the first names
}

// rowSize is about how many bytes a new asset writes beside what its owner sets.
const rowSize = 1024

// Size implements eventstore.Command.
func (u *upload) Size() int {
	n := rowSize + len(u.Metadata) + len(u.Name)
	for _, tag := range u.Tags {
		n += len(tag)
	}
	return n
}

// Create implements asset.Store.
func (s *Store) Create(ctx context.Context, n asset.New) (asset.Stored, error) {
	var free *freeName
	if n.Place != nil && n.Naming != asset.TakesName {
		moves := n.Naming == asset.MovesName
		free = &freeName{overwrite: moves, deletes: moves, exact: n.Naming == asset.KeepsName, asked: *n.Place}
	}
	u, err := s.create(ctx, n, free)
	if err != nil {
		return asset.Stored{}, err
	}
	if u.existing == nil {
		return u.stored(s)
	}
	if n.By.Actor != "" { // the account may have uploaded the file itself
		if _, err := postgres.Exec(ctx, s.pool, `update files set operators = true where asset_id = $1 and not operators`,
			string(u.existing.Asset)); err != nil {
			return asset.Stored{}, postgres.Classify(err, "note the operator of a file")
		}
	}
	found, err := s.fold(ctx, s.pool, u.existing.Asset)
	return asset.Stored{Asset: found, HadBytes: true, Existing: true}, uncertain(err)
}

// Upload implements files.Store.
func (s *Store) Upload(ctx context.Context, u files.Upload) (files.Entry, error) {
	made, err := s.create(ctx, asset.New{
		Account: u.Account, Origin: asset.Uploaded, Hash: u.Hash, Fresh: u.Fresh, Size: u.Size, ContentType: u.ContentType,
		Place: &u.Place, Width: u.Width, Height: u.Height, Deadline: u.ExpiresAt, RequestID: u.RequestID,
	}, &freeName{overwrite: u.Overwrite, asked: u.Place})
	if err != nil {
		return files.Entry{}, err
	}
	state, err := made.state(s)
	if e := made.existing; e != nil {
		e.ExpiresAt = state.ExpiresAt
		return *e, err
	}
	e := entryOf(state)
	if made.rows != nil {
		e.CreatedAt = made.rows.createdAt.UTC()
	}
	return e, err
}

// entryOf returns a new asset as a file.
func entryOf(a asset.Asset) files.Entry {
	e := files.Entry{
		Asset: a.ID, Public: a.PublicID(), Account: a.Account, Place: *a.Place, Hash: a.Hash, Size: a.Size, ContentType: a.ContentType,
		Width: a.Width, Height: a.Height, CreatedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt, Rejected: a.State == asset.Rejected, Named: true,
	}
	if a.Scan != nil {
		e.Thumbnail = a.Scan.Thumbnail
	}
	return e
}

// nameAttempts bounds the retries of a transaction after another one took its name.
const nameAttempts = 4

// create makes an asset, possibly together with others of the account.
func (s *Store) create(ctx context.Context, n asset.New, free *freeName) (*upload, error) {
	limit, err := s.limit(ctx, n)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		name := nameFor(n)
		u := &upload{Outcome: eventstore.Outcome{First: name.first}, newRow: newRow{New: n, naming: name, limit: limit}, free: free}
		earlier, err := s.creations.Do(ctx, n.Account, u)
		switch {
		case violated(err) == "files_name" && attempt < nameAttempts:
			continue
		case err != nil:
			return nil, unknown(postgres.Classify(taken(err, n.Chosen), "create an asset"))
		case earlier:
			u.existing, u.created = nil, created{hadBytes: *u.hadBytesFirst}
			u.before, err = s.fold(ctx, s.pool, name.id)
			return u, uncertain(err)
		}
		return u, nil
	}
}

// uncertain marks a failure to read an asset that was recorded.
func uncertain(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", asset.ErrUncertain, err)
	}
	return nil
}

// unknown marks a failure after which the asset may have been made.
func unknown(err error) error {
	if postgres.IsAmbiguous(err) {
		return uncertain(err)
	}
	return err
}

// violated returns the unique constraint that err violates, or "".
func violated(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == postgres.UniqueViolation {
		return pg.ConstraintName
	}
	return ""
}

// taken returns the error for a chosen id that is in use.
func taken(err error, chosen asset.PublicID) error {
	if chosen != "" && (violated(err) != "" || eventlog.IsRefused(err)) {
		return errTaken(err, chosen)
	}
	return err
}

func errTaken(cause error, chosen asset.PublicID) error {
	return fault.Wrap(cause, fault.Conflict, fault.CodeAssetIDTaken, "the id %s is or was in use", chosen)
}

// limit returns the storage limit for n, or 0 if the asset does not count: copies from a model's answer are paid for.
func (s *Store) limit(ctx context.Context, n asset.New) (int64, error) {
	if n.Origin == asset.Hosted {
		return 0, nil
	}
	return s.storage.Limit(ctx, n.Account)
}

// createAll decides about uploads of one account.
func (s *Store) createAll(account string, all []*upload) eventstore.Decision {
	var found map[blob.Ref]*bytesState
	return eventstore.Decision{
		What: "create assets",
		Read: func(q *pgx.Batch) {
			for _, u := range all {
				queueTaken(q, u.New, u.Fail)
			}
			queueKeys(q, all)
			queueLocks(q, newOf(all)...)
			found = queueBytes(q, account, all)
			queueNames(q, account, all)
		},
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			rows := &assetRows{account: account}
			var later error // of uploads whose name another one has, which are carried out behind it, in order
			for _, u := range all {
				u.existing, u.created = nil, created{}
				err := s.addUpload(ctx, tx, c, rows, u, found[u.Hash])
				switch {
				case errors.Is(err, errNameChosen):
					later = u.Fail(err)
				case err != nil:
					return u.Fail(err)
				}
			}
			rows.write(c)
			return later
		},
	}
}

// queueKeys claims the idempotency keys of uploads, in order, so that two processes do not wait for each other.
func queueKeys(q *pgx.Batch, all []*upload) {
	keyed := slices.DeleteFunc(slices.Clone(all), func(u *upload) bool { return u.Key == "" })
	slices.SortFunc(keyed, func(a, b *upload) int { return strings.Compare(a.Key, b.Key) })
	for _, u := range keyed {
		keystore.QueueClaim(q, u.Account, asset.KeyOperation, u.Key, string(u.naming.id), func(err error) {
			_ = u.Fail(err) // the writer returns it
		})
	}
}

func newOf(all []*upload) []*asset.New {
	news := make([]*asset.New, len(all))
	for i, u := range all {
		news[i] = &u.New
	}
	return news
}

// queueBytes reads which of the uploaded bytes are stored.
func queueBytes(q *pgx.Batch, account string, all []*upload) map[blob.Ref]*bytesState {
	found := make(map[blob.Ref]*bytesState, len(all))
	var states, stored []*bytesState
	for _, u := range all {
		st := found[u.Hash]
		if st == nil {
			st = &bytesState{ref: u.Hash}
			found[u.Hash], states = st, append(states, st)
		}
		st.timed = st.timed || u.Deadline != nil
		if !u.Fresh && !st.stored {
			st.stored, stored = true, append(stored, st)
		}
	}
	queueStoredBytes(q, account, states)
	queueKnown(q, account, stored)
	return found
}

// addUpload decides about one upload. If the account has uploaded the bytes before and the store has had them since,
// their properties are known and no workflow verifies and scans them again.
func (s *Store) addUpload(ctx context.Context, tx postgres.Tx, c *eventstore.Changes, rows *assetRows, u *upload, st *bytesState,
) (err error) {
	if u.hadBytesFirst == nil {
		had := st.hadBytes
		u.hadBytesFirst = &had
	}
	n := u.newRow
	if u.free != nil {
		if u.existing, n.Place, err = u.choose(ctx, tx, rows); err != nil {
			return err
		}
		if u.existing != nil {
			return s.keep(c, u)
		}
		if former, has := u.free.taken[*n.Place]; has && u.free.deletes {
			if err := deleteFormer(ctx, tx, c, u.New, former.Asset); err != nil {
				return err
			}
		}
		path := files.Join(*n.Place)
		n.FilePath = &path
	}
	if !u.Fresh && st.like.id != "" {
		width, height := 0, 0
		if n.known, width, height, err = s.known(ctx, tx, st, n.Size); err != nil {
			return err
		}
		if n.known != nil && n.Width == 0 {
			n.Width, n.Height = width, height
		}
	}
	had := st.hadBytes
	n.Deadline = st.inForce(n.Deadline)
	st.made(n.Deadline)
	u.created, err = s.add(rows, c, n)
	u.hadBytes = had
	return err
}

// deleteFormer deletes the file whose name a new one takes. It stays, without a name, while an unfinished job needs it.
func deleteFormer(ctx context.Context, tx postgres.Tx, c *eventstore.Changes, n asset.New, former asset.ID) error {
	var inUse bool
	err := tx.QueryRow(ctx, lockFile, string(former), n.Account).Scan(&inUse)
	if inUse || errors.Is(err, pgx.ErrNoRows) { // or it has ended
		return nil
	}
	if err != nil {
		return err
	}
	c.Queue(`delete from files where asset_id = $1`, string(former))
	meta := eventlog.Meta{Actor: cmp.Or(n.By.Actor, n.Account), Reason: n.By.Reason, RequestID: n.RequestID}
	return c.Append(ending(former, n.Account, asset.TypeDeleted, asset.DeletedV1{}, meta))
}

// keep answers an upload with the file that has its name and its bytes, whose deadline may move to a later time.
func (s *Store) keep(c *eventstore.Changes, u *upload) (err error) {
	e := u.existing
	u.created = created{hadBytes: true, before: asset.Asset{ID: e.Asset, ExpiresAt: e.ExpiresAt}}
	deadline := asset.LaterDeadline(e.ExpiresAt, u.Deadline)
	if e.ExpiresAt == nil || deadline != nil && deadline.Equal(*e.ExpiresAt) {
		return nil
	}
	u.append, err = s.extend(c, e.Asset, u.New, deadline)
	return err
}

// extend moves the deadline of an asset to a later time.
func (s *Store) extend(c *eventstore.Changes, id asset.ID, n asset.New, deadline *time.Time) (*eventstore.Prepared, error) {
	c.Queue(`update files set expires_at = $2 where asset_id = $1`, string(id), deadline)
	p, err := s.events.Prepare(eventlog.AppendTo(id.Stream(), n.Account, eventlog.Meta{Actor: n.Account, RequestID: n.RequestID},
		eventlog.Event{
			ID:   asset.EventID(id, asset.TypeRetentionExtended, deadline),
			Type: asset.TypeRetentionExtended, Data: asset.RetentionExtendedV1{ExpiresAt: deadline},
		}))
	if err == nil {
		c.AppendPrepared(p)
	}
	return p, err
}

// namesAtOnce is how many alternative names an upload looks up first; most need one.
const namesAtOnce = 32

// candidates returns some of the names that an upload may get, in order.
func (f *freeName) candidates(from, n int) []asset.Place {
	places := make([]asset.Place, n)
	for i := range places {
		places[i] = f.asked
		places[i].Filename = files.Numbered(f.asked.Filename, from+i)
	}
	return places
}

// selectNames reads the files that have one of some names. Each name is looked up by itself, as in takeNames.
const selectNames = `select f.* from unnest($2::text[], $3::text[], $4::text[]) as p (folder, subfolder, filename)
	cross join lateral (select ` + fileColumns + ` from files where account = $1 and named and folder = p.folder
		and subfolder = p.subfolder and filename = p.filename offset 0) f`

// queueNames reads the files that have the names of uploads under the naming rule, and their first alternatives.
func queueNames(q *pgx.Batch, account string, all []*upload) {
	var places []asset.Place
	taken := map[asset.Place]files.Entry{}
	for _, u := range all {
		if u.free != nil {
			u.free.taken = taken
			places = append(places, u.free.candidates(0, namesAtOnce)...)
		}
	}
	if len(places) > 0 {
		q.Queue(selectNames, argsOfNames(account, places)...).Query(func(rows pgx.Rows) error { return collectNames(rows, taken) })
	}
}

func argsOfNames(account string, places []asset.Place) []any {
	var rows postgres.Columns
	for _, p := range places {
		rows.Add(p.Folder, p.Subfolder, p.Filename)
	}
	return rows.Args(account)
}

func collectNames(rows pgx.Rows, taken map[asset.Place]files.Entry) error {
	entries, err := pgx.CollectRows(rows, scanFile)
	for _, e := range entries {
		taken[e.Place] = e
	}
	return err
}

// errNameChosen separates uploads of one name: the later one is carried out after the earlier one.
var errNameChosen = errors.New("another upload of the transaction has the name")

// choose finds the name of an upload under the naming rule, or the file that has its name and its bytes.
func (u *upload) choose(ctx context.Context, tx postgres.Tx, rows *assetRows) (*files.Entry, *asset.Place, error) {
	taken := u.free.taken
	for from, n := 0, namesAtOnce; ; from, n = from+n, 4*n {
		places := u.free.candidates(from, n)
		if from > 0 {
			found, err := tx.Query(ctx, selectNames, argsOfNames(u.Account, places)...)
			if err != nil {
				return nil, nil, err
			}
			if err := collectNames(found, taken); err != nil {
				return nil, nil, err
			}
		}
		for _, p := range places {
			if _, chosen := rows.names[p]; chosen || rows.free[p] {
				return nil, nil, errNameChosen
			}
			e, has := taken[p]
			expired := has && e.ExpiresAt != nil && !e.ExpiresAt.After(time.Now()) // and not swept yet: its name is free
			switch {
			case has && !expired && e.Hash == u.Hash && !e.Rejected:
				rows.chooses(p)
				return &e, nil, nil
			case !has:
				rows.chooses(p)
				return nil, &p, nil
			case expired, u.free.overwrite:
				return nil, &p, nil
			case u.free.exact:
				return nil, nil, fault.New(fault.Conflict, fault.CodeNameTaken, "%s is the name of a file with other bytes, which has the hash %s",
					files.Join(p), e.Hash)
			}
		}
	}
}

// chooses notes a name that no other file loses.
func (r *assetRows) chooses(p asset.Place) {
	if r.free == nil {
		r.free = map[asset.Place]bool{}
	}
	r.free[p] = true
}
