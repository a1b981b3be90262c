package eventstore_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// writing is a log with a table of notes, in which decisions write, and the intents that were delivered.
type writing struct {
	pool  *pgxpool.Pool
	store *eventstore.Store

	mu        sync.Mutex // guards delivered
	delivered []outbox.Intent
}

func newWriting(t *testing.T) *writing {
	t.Helper()
	w := &writing{pool: storetest.OpenPool(t, storetest.NewDatabase(t))}
	w.store = eventstore.New(w.pool, eventlogtest.Registry(t), nil)
	w.store.DeliverBy(func(intents []outbox.Intent) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.delivered = append(w.delivered, intents...)
	})
	_, err := w.pool.Exec(t.Context(), `create table notes (account text, text text unique, stream text)`)
	require.NoError(t, err)
	return w
}

func (w *writing) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, w.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// noting returns a decision that writes a row, an intent and the appends.
func noting(text string, appends ...eventlog.Append) eventstore.Decision {
	return eventstore.Decision{What: "note " + text, Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
		c.Queue(`insert into notes (account, text) values ('acme', $1)`, text)
		c.Start(outbox.Intent{WorkflowID: text, Kind: outbox.Cancel})
		return c.Append(appends...)
	}}
}

func TestADecisionWritesRowsIntentsAndEventsTogether(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	appends := []eventlog.Append{noted("b", 0, "b1", "b2"), noted("a", 0, "a1")}
	d := noting("whole", appends...)
	decide := d.Decide
	var own []outbox.Intent
	d.Decide = func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
		c.StartBy(&own, outbox.Intent{WorkflowID: "of the caller", Kind: outbox.Cancel})
		c.QueueLast(`update notes set stream = (select stream from events where id = $1)`, appends[1].Events[0].ID)
		return decide(ctx, tx, c)
	}
	written, err := w.store.Write(t.Context(), d)
	require.NoError(t, err)
	require.False(t, written.Earlier)
	require.Equal(t, []string{"b", "b", "a"}, []string{written.Events[0].Stream, written.Events[1].Stream, written.Events[2].Stream})
	require.Less(t, written.Events[1].Position, written.Events[2].Position, "positions follow the order of the appends")
	require.Equal(t, 1, w.count(t, `select count(*) from notes where stream = 'a'`), "a statement behind the append sees its events")
	require.Len(t, w.delivered, 1)
	require.Equal(t, "whole", w.delivered[0].WorkflowID)
	require.Equal(t, 1, w.count(t, `select count(*) from outbox where id = $1 and workflow_id = 'whole'`, w.delivered[0].ID))
	require.Len(t, own, 1)
	require.Equal(t, 1, w.count(t, `select count(*) from outbox where id = $1 and workflow_id = 'of the caller'`, own[0].ID))
}

func TestADecisionThatIsRefusedWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	repeat := noted("taken", 0, "1")
	_, err := w.store.Append(t.Context(), repeat)
	require.NoError(t, err)
	elsewhere, closed := noted("other", 0, "2"), noted("over", 0, "3")
	elsewhere.Events[0].ID, closed.Close = repeat.Events[0].ID, true
	_, err = w.store.Append(t.Context(), closed)
	require.NoError(t, err)
	foreign := noted("taken", eventlog.AnyVersion, "4")
	foreign.Account = "another"
	for name, c := range map[string]struct {
		append eventlog.Append
		want   error
	}{
		"another version":                      {noted("taken", 0, "5"), eventlog.ErrVersion},
		"a closed stream":                      {noted("over", eventlog.AnyVersion, "6"), eventlog.ErrClosed},
		"another account's stream":             {foreign, eventlog.ErrForeign},
		"an event that is recorded":            {repeat, eventlog.ErrDuplicate},
		"an event that is recorded elsewhere":  {elsewhere, eventlog.ErrDuplicate},
		"the second of two appends is refused": {noted("taken", 7, "7"), eventlog.ErrVersion},
	} {
		_, err := w.store.Write(t.Context(), noting(name, noted("new-"+name, 0, "x"), c.append))
		require.ErrorIs(t, err, c.want, name)
		require.True(t, eventlog.IsRefused(err), name)
		require.Equal(t, fault.Conflict, fault.KindOf(err), name)
	}
	undo := errors.New("undo")
	for want, outcome := range map[error]error{undo: undo, eventstore.ErrNothing: nil} {
		_, err := w.store.Write(t.Context(), eventstore.Decision{Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			return errors.Join(noting("undone", noted("undone", 0, "x")).Decide(ctx, tx, c), want)
		}})
		require.ErrorIs(t, err, outcome)
	}
	require.Zero(t, w.count(t, `select (select count(*) from notes) + (select count(*) from outbox)`))
	require.Equal(t, 2, w.count(t, `select count(*) from events`))
	require.Empty(t, w.delivered)
}

func TestADecisionThatAcceptsRepeatsKeepsWhatIsRecorded(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	repeat := noted("s", 0, "1")
	first, err := w.store.Append(t.Context(), repeat)
	require.NoError(t, err)
	d := noting("again", repeat, noted("new", 0, "2"))
	d.Repeats = true
	written, err := w.store.Write(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, first[0], written.Events[0])
	require.Equal(t, "new", written.Events[1].Stream)
	require.Equal(t, []int{2, 1}, []int{w.count(t, `select count(*) from events`), w.count(t, `select count(*) from notes`)})
}

// The log refuses what the first attempt appends; the next one finds that there is nothing to append any more, but rows to write.
func TestADecisionThatIsMadeAgainMayAppendNothing(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	_, err := w.store.Append(t.Context(), noted("taken", 0, "x"))
	require.NoError(t, err)
	attempts := 0
	written, err := w.store.Write(t.Context(), eventstore.Decision{
		What: "decide again", Read: func(*pgx.Batch) { attempts++ },
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			if attempts == 1 {
				return noting("first", noted("taken", 0, "y")).Decide(ctx, tx, c)
			}
			return noting("second").Decide(ctx, tx, c)
		},
	})
	require.NoError(t, err)
	require.Empty(t, written.Events)
	require.Equal(t, 2, attempts)
	require.Equal(t, 1, w.count(t, `select count(*) from notes where text = 'second'`))
	require.Equal(t, 1, w.count(t, `select count(*) from notes`))
	require.Equal(t, 1, w.count(t, `select count(*) from events`))
}

// The commit of an attempt succeeds without an answer. The tail was not notified of its events; the next attempt notifies it, and
// within the test nothing else does.
func TestReadersAreWokenForACommitWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"the next attempt is refused": true, "the next attempt finds nothing to do": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := storetest.NewDatabase(t)
			pool, wake := storetest.OpenPool(t, dsn), eventstore.NewWake(dsn, slog.New(slog.DiscardHandler))
			tail := openTail(t, pool, dsn, wake, eventstore.TailerOptions{Poll: time.Hour})
			background(t, tail.Run)
			_ = settled(t, tail)
			store, silent := eventstore.New(pool, eventlogtest.Registry(t), wake), eventstore.New(pool, eventlogtest.Registry(t), nil)
			a := noted("s", 0, "recorded")
			attempts := 0
			written, err := store.RepeatAmbiguous(t.Context(), a.Events[0].ID, func(ctx context.Context) ([]eventlog.Recorded, error) {
				if attempts++; attempts == 1 {
					_, err := silent.Append(ctx, a)
					require.NoError(t, err)
					return nil, postgres.Ambiguous(errors.New("no answer"))
				}
				if refused {
					return nil, eventlog.Refuse(eventlog.ErrDuplicate, a, 0)
				}
				return nil, nil
			})
			require.NoError(t, err)
			require.Equal(t, refused, written.Earlier)
			require.Equal(t, 2, attempts)
			events := within(t, func(ctx context.Context) ([]eventlog.Recorded, error) { return tail.Next(ctx, tail.Start(), 1) })
			require.Equal(t, a.Events[0].ID, events[0].ID)
		})
	}
}

// A command without an event by which its repeat would be known: the client repeats it, and it finds nothing to do.
func TestReadersAreWokenWhenACommandIsRepeated(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	pool, wake := storetest.OpenPool(t, dsn), eventstore.NewWake(dsn, slog.New(slog.DiscardHandler))
	tail := openTail(t, pool, dsn, wake, eventstore.TailerOptions{Poll: time.Hour})
	background(t, tail.Run)
	_ = settled(t, tail)
	store, silent := eventstore.New(pool, eventlogtest.Registry(t), wake), eventstore.New(pool, eventlogtest.Registry(t), nil)
	_, err := store.RepeatAmbiguous(t.Context(), uuid.Nil, func(context.Context) ([]eventlog.Recorded, error) {
		return nil, postgres.Ambiguous(errors.New("no answer"))
	})
	require.True(t, postgres.IsAmbiguous(err))
	a := noted("s", 0, "recorded")
	_, err = silent.Append(t.Context(), a) // the commit becomes visible only now
	require.NoError(t, err)
	_, err = store.RepeatAmbiguous(t.Context(), uuid.Nil, func(context.Context) ([]eventlog.Recorded, error) { return nil, nil })
	require.NoError(t, err)
	events := within(t, func(ctx context.Context) ([]eventlog.Recorded, error) { return tail.Next(ctx, tail.Start(), 1) })
	require.Equal(t, a.Events[0].ID, events[0].ID)
}

// note is a command that writes a row and an event of its own.
type note struct {
	eventstore.Outcome
	text   string
	refuse error
}

// Size implements eventstore.Command.
func (*note) Size() int { return 1 }

// Commands that are decided together have the outcomes that they would have alone, whichever of them fails and how.
func TestJoinedCommandsHaveTheirOwnOutcomes(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	_, err := w.pool.Exec(t.Context(), `insert into notes (text) values ('taken row')`)
	require.NoError(t, err)
	_, err = w.store.Append(t.Context(), noted("taken stream", 0, "x"))
	require.NoError(t, err)
	unknown, transactions := errors.New("not known here"), 0
	joined := eventstore.NewJoined(w.store, committer.Options{}, func(_ string, notes []*note) eventstore.Decision {
		return eventstore.Decision{
			Read: func(*pgx.Batch) { transactions++ },
			Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
				for _, n := range notes {
					if n.text == "fails" {
						return n.Fail(unknown)
					}
					if n.refuse != nil {
						n.Refuse(n.refuse)
						continue
					}
					c.Queue(`insert into notes (text) values ($1)`, n.text)
					if err := c.Append(noted(n.text, 0, "x")); err != nil {
						return n.Fail(err)
					}
				}
				return nil
			},
		}
	})
	refusal := errors.New("refused")
	outcomes := joined.DoAll(t.Context(), "acme", []*note{{text: "1"}, {text: "no", refuse: refusal}, {text: "2"}})
	require.Equal(t, []error{nil, refusal, nil}, outcomes)
	require.Equal(t, 1, transactions, "a refusal holds up nobody")

	all := []*note{{text: "3"}, {text: "taken row"}, {text: "fails"}, {text: "taken stream"}, {text: "no", refuse: refusal}, {text: "4"}}
	outcomes = joined.DoAll(t.Context(), "acme", all)
	require.NoError(t, errors.Join(outcomes[0], outcomes[5]))
	require.ErrorContains(t, outcomes[1], "duplicate key")
	require.Equal(t, unknown, outcomes[2])
	require.ErrorIs(t, outcomes[3], eventlog.ErrVersion)
	require.Equal(t, refusal, outcomes[4])
	require.Equal(t, 5, w.count(t, `select count(*) from notes`), "four and the one before")
	require.Equal(t, 5, w.count(t, `select count(*) from events`))

	earlier, err := joined.Do(t.Context(), "acme", &note{text: "5"})
	require.NoError(t, err)
	require.False(t, earlier)
}

// A command that failed because of the others is not answered so if the database goes away before it is attempted alone: the others may
// not have been recorded.
func TestAJoinedCommandForgetsAnAttemptThatWasNotCommitted(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	repeated := errors.New("the first one has it")
	joined := eventstore.NewJoined(w.store, committer.Options{}, func(_ string, notes []*note) eventstore.Decision {
		if len(notes) == 1 {
			w.pool.Close()
		}
		return eventstore.Decision{Decide: func(context.Context, postgres.Tx, *eventstore.Changes) error { return notes[1].Fail(repeated) }}
	})
	for _, err := range joined.DoAll(t.Context(), "acme", []*note{{text: "same"}, {text: "same"}}) {
		require.Error(t, err)
		require.NotErrorIs(t, err, repeated)
	}
}
