//go:build unix

package projections_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// sender is a reader that cannot be rebuilt: it leaves a row for each event, as webhooks leave deliveries.
var sender = projections.Projection{Name: "sender", Fold: send}

func send(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	for _, rec := range batch {
		if _, err := tx.Exec(ctx, `insert into sent (event, stream) values ($1, $2)`, rec.ID, rec.Stream); err != nil {
			return err
		}
	}
	return nil
}

// eitherOf is the connection string of whichever server behind the proxies takes writes.
func eitherOf(t *testing.T, a, b *pgtest.Proxy) string {
	t.Helper()
	one, err := url.Parse(a.URL())
	require.NoError(t, err)
	other, err := url.Parse(b.URL())
	require.NoError(t, err)
	one.Host += "," + other.Host
	one.RawQuery += "&target_session_attrs=read-write"
	return one.String()
}

// refusals is a log that passes on why batches were refused.
type refusals struct {
	slog.Handler
	refused chan string
}

func (r *refusals) Enabled(context.Context, slog.Level) bool { return true }
func (r *refusals) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *refusals) WithGroup(string) slog.Handler            { return r }

func (r *refusals) Handle(_ context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && errors.Is(err, eventlog.ErrRewound) {
			select {
			case r.refused <- err.Error():
			default:
			}
		}
		return true
	})
	return nil
}

// A standby that lagged is promoted. What only the lost primary had is in the memory of this process; nothing of it is
// applied or checkpointed, the process ends, and the next one goes on with what the log has.
func TestAFailoverThatLosesEventsLeavesNoTraceInViews(t *testing.T) {
	t.Parallel()
	pair := pgtest.NewPair(t)
	s, view := &system{dsn: pair.URL()}, &notes{}
	require.NoError(t, postgres.Migrate(t.Context(), s.dsn, t.Logf))
	s.pool = projectiontest.OpenPool(t, s.dsn)
	_, err := s.pool.Exec(t.Context(), notesTable+`; create table sent (event uuid not null, stream text not null)`)
	require.NoError(t, err)

	quiet := slog.New(slog.DiscardHandler)
	toPrimary, toStandby := pgtest.NewProxy(t, pair.PrimaryURL()), pgtest.NewProxy(t, pair.StandbyURL())
	toStandby.Outage(true) // the tail is the last to come back
	s.part = &part{
		store: eventstore.New(s.pool, eventlogtest.Registry(t), nil),
		tail: projectiontest.OpenTail(t, s.pool, eitherOf(t, toPrimary, toStandby), nil,
			eventstore.TailerOptions{Poll: 10 * time.Millisecond}),
		checkpoints: eventstore.NewCheckpoints(s.pool, s.dsn, quiet),
	}
	ended := make(chan error, 1)
	stop := projectiontest.Background(t, s.checkpoints.Run, func(ctx context.Context) error { ended <- s.tail.Run(ctx); return nil })
	log := &refusals{refused: make(chan string, 100)}
	stopRunner := s.run(t, s.part, projections.Options{Log: slog.New(log)}, view.projection(), sender)
	kept := s.note(t, "note-kept", "kept")
	projectiontest.WaitFor(t, s.pool, view.projection(), kept)
	projectiontest.WaitFor(t, s.pool, sender, kept)

	pair.Disconnect()
	var lost int64
	for i := range 20 {
		lost = s.note(t, fmt.Sprintf("note-lost-%d", i), "lost")
	}
	projectiontest.WaitFor(t, s.pool, view.projection(), lost)
	projectiontest.WaitFor(t, s.pool, sender, lost)
	pair.Promote()
	pair.Kill()
	refused := receive(t, log.refused)
	require.Contains(t, refused, eventlog.ErrRewound.Error())
	var rows int
	require.NoError(t, s.pool.QueryRow(t.Context(), `select (select count(*) from notes_v1 where stream like 'note-lost-%')
		+ (select count(*) from sent) + (select max(position) from checkpoints)`).Scan(&rows))
	require.Equal(t, 2, rows, "one event is sent, and no checkpoint is behind it")
	toStandby.Outage(false)
	require.ErrorIs(t, receive(t, ended), eventlog.ErrRewound)
	stopRunner()
	stop()

	s.pool.Reset()
	s.part = s.process(t) // as whatever supervises the process starts it again
	s.run(t, s.part, projections.Options{Log: quiet}, view.projection(), sender)
	last := s.note(t, "note-new", "a", "b")
	projectiontest.WaitFor(t, s.pool, view.projection(), last)
	projectiontest.WaitFor(t, s.pool, sender, last)
	projectiontest.RebuildsSame(t, s.pool, view.projection())
	require.Equal(t, "b", s.last(t, "note-new"))
	require.Equal(t, "kept", s.last(t, "note-kept"))
	var sent, unknown int
	require.NoError(t, s.pool.QueryRow(t.Context(), `select count(*), count(*) filter (where event not in (select id from events)) from sent`).
		Scan(&sent, &unknown))
	require.Equal(t, 3, sent, "each event that the log has is sent once")
	require.Zero(t, unknown)
}

// A view of events that the database does not have is mended at the start.
func TestAViewPastTheEndOfTheLogIsRebuilt(t *testing.T) {
	t.Parallel()
	s, view := newSystem(t), &notes{}
	s.note(t, "note-1", "there")
	_, err := s.pool.Exec(t.Context(), `insert into notes_v1 values ('note-2', 1, 'not there');
		insert into checkpoints (name, position) values ('notes_v1', 900), ('sender', 900)`)
	require.NoError(t, err)
	ahead, err := projections.Ahead(t.Context(), s.pool, "notes_v1")
	require.NoError(t, err)
	require.Equal(t, int64(899), ahead)

	s.run(t, s.part, projections.Options{}, view.projection(), sender)
	require.Eventually(t, func() bool {
		at, err := projections.Position(t.Context(), s.pool, "notes_v1")
		return err == nil && at == 1
	}, time.Minute, 10*time.Millisecond)
	last := s.note(t, "note-3", "new")
	projectiontest.WaitFor(t, s.pool, view.projection(), last)
	projectiontest.RebuildsSame(t, s.pool, view.projection())
	require.Equal(t, "there", s.last(t, "note-1"))
	require.Empty(t, s.last(t, "note-2"))
	require.Equal(t, "new", s.last(t, "note-3"))
	at, err := projections.Position(t.Context(), s.pool, "sender")
	require.NoError(t, err)
	require.Equal(t, int64(900), at, "what cannot be rebuilt stands still until somebody looks")
}
