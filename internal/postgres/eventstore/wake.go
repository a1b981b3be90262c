package eventstore

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// A process notifies at most once per notifyEvery, because each notification is a commit of its own, and at most once
// per notifyUnderLoad if several appends arrived within that time.
const (
	notifyEvery      = time.Millisecond
	notifyUnderLoad  = 4 * time.Millisecond
	appendsUnderLoad = 3

	// listenersEvery is the interval of checking whether another process listens. A process that starts to listen is
	// notified of earlier appends within this time.
	listenersEvery = 500 * time.Millisecond
)

// Wake notifies readers of new events: readers in this process at once, other processes by one NOTIFY for several
// commits. A NOTIFY inside the appending transaction would serialise all commits of the cluster. Notifications may be
// lost, so readers also poll.
type Wake struct {
	dsn        string
	log        *slog.Logger
	silence    time.Duration // time without a notification after which the connection is checked
	dirty      chan struct{} // holds a token to notify other processes
	wakeTailer chan struct{} // holds a token to wake the tailer of this process
	signals    atomic.Int64  // appends since the last notification
	notifier   atomic.Uint32 // backend pid of our own notifications
	listener   atomic.Uint32 // backend pid of our own LISTEN

	committed committed // events on their way to the tailer of this process

	command *pgxpool.Pool // notifies at each signal; nil = Run notifies
}

// NewWake returns a Wake on the database of dsn, which must not lead through a transaction pooler. Signal reaches
// this process at once, and other processes while Run runs.
func NewWake(dsn string, log *slog.Logger) *Wake {
	return &Wake{dsn: dsn, log: log, silence: postgres.Silence, dirty: make(chan struct{}, 1), wakeTailer: make(chan struct{}, 1)}
}

// NewCommandWake returns a Wake for a process that ends soon and has no readers: Signal notifies other processes over pool,
// and Run is not needed.
func NewCommandWake(pool *pgxpool.Pool) *Wake {
	w := NewWake("", nil)
	w.command = pool
	return w
}

// commandNotice bounds how long a command waits for the notification of others.
const commandNotice = 2 * time.Second

// SetSilenceTimeout sets how long the listener waits without a notification before it checks the connection, by default 10 s.
func (w *Wake) SetSilenceTimeout(d time.Duration) { w.silence = d }

// Signal notifies readers that events were committed. It blocks in a command only. A nil Wake does nothing.
func (w *Wake) Signal() {
	if w == nil {
		return
	}
	w.committed.missed()
	w.notifyAll()
}

// Announce is Signal for a caller that knows the committed events: the tailer of this process does not read them from
// the database.
func (w *Wake) Announce(events []eventlog.Recorded) {
	if w == nil {
		return
	}
	w.committed.add(events)
	w.notifyAll()
}

func (w *Wake) notifyAll() {
	if w.command != nil {
		ctx, cancel := context.WithTimeout(context.Background(), commandNotice)
		defer cancel()
		_, _ = w.command.Exec(ctx, notifyOthers) // the commit stands; readers also poll
		return
	}
	w.signals.Add(1)
	signal(w.wakeTailer)
	signal(w.dirty)
}

// signal leaves a token in a channel of capacity one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run notifies and listens until ctx ends, over connections of its own that it opens again
// when they break.
func (w *Wake) Run(ctx context.Context) error {
	var g errgroup.Group
	g.Go(func() error { retryForever(ctx, w.log, "notify", w.notify); return nil })
	g.Go(func() error { retryForever(ctx, w.log, "listen", w.listen); return nil })
	return g.Wait()
}

const notifyOthers = `select pg_notify('millrace_' || current_schema(), '')`

// notify notifies other processes of appends. A notification that is lost in a crash only delays a reader by its poll
// interval, so the connection does not wait for the disk.
func (w *Wake) notify(ctx context.Context) error {
	conn, err := postgres.Connect(ctx, w.dsn, "notify", postgres.Silence, map[string]string{"synchronous_commit": "off"})
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	w.notifier.Store(conn.PgConn().PID())
	var looked time.Time
	for {
		select {
		case <-w.dirty:
		case <-ctx.Done():
			return ctx.Err()
		}
		w.signals.Store(0)
		if time.Since(looked) >= listenersEvery {
			listened, err := w.awaitListener(ctx, conn)
			if err != nil {
				signal(w.dirty)
				return err
			}
			if !listened {
				continue
			}
			looked = time.Now()
		}
		if _, err := conn.Exec(ctx, notifyOthers); err != nil {
			signal(w.dirty)
			return postgres.Classify(err, "notify")
		}
		if err := pause.For(ctx, notifyEvery); err != nil {
			return err
		}
		if w.signals.Load() >= appendsUnderLoad {
			if err := pause.For(ctx, notifyUnderLoad-notifyEvery); err != nil {
				return err
			}
		}
	}
}

// otherListeners finds a session that listens as listen does. If the connection string sets one application_name for
// all sessions, they cannot be distinguished, and the query assumes that there is one.
const otherListeners = `select current_setting('application_name') <> 'millrace notify' or exists (
	select from pg_stat_activity where datname = current_database() and application_name = 'millrace listen' and pid <> $1)`

// listened reports whether another process may listen. A deployment of one process needs no notifications, each of
// which is a commit.
func (w *Wake) listened(ctx context.Context, conn *pgx.Conn) (others bool, err error) {
	err = conn.QueryRow(ctx, otherListeners, int64(w.listener.Load())).Scan(&others)
	return others, postgres.Classify(err, "look for listeners")
}

// awaitListener reports whether another process may listen, now or soon.
func (w *Wake) awaitListener(ctx context.Context, conn *pgx.Conn) (bool, error) {
	if listened, err := w.listened(ctx, conn); err != nil || listened {
		return listened, err
	}
	if err := pause.For(ctx, listenersEvery); err != nil {
		return false, err
	}
	return w.listened(ctx, conn)
}

// listen wakes the tailer of this process at notifications of other processes, and once after every connect, for
// missed notifications.
func (w *Wake) listen(ctx context.Context) error {
	conn, err := postgres.Connect(ctx, w.dsn, "listen", w.silence, nil)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	w.listener.Store(conn.PgConn().PID())
	var channel string
	if err := conn.QueryRow(ctx, `select 'millrace_' || current_schema()`).Scan(&channel); err != nil {
		return postgres.Classify(err, "name the channel")
	}
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return postgres.Classify(err, "listen")
	}
	for {
		w.committed.missed()
		signal(w.wakeTailer)
		for own := true; own; {
			n, err := w.notification(ctx, conn)
			if err != nil {
				return postgres.Classify(err, "wait for notifications")
			}
			own = n.PID == w.notifier.Load() // this process was woken by Signal
		}
	}
}

// notification waits for the next notification. After a long wait it sends a query, because a connection to a lost
// server is silent too.
func (w *Wake) notification(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	for {
		n, err := conn.WaitForNotification(ctx)
		if err == nil || ctx.Err() != nil || !pgconn.Timeout(err) {
			return n, err
		}
		if err := conn.Ping(ctx); err != nil {
			return nil, err
		}
	}
}

// closeConn closes a connection, with a message to the server if that answers in time.
func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the connection is closed either way
}

const (
	firstRetry = 50 * time.Millisecond // a restarted local server returns in tenths of a second
	lastRetry  = 2 * time.Second
)

// retryForever runs work until ctx ends, and again after each failure, with increasing pauses.
func retryForever(ctx context.Context, log *slog.Logger, name string, work func(context.Context) error) {
	delays := pause.Delays(firstRetry, lastRetry)
	for {
		started := time.Now()
		err := work(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > lastRetry {
			delays.Reset()
		}
		delay := delays.NextBackOff()
		if log != nil {
			log.Warn("log connection lost, will retry", "task", name, "error", err, "delay", delay)
		}
		if pause.For(ctx, delay) != nil {
			return
		}
	}
}
