package assetstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

const (
	// selectSaved reads the file that a producer saved.
	selectSaved = `select ` + fileColumns + ` from files where ` + savedBy
	savedBy     = `job_id = $1 and run = $2 and node = $3 and idx = $4`

	// nextNumber assigns the next number of a prefix, unless the producer saved its file before. The row of the counter stays
	// locked until the commit, so concurrent calls get different numbers. The files of the folder are only searched if the
	// prefix is new.
	nextNumber = `insert into file_counters as c (account, folder, subfolder, prefix, last)
		select $5, $6, $7, $8, case
			when exists (select from file_counters where account = $5 and folder = $6 and subfolder = $7 and prefix = $8) then 1
			else 1 + (` + highestNumber + `) end
		where not exists (select from files where ` + savedBy + `)
		on conflict (account, folder, subfolder, prefix) do update set last = c.last + 1
		returning last`

	// highestNumber is the highest number in a name with the prefix, or 0.
	highestNumber = `select coalesce(max((regexp_match(substr(filename, length($8::text) + 2), '^([0-9]{1,9})([^0-9]|$)'))[1]::bigint), 0)
		from files where account = $5 and folder = $6 and subfolder = $7 and named and starts_with(filename, $8::text || '_')`

	// raiseCounter sets a counter to the highest number in use, and nothing if the producer saved its file before. It repairs
	// a counter that missed a name.
	raiseCounter = `update file_counters set last = greatest(last, (` + highestNumber + `))
		where account = $5 and folder = $6 and subfolder = $7 and prefix = $8 and not exists (select from files where ` + savedBy + `)`
)

// saving is the command that records a saved file. Those of one prefix that arrive during a transaction share the next one.
type saving struct {
	eventstore.Outcome
	files.Saving
	repair bool // an earlier attempt found the name in use
	found  savingState
	created
}

// Size implements eventstore.Command.
func (*saving) Size() int { return rowSize }

// counterOf names the counter that numbers a file, which one transaction at a time may lock.
func counterOf(f files.Saving) string {
	return strings.Join([]string{f.Account, string(f.Folder), f.Subfolder, f.Prefix}, "\x00")
}

// Save implements files.Store.
func (s *Store) Save(ctx context.Context, f files.Saving) (files.Entry, error) {
	for attempt := 1; ; attempt++ {
		u := &saving{Saving: f, repair: attempt > 1}
		_, err := s.savings.Do(ctx, counterOf(f), u)
		switch {
		case errors.Is(err, errEnded):
			return s.alreadySaved(ctx, f.Account, f.Asset)
		case violated(err) == "files_name" && attempt < nameAttempts:
			continue
		case err != nil:
			return files.Entry{}, postgres.Classify(err, "save a file")
		case len(u.found.saved) > 0:
			return u.found.saved[0], nil
		}
		state, err := u.state(s)
		if err != nil {
			return files.Entry{}, err
		}
		e := entryOf(state)
		e.CreatedAt = u.rows.createdAt.UTC()
		return e, nil
	}
}

// errEnded means that an earlier attempt saved the file, and the file was deleted or has expired since.
var errEnded = errors.New("the file was saved before and has been deleted")

// saveAll decides about files of one prefix. The streams of their jobs are locked in order.
func (s *Store) saveAll(_ string, all []*saving) eventstore.Decision {
	all = slices.SortedStableFunc(slices.Values(all), func(a, b *saving) int { return cmp.Compare(a.Producer.Job, b.Producer.Job) })
	return eventstore.Decision{
		What: "save files",
		Read: func(q *pgx.Batch) {
			for _, u := range all {
				u.found = savingState{}
				u.found.queue(q, u.Saving, u.repair)
			}
			q.Queue(keepPlans)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) (err error) {
			rows := &assetRows{account: all[0].Account}
			for _, u := range all {
				if len(u.found.saved) > 0 {
					continue
				}
				if err := u.found.check(u.Producer); err != nil {
					return u.Fail(err)
				}
				if u.created, err = s.add(rows, c, u.found.row(u.Saving)); err != nil {
					return u.Fail(err)
				}
			}
			if len(rows.ids) == 0 {
				return eventstore.ErrNothing
			}
			rows.write(c)
			return nil
		},
	}
}

// savingState is what a transaction reads about one file, with the counter of its prefix and the stream of its job locked, so
// that the job ends before or after the save.
type savingState struct {
	number int64
	saved  []files.Entry // the file, if an earlier attempt saved it
	over   bool          // the job or the run has ended
	ended  bool          // the asset exists: if it has no file, it has ended since
	chosen string        // the public id that a client chose for the job, if any
}

func (l *savingState) queue(q *pgx.Batch, f files.Saving, repair bool) {
	p := f.Producer
	of := []any{p.Job, p.Run, p.Node, p.Index}
	counted := append(of, f.Account, string(f.Folder), f.Subfolder, f.Prefix)
	if repair {
		q.Queue(raiseCounter, counted...)
	}
	postgres.ScanInto(q.Queue(nextNumber, counted...), &l.number)
	postgres.CollectInto(q.Queue(selectSaved, of...), &l.saved, scanFile)
	postgres.ScanInto(q.Queue(`select coalesce((select s.closed or coalesce(j.run <> $3, false)
			from streams s left join job_slots j on j.job_id = $2
			where s.id = $1 for share of s), false), exists (select from streams where id = $4),
			coalesce((select public_id::text from job_public_ids where job_id = $2), '')`,
		job.ID(p.Job).Stream(), p.Job, p.Run, f.Asset.Stream()), &l.over, &l.ended, &l.chosen)
}

// check refuses an attempt that outlived its job or its run, because its file would belong to no job. It also refuses to
// restore a file that an earlier attempt saved and that has ended since.
func (l *savingState) check(p asset.Producer) error {
	switch {
	case l.over:
		return fault.New(fault.Conflict, fault.CodeRunOver, "run %d of job %s has ended", p.Run, p.Job)
	case l.ended:
		return errEnded
	}
	return nil
}

// row returns the file with its number.
func (l *savingState) row(f files.Saving) newRow {
	p := f.Producer
	p.Chosen = l.chosen
	place := asset.Place{Folder: string(f.Folder), Subfolder: f.Subfolder, Filename: fmt.Sprintf("%s_%05d%s", f.Prefix, l.number, f.Suffix)}
	path := files.Join(place)
	return newRow{
		New: asset.New{
			Account: f.Account, Origin: asset.Produced, Hash: f.Hash, Size: f.Size, ContentType: f.ContentType, FilePath: &path, Place: &place,
			Width: f.Width, Height: f.Height, Deadline: f.ExpiresAt,
		},
		naming: naming{f.Asset, asset.EventID(f.Asset, asset.TypeCreated)}, producer: &p, prefix: f.Prefix,
	}
}

// alreadySaved returns a file as it was recorded, even if it has ended. If a user deletes an output of a running job,
// the file stays deleted and the job continues.
func (s *Store) alreadySaved(ctx context.Context, account string, id asset.ID) (files.Entry, error) {
	recorded, err := s.events.ReadStream(ctx, id.Stream(), 0, 1)
	if err != nil {
		return files.Entry{}, err
	}
	a, err := eventlog.Fold(s.events.Types(), eventlog.All(recorded), asset.Asset{}, asset.Fold)
	if err != nil {
		return files.Entry{}, err
	}
	if a.Place == nil || a.Account != account {
		return files.Entry{}, fault.New(fault.Internal, "", "the stream of asset %s does not begin with a saved output", id)
	}
	return entryOf(a), nil
}
