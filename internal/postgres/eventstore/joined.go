package eventstore

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/committer"
)

// Command is a command that Joined may carry out together with others. It embeds an Outcome.
type Command interface {
	Size() int // about how many bytes it writes
	outcome() *Outcome
}

// Outcome is what becomes of one command among those that share a transaction.
type Outcome struct {
	First uuid.UUID // as Decision.First

	failed  error
	refused error
}

func (o *Outcome) outcome() *Outcome { return o } //nolint:unused // commands of other packages embed an Outcome

// Fail notes that the transaction cannot be committed with this command, and returns err. The others are carried out
// without it, and it is attempted alone, so that no error depends on what a command was joined with.
func (o *Outcome) Fail(err error) error {
	if o.failed == nil {
		o.failed = err
	}
	return err
}

// Refuse refuses this command, which has written nothing. The others go on.
func (o *Outcome) Refuse(err error) { o.refused = err }

// Refused returns the error of Refuse.
func (o *Outcome) Refused() error { return o.refused }

// Joined carries out commands of one kind. Those of one key that would wait for each other's locks share a transaction:
// one lock, one append, one commit. Each has an outcome of its own.
type Joined[C Command] struct {
	store  *Store
	queue  *committer.Committer[C]
	decide func(key string, commands []C) Decision
}

// NewJoined returns a Joined that makes one decision of several commands of a key by decide. The decision notes the outcome
// of each command by Fail and Refuse.
func NewJoined[C Command](s *Store, opts committer.Options, decide func(key string, commands []C) Decision) *Joined[C] {
	j := &Joined[C]{store: s, decide: decide}
	j.queue = committer.New(opts, j.DoAll)
	return j
}

// Waiting returns how many commands of a key wait for a transaction after the one under way.
func (j *Joined[C]) Waiting(key string) int { return j.queue.Waiting(key) }

// Do carries out a command, possibly together with others of the key, and returns its own outcome. If ctx ends before its
// transaction has begun, nothing is done. earlier is Written.Earlier.
func (j *Joined[C]) Do(ctx context.Context, key string, command C) (earlier bool, err error) {
	w, err := j.store.repeatAmbiguous(ctx, command.outcome().First, func(ctx context.Context) ([]eventlog.Recorded, error) {
		return nil, j.queue.Do(ctx, key, command.Size(), command)
	})
	return w.Earlier, err
}

// DoAll carries out commands of a key in one transaction, which is taken apart where it fails, and returns the outcome of
// each.
func (j *Joined[C]) DoAll(ctx context.Context, key string, commands []C) []error {
	return committer.Jointly(commands, func(joined []C) ([]error, error) {
		err := j.attempt(ctx, key, joined)
		own := make([]error, len(joined))
		for i, c := range joined {
			if own[i] = c.outcome().refused; err != nil {
				own[i] = c.outcome().failed
			}
		}
		return own, err
	})
}

// attempt is one transaction of commands. Why the log refuses a command is found out where it is alone.
func (j *Joined[C]) attempt(ctx context.Context, key string, commands []C) error {
	forget := func() {
		for _, c := range commands {
			c.outcome().failed, c.outcome().refused = nil, nil
		}
	}
	forget() // of an attempt with others: this one may fail before it reads anything
	d := j.decide(key, commands)
	read, decide := d.Read, d.Decide
	d.Read = func(q *pgx.Batch) {
		forget()
		if read != nil {
			read(q)
		}
	}
	d.Decide = func(ctx context.Context, tx postgres.Tx, c *Changes) error {
		for _, c := range commands {
			if c.outcome().failed != nil {
				return c.outcome().failed
			}
		}
		return decide(ctx, tx, c)
	}
	_, err := j.store.write(ctx, d, len(commands) == 1)
	if alone := commands[0].outcome(); err != nil && len(commands) == 1 && alone.failed != nil {
		return alone.failed
	}
	return err
}
