package stream

import (
	"context"
	"sync"
)

// Publisher accepts live frames from the workers.
type Publisher interface {
	// Publish sends a frame and returns at once. A frame that fails Validate is Invalid.
	Publish(ctx context.Context, f Frame) error
}

// Bus transports live frames from the workers to the replicas that have watchers. Delivery is best effort: a frame
// may be lost, but none is delivered twice, and the frames of one job arrive in the order in which they were
// published.
type Bus interface {
	Publisher
	// Receive calls handle for each frame, one at a time, until ctx ends. A handler that is too slow misses the
	// oldest frames.
	Receive(ctx context.Context, handle func(Frame)) error
}

// frameQueue is the number of frames that wait for a receiver before the oldest is dropped.
const frameQueue = 256

// Local is the Bus within one process.
type Local struct {
	mu        sync.Mutex // guards receivers
	receivers map[*receiver]struct{}
}

var _ Bus = (*Local)(nil)

// NewLocal returns a bus without receivers.
func NewLocal() *Local { return &Local{receivers: map[*receiver]struct{}{}} }

// Publish implements Bus.
func (l *Local) Publish(_ context.Context, f Frame) error {
	if err := f.Validate(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.receivers {
		r.enqueue(f)
	}
	return nil
}

// Receive implements Bus.
func (l *Local) Receive(ctx context.Context, handle func(Frame)) error {
	r := newReceiver()
	l.add(r)
	defer l.drop(r)
	for {
		f, err := r.next(ctx)
		if err != nil {
			return err
		}
		handle(f)
	}
}

func (l *Local) add(r *receiver) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.receivers[r] = struct{}{}
}

func (l *Local) drop(r *receiver) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.receivers, r)
}

// receiver is a bounded queue that drops its oldest frame when full.
type receiver struct {
	frames chan Frame
}

func newReceiver() *receiver { return &receiver{frames: make(chan Frame, frameQueue)} }

// enqueue queues f. Its callers hold one lock, so that there is one sender at a time.
func (r *receiver) enqueue(f Frame) {
	for {
		select {
		case r.frames <- f:
			return
		default:
		}
		select { // the queue is full: drop the oldest frame, unless the receiver took it meanwhile
		case <-r.frames:
		default:
		}
	}
}

func (r *receiver) next(ctx context.Context) (Frame, error) {
	select {
	case f := <-r.frames:
		return f, nil
	case <-ctx.Done():
		return Frame{}, ctx.Err()
	}
}
