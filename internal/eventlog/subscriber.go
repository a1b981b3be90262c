package eventlog

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/millrace-dev/millrace/internal/fault"
)

// TopicAll is the topic of all events. Every other topic is a stream category: topic "job" has the events of the
// streams "job" and "job-…".
const TopicAll = "events"

// Metadata keys of delivered messages.
const (
	KeyPosition = "position" // position of the (last) event
	KeyStream   = "stream"
	KeyVersion  = "version"
	KeyType     = "type"
	KeyAccount  = "account"
	KeyCount    = "count" // number of events in the message
)

// SubscriberOptions tune a Subscriber. The zero value reads the log from its start, with one event per message and
// without a checkpoint.
type SubscriberOptions struct {
	// Group names a consumer group. Its members share one checkpoint per topic; one member consumes at a time and the
	// others wait. "" = no group: every subscription is independent and starts where FromNow says.
	Group       string
	Checkpoints Checkpoints // required with Group
	// HandlerSaves means that the handler moves the group's checkpoint itself, in the transaction of its writes; the
	// subscriber then only reads the checkpoint.
	HandlerSaves bool
	// Wants selects events beside the topic; nil = all. A group whose handler saves gets a batch without
	// events from time to time, so that its checkpoint follows the log all the same.
	Wants   func(Recorded) bool
	FromNow bool          // without a group: start at the end of the log instead of its beginning
	Batch   int           // the most events of one message, default 1
	Linger  time.Duration // the least time after a read that is not full, so that under load a message has many events; default none
	// MostLinger lets Linger grow with the rate of events, up to this: under load fewer messages have more events. 0 = it does not.
	MostLinger time.Duration
	FirstRetry time.Duration // default 10 ms after a Nack, doubled each time
	LastRetry  time.Duration // default 5 s: the longest pause
	Log        *slog.Logger  // default: discard
}

func (o SubscriberOptions) withDefaults() SubscriberOptions {
	if o.Batch <= 0 {
		o.Batch = 1
	}
	if o.FirstRetry <= 0 {
		o.FirstRetry = 10 * time.Millisecond
	}
	if o.LastRetry <= 0 {
		o.LastRetry = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
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
	run := &subscription{Subscriber: s, topic: topic, values: ctx, out: make(chan *message.Message)}
	ctx, cancel := context.WithCancel(ctx)
	if s.opts.Group == "" && s.opts.FromNow { // fix the start before returning, so that no later event is missed
		start, err := s.tail.Settled(ctx)
		if err != nil {
			cancel()
			return nil, err
		}
		run.position = start
	}
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
	topic    string
	values   context.Context //nolint:containedctx // the caller's context; messages have its values
	out      chan *message.Message
	position int64     // position of the last event read
	read     time.Time // when the last events were read, or their message was acknowledged; zero if they could not be more
	count    int       // of those events
	saved    int64     // the group's checkpoint, as last loaded or saved
	savedAt  time.Time
	unsaved  []Mark // marks of the events read since the checkpoint
}

// group returns the name of the checkpoint: the group's name, followed by the topic unless that is TopicAll.
func (s *subscription) group() string {
	if s.topic == "" || s.topic == TopicAll {
		return s.opts.Group
	}
	return s.opts.Group + "/" + s.topic
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
	retry := newRetry(s.opts.FirstRetry, s.opts.LastRetry)
	for ctx.Err() == nil {
		err := s.member(ctx, retry)
		if ctx.Err() != nil {
			return
		}
		s.opts.Log.Warn("subscription interrupted; it will resume", "group", s.opts.Group, "topic", s.topic,
			"position", s.position, "error", err)
		retry.wait(ctx)
	}
}

var errLost = errors.New("another member has the group now")

// member consumes until this subscription loses its group.
func (s *subscription) member(ctx context.Context, retry *retry) error {
	var held LockedGroup
	if s.opts.Group != "" {
		var err error
		if held, err = s.opts.Checkpoints.Lock(ctx, s.group()); err != nil {
			return err
		}
		defer held.Release()
		if err := s.load(ctx, held); err != nil {
			return err
		}
		var cancel context.CancelFunc
		ctx, cancel = whileLocked(ctx, held)
		defer cancel()
	}
	for {
		if err := s.step(ctx, held, retry); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// whileLocked returns a context that ends with errLost when the group is lost.
func whileLocked(ctx context.Context, held LockedGroup) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-held.Lost():
			cancel(errLost)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

func (s *subscription) load(ctx context.Context, held LockedGroup) error {
	position, err := held.Position(ctx)
	if err != nil {
		return err
	}
	s.position, s.saved, s.savedAt, s.unsaved = position, position, time.Now(), nil
	return nil
}

// saveEvery bounds how many events of other topics are read again after a restart.
const saveEvery = 1000

// When the handler saves the checkpoint, events that it does not want move the checkpoint only after a delay, at
// most idleSaveAfter when no event follows and saveAfter otherwise. Operators see the delay as a lag.
const (
	idleSaveAfter = 200 * time.Millisecond
	saveAfter     = time.Second
)

// next reads the next events. It returns none if none arrived within restAfter and the checkpoint is behind.
func (s *subscription) next(ctx context.Context) ([]Recorded, error) {
	if err := s.waitForBatch(ctx); err != nil {
		return nil, err
	}
	if !s.opts.HandlerSaves || s.position == s.saved {
		return s.tail.Next(ctx, s.position, s.opts.Batch)
	}
	waiting, cancel := context.WithTimeout(ctx, idleSaveAfter)
	defer cancel()
	events, err := s.tail.Next(waiting, s.position, s.opts.Batch)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil, nil
	}
	return events, err
}

// lingerPerEvent is how long an event of the last read delays the next one: Linger grows where more than 250 events come
// in a second.
const lingerPerEvent = 4 * time.Millisecond

// waitForBatch waits until the next read. After a quiet time, and after as many events as a message may have, that is at once.
func (s *subscription) waitForBatch(ctx context.Context) error {
	least := max(s.opts.Linger, min(time.Duration(s.count)*lingerPerEvent, s.opts.MostLinger))
	left := least - time.Since(s.read)
	if left <= 0 {
		return nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkpointDue reports whether to deliver a batch without events, so that the handler saves the checkpoint.
func (s *subscription) checkpointDue(read int, upTo int64) bool {
	return s.opts.HandlerSaves && (read == 0 || upTo-s.saved >= saveEvery || time.Since(s.savedAt) >= saveAfter)
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

// step reads once and delivers the wanted events.
func (s *subscription) step(ctx context.Context, held LockedGroup, retry *retry) error {
	events, err := s.next(ctx)
	if err != nil {
		return err
	}
	wanted := s.wanted(events)
	upTo := s.position
	if len(events) > 0 {
		upTo = events[len(events)-1].Position
	}
	var read []Mark
	if held != nil {
		read = appendMarks(s.unsaved, events) // in place: a batch that is not acknowledged is read again
	}
	deliver := len(wanted) > 0 || s.checkpointDue(len(events), upTo)
	if deliver {
		acked, err := s.deliver(ctx, Batch{After: s.saved, UpTo: upTo, Events: wanted, Read: read})
		if err != nil {
			return err
		}
		if !acked {
			retry.wait(ctx)
			if held != nil && s.opts.HandlerSaves {
				return s.load(ctx, held) // the handler may have saved the checkpoint and failed afterwards
			}
			return nil
		}
		retry.reset()
	}
	if s.count, s.read = len(events), time.Now(); len(events) == 0 || len(events) == s.opts.Batch {
		s.read = time.Time{} // none came for a while, or others wait
	}
	s.position, s.unsaved = upTo, read
	return s.save(ctx, held, deliver)
}

// save moves the group's checkpoint. Without a delivery it does so only every saveEvery events.
func (s *subscription) save(ctx context.Context, held LockedGroup, delivered bool) error {
	switch {
	case held == nil:
		return nil
	case s.opts.HandlerSaves:
		if delivered {
			s.saved, s.savedAt, s.unsaved = s.position, time.Now(), nil
		}
		return nil
	case !delivered && s.position-s.saved < saveEvery:
		return nil
	}
	if err := held.Save(ctx, s.saved, s.position, s.unsaved); err != nil {
		if errors.Is(err, ErrRewound) {
			s.tail.Recheck()
		}
		return err
	}
	s.saved, s.unsaved = s.position, nil
	return nil
}

// deliver sends one message and waits for its Ack (true) or Nack (false).
func (s *subscription) deliver(ctx context.Context, b Batch) (acked bool, err error) {
	msg := s.message(b)
	values, cancel := context.WithCancel(s.values)
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	msg.SetContext(withBatch(values, b))
	select {
	case s.out <- msg:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case <-msg.Acked():
		return true, nil
	case <-msg.Nacked():
		return false, nil
	case <-ctx.Done():
		return s.waitForHandler(ctx, msg)
	}
}

// waitForHandler waits for the handler to end after its group was lost, so that no two handlers run at once in this process.
func (s *subscription) waitForHandler(ctx context.Context, msg *message.Message) (bool, error) {
	if errors.Is(context.Cause(ctx), errLost) {
		select {
		case <-msg.Acked():
		case <-msg.Nacked():
		case <-s.closing:
		case <-s.values.Done():
		}
	}
	return false, ctx.Err()
}

// message renders a batch. The payload of a single event is its data, or the payload of the message that a
// Publisher recorded. Several events are available only through BatchOf.
func (s *subscription) message(b Batch) *message.Message {
	if len(b.Events) == 0 {
		msg := message.NewMessage(watermill.NewUUID(), nil)
		msg.Metadata.Set(KeyPosition, strconv.FormatInt(b.UpTo, 10))
		msg.Metadata.Set(KeyCount, "0")
		return msg
	}
	last := b.Events[len(b.Events)-1]
	if s.opts.Batch == 1 {
		if msg, ok := published(last); ok {
			return msg
		}
	}
	msg := message.NewMessage(last.ID.String(), nil)
	msg.Metadata.Set(KeyPosition, strconv.FormatInt(b.UpTo, 10))
	msg.Metadata.Set(KeyCount, strconv.Itoa(len(b.Events)))
	if s.opts.Batch == 1 {
		msg.Payload = message.Payload(last.Data)
		msg.Metadata.Set(KeyStream, last.Stream)
		msg.Metadata.Set(KeyVersion, strconv.FormatInt(last.Version, 10))
		msg.Metadata.Set(KeyType, last.Type)
		msg.Metadata.Set(KeyAccount, last.Account)
	}
	if last.Meta.RequestID != "" {
		middleware.SetCorrelationID(last.Meta.RequestID, msg)
	}
	return msg
}
