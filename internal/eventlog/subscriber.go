package eventlog

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cenkalti/backoff/v5"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// TopicAll is the topic of all events. Every other topic is a stream category: topic "job" has the events of the
// streams "job" and "job-…".
const TopicAll = "events"

// SubscriberOptions tune a Subscriber. The zero value reads the log from its start, without a checkpoint.
type SubscriberOptions struct {
	// Group names a consumer group, of which one member consumes at a time while the others wait. It begins at its checkpoint,
	// which the handler of its messages moves, in the transaction of its writes. "" = no group: every subscription is independent.
	Group       string
	Checkpoints Checkpoints // required with Group
	After       int64       // without a group: the position behind which every subscription begins
	// Wants selects events beside the topic; nil = all. A group gets a batch without events from time to time, so that its
	// checkpoint follows the log all the same.
	Wants  func(Recorded) bool
	Batch  int           // the most events of one message, default 500
	Linger time.Duration // the least time after a read that is not full, so that under load a message has many events; default none
	// MostLinger lets Linger grow with the rate of events, up to this: under load fewer messages have more events. 0 = it does not.
	MostLinger time.Duration
	FirstRetry time.Duration // default 10 ms after a Nack, doubled each time
	LastRetry  time.Duration // default 5 s: the longest pause
	Log        *slog.Logger  // default: discard
}

func (o SubscriberOptions) withDefaults() SubscriberOptions {
	if o.Batch <= 0 {
		o.Batch = defaultLimit
	}
	if o.FirstRetry <= 0 {
		o.FirstRetry = 10 * time.Millisecond
	}
	if o.LastRetry <= 0 {
		o.LastRetry = 5 * time.Second
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Subscriber delivers the log as Watermill messages: at least once and in order. It delivers the next message after
// the Ack of the previous one, and delivers a message again, after a pause, after its Nack. Each subscription follows
// the log at its own pace, so a slow handler does not delay others. It implements message.Subscriber.
type Subscriber struct {
	tail Tail
	opts SubscriberOptions

	mu      sync.Mutex // guards closed and the start of subscriptions
	closed  bool
	closing chan struct{}
	running sync.WaitGroup
}

var _ message.Subscriber = (*Subscriber)(nil)

// NewSubscriber returns a subscriber that reads tail.
func NewSubscriber(tail Tail, opts SubscriberOptions) (*Subscriber, error) {
	if opts.Group != "" && opts.Checkpoints == nil {
		return nil, fault.New(fault.Invalid, "", "consumer group %s has no checkpoints", opts.Group)
	}
	return &Subscriber{tail: tail, opts: opts.withDefaults(), closing: make(chan struct{})}, nil
}

// Subscribe implements message.Subscriber.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fault.New(fault.Unavailable, "", "the subscriber is closed")
	}
	run := &subscription{
		Subscriber: s, topic: topic, values: ctx, out: make(chan *message.Message),
		log: Follower{Tail: s.tail, After: s.opts.After, Limit: s.opts.Batch}, saved: s.opts.After,
	}
	ctx, cancel := context.WithCancel(ctx)
	s.running.Add(2)
	go func() {
		defer s.running.Done()
		defer cancel()
		select {
		case <-s.closing:
		case <-ctx.Done():
		}
	}()
	go func() {
		defer s.running.Done()
		defer cancel()
		defer close(run.out)
		run.run(ctx)
	}()
	return run.out, nil
}

// Close implements message.Subscriber: it ends all subscriptions and waits for them.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// subscription is one Subscribe call.
type subscription struct {
	*Subscriber
	topic   string
	values  context.Context //nolint:containedctx // the caller's context; messages have its values
	out     chan *message.Message
	log     Follower
	delays  *backoff.ExponentialBackOff
	saved   int64 // position of the last acknowledged message: for a group, its checkpoint
	savedAt time.Time
	unsaved []Mark // for a group, marks of the events read since then
}

// wants reports whether the event belongs to the topic and is selected by SubscriberOptions.Wants.
func (s *subscription) wants(e Recorded) bool {
	if s.opts.Wants != nil && !s.opts.Wants(e) {
		return false
	}
	if s.topic == "" || s.topic == TopicAll || e.Stream == s.topic {
		return true
	}
	return strings.HasPrefix(e.Stream, s.topic) && e.Stream[len(s.topic)] == '-'
}

func (s *subscription) run(ctx context.Context) {
	s.delays = pause.Delays(s.opts.FirstRetry, s.opts.LastRetry)
	for ctx.Err() == nil {
		err := s.member(ctx)
		if ctx.Err() != nil {
			return
		}
		s.opts.Log.Warn("subscription interrupted; it will resume", "group", s.opts.Group, "topic", s.topic,
			"position", s.log.After, "error", err)
		_ = pause.For(ctx, s.delays.NextBackOff()) // the loop ends with ctx
	}
}

var (
	errLost   = errors.New("another member has the group now")
	errNacked = errors.New("the handler refused a message")
)

// member consumes until this subscription loses its group.
func (s *subscription) member(ctx context.Context) error {
	var group LockedGroup
	if s.opts.Group != "" {
		var err error
		if group, err = s.opts.Checkpoints.Lock(ctx, s.opts.Group); err != nil {
			return err
		}
		defer group.Release()
		var cancel context.CancelFunc
		ctx, cancel = whileLocked(ctx, group)
		defer cancel()
	}
	for {
		if group != nil { // also after a Nack: the handler may have moved the checkpoint and failed afterwards
			if err := s.load(ctx, group); err != nil {
				return err
			}
		}
		if err := s.log.Run(ctx, s.take); !errors.Is(err, errNacked) {
			return errors.Join(err, context.Cause(ctx))
		}
		_ = pause.For(ctx, s.delays.NextBackOff()) // Run ends with ctx
	}
}

// whileLocked returns a context that ends with errLost when the group is lost.
func whileLocked(ctx context.Context, group LockedGroup) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-group.Lost():
			cancel(errLost)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

func (s *subscription) load(ctx context.Context, group LockedGroup) error {
	position, err := group.Position(ctx)
	if err != nil {
		return err
	}
	s.log.After, s.log.Idle, s.saved, s.savedAt, s.unsaved = position, 0, position, time.Now(), nil
	return nil
}

// Events that a group does not want move its checkpoint after a delay only, at most idleSaveAfter when no event follows, and
// otherwise saveAfter or saveEvery events. Operators see the delay as a lag.
const (
	idleSaveAfter = 200 * time.Millisecond
	saveAfter     = time.Second
	saveEvery     = 1000
)

// take delivers the wanted ones of the next events. A group without wanted events gets an empty message when its checkpoint is due.
func (s *subscription) take(ctx context.Context, events []Recorded) error {
	b := Batch{After: s.saved, UpTo: s.log.After, Events: s.wanted(events)}
	if len(events) > 0 {
		b.UpTo = events[len(events)-1].Position
	}
	group := s.opts.Group != ""
	if group {
		b.Read = appendMarks(s.unsaved, events) // in place: a batch that is not acknowledged is read again
	}
	due := group && (len(events) == 0 || b.UpTo-s.saved >= saveEvery || time.Since(s.savedAt) >= saveAfter)
	if len(b.Events) == 0 && !due {
		if s.unsaved = b.Read; group {
			s.log.Idle = idleSaveAfter
		}
		return s.linger(ctx, len(events))
	}
	if err := s.deliver(ctx, b); err != nil {
		return err
	}
	s.delays.Reset()
	s.log.Idle, s.saved, s.savedAt, s.unsaved = 0, b.UpTo, time.Now(), nil
	return s.linger(ctx, len(events))
}

// lingerPerEvent is how long an event of the last read delays the next one: Linger grows where more than 250 events come
// in a second.
const lingerPerEvent = 4 * time.Millisecond

// linger waits before the next read. After a quiet time, and after as many events as a message may have, it does not wait.
func (s *subscription) linger(ctx context.Context, count int) error {
	wait := max(s.opts.Linger, min(time.Duration(count)*lingerPerEvent, s.opts.MostLinger))
	if count == 0 || count == s.opts.Batch || wait <= 0 {
		return nil
	}
	return pause.For(ctx, wait)
}

// wanted returns the events that belong to the topic and are selected: the given slice if all are.
func (s *subscription) wanted(events []Recorded) (wanted []Recorded) {
	first := slices.IndexFunc(events, func(e Recorded) bool { return !s.wants(e) })
	if first < 0 {
		return events
	}
	wanted = events[:first:first]
	for _, e := range events[first+1:] {
		if s.wants(e) {
			wanted = append(wanted, e)
		}
	}
	return wanted
}

// deliver sends one message and waits for its Ack. A Nack is errNacked.
func (s *subscription) deliver(ctx context.Context, b Batch) error {
	msg := b.Message()
	values, cancel := context.WithCancel(s.values)
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	msg.SetContext(values)
	select {
	case s.out <- msg:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-msg.Acked():
		return nil
	case <-msg.Nacked():
		return errNacked
	case <-ctx.Done():
		s.waitForHandler(ctx, msg)
		return ctx.Err()
	}
}

// waitForHandler waits for the handler to end after its group was lost, so that no two handlers run at once in this process.
func (s *subscription) waitForHandler(ctx context.Context, msg *message.Message) {
	if errors.Is(context.Cause(ctx), errLost) {
		select {
		case <-msg.Acked():
		case <-msg.Nacked():
		case <-s.closing:
		case <-s.values.Done():
		}
	}
}
