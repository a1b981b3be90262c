package accountstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Gates implements operators' commands on queues. The current mode is a column of the account's row in job_admissions,
// which every admission locks: after Set has returned, no admission of the account violates the mode. For gate.All
// this holds from the next transaction on.
type Gates struct {
	pool   *pgxpool.Pool
	events *eventstore.Store
}

// NewGates returns the queues in pool's database that appends through events.
func NewGates(pool *pgxpool.Pool, events *eventstore.Store) *Gates {
	return &Gates{pool: pool, events: events}
}

// lockMode locks the row, which it inserts if necessary, and returns the current mode. It returns no row for an
// unknown account.
const lockMode = `insert into job_admissions as l (account)
	select $1::text where $1 = '*' or exists (select from accounts where id = $1)
	on conflict (account) do update set mode = l.mode
	returning mode`

// Set changes the mode of a queue and returns its state. Setting the current mode records nothing. An unknown account
// is NotFound. Opening a queue does not start jobs by itself: workers that follow the log start them, and so does the
// sweep.
func (q *Gates) Set(ctx context.Context, c gate.Change) (gate.State, error) {
	if err := c.Check(); err != nil {
		return gate.State{}, err
	}
	var was gate.Mode
	_, err := q.events.Write(ctx, eventstore.Decision{
		What: "change the queue of account " + c.Account,
		Read: func(b *pgx.Batch) {
			was = ""
			postgres.ScanInto(b.Queue(lockMode, c.Account), &was)
		},
		Decide: func(_ context.Context, _ postgres.Tx, changes *eventstore.Changes) error {
			if was == "" {
				return fault.New(fault.NotFound, fault.CodeNotFound, "no such account")
			}
			if was == c.Mode {
				return eventstore.ErrNothing
			}
			changes.Queue(`update job_admissions set mode = $2 where account = $1`, c.Account, string(c.Mode))
			eventType, data := gate.ChangeEvent(c.Mode, was)
			return changes.Append(eventlog.AppendTo(gate.Stream(c.Account), c.Account,
				eventlog.Meta{Actor: c.Actor, Reason: c.Reason, RequestID: c.RequestID}, eventlog.NewEvent(eventType, data)))
		},
	})
	if err != nil {
		return gate.State{}, err
	}
	return q.State(ctx, c.Account)
}

// stateColumns reads a row of job_admissions with its last event. The counts of gate.All are those of all accounts.
const stateColumns = `select l.account, l.mode, e.recorded_at, coalesce(e.meta ->> 'actor', ''), coalesce(e.meta ->> 'reason', ''),
		case l.account when '*' then (select coalesce(sum(queued), 0) from job_admissions) else l.queued end,
		case l.account when '*' then (select coalesce(sum(running), 0) from job_admissions) else l.running end
	from job_admissions l
	left join streams s on s.id = 'queue-' || l.account
	left join events e on e.stream = s.id and e.version = s.version`

// State returns the state of the queue of an account, or of gate.All.
func (q *Gates) State(ctx context.Context, account string) (gate.State, error) {
	found, err := q.states(ctx, stateColumns+` where l.account = $1`, account)
	if err != nil || len(found) > 0 {
		return append(found, gate.State{})[0], err
	}
	st := gate.State{Account: account, Mode: gate.Open}
	if account != gate.All {
		return st, nil
	}
	err = q.pool.QueryRow(ctx, `select coalesce(sum(queued), 0), coalesce(sum(running), 0) from job_admissions`).Scan(&st.Queued, &st.Running)
	return st, postgres.Classify(err, "count the jobs of all queues")
}

// States returns gate.All, followed by the accounts whose queue is not open or has jobs, in order of their ids, at
// most limit.
func (q *Gates) States(ctx context.Context, limit int) ([]gate.State, error) {
	all, err := q.State(ctx, gate.All)
	if err != nil {
		return nil, err
	}
	own, err := q.states(ctx, stateColumns+` where l.account <> '*' and (l.mode <> 'open' or l.queued > 0 or l.running > 0)
		order by l.account limit $1`, limit)
	return append([]gate.State{all}, own...), err
}

func (q *Gates) states(ctx context.Context, query string, arg any) ([]gate.State, error) {
	return postgres.Collect(ctx, q.pool, "read the state of queues", func(row pgx.CollectableRow) (gate.State, error) {
		var st gate.State
		err := row.Scan(&st.Account, &st.Mode, &st.Since, &st.Actor, &st.Reason, &st.Queued, &st.Running)
		return st, err
	},
		query, arg)
}
