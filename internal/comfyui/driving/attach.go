package driving

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
)

// attachment is one socket to the server, with those that replace it when its connection breaks.
type attachment struct {
	events chan comfyui.Event
	ended  chan error // of one
	stop   context.CancelFunc
	heard  time.Time     // when the last message came, or the socket was opened
	quiet  time.Duration // without a message while the prompt runs, after which the socket is opened anew
}

// attach follows the prompt until ctx ends, or the attachment is stopped.
func (f *follower) attach(ctx context.Context, quiet time.Duration) *attachment {
	ctx, stop := context.WithCancel(ctx)
	a := &attachment{events: make(chan comfyui.Event, maxHeld), ended: make(chan error, 1), stop: stop, heard: time.Now(), quiet: quiet}
	go func() {
		a.ended <- f.r.Server.Follow(ctx, string(f.r.Prompt), func(e comfyui.Event) error {
			select {
			case a.events <- e:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	return a
}

// close ends the socket and waits until the server has confirmed it: a server that learns of it later would forget the next
// socket of the same name.
func (a *attachment) close() {
	a.stop()
	<-a.ended
}

// longestQuiet bounds the time between two sockets of a prompt that says nothing, such as one that loads a large model.
const longestQuiet = time.Minute

// reattach opens another socket in place of one that gave no message for long although the prompt runs. A server sends the
// messages of a prompt to the last socket of its client, and forgets the client when any of its sockets ends, also one of a
// driver that was lost, which may end later.
func (f *follower) reattach(ctx context.Context) {
	a := f.attached
	if len(a.events) > 0 || time.Since(a.heard) < a.quiet {
		return
	}
	a.close()
	f.attached = f.attach(ctx, min(2*a.quiet, longestQuiet))
}

// hear notes that the server knows of the socket.
func (f *follower) hear(e comfyui.Event) {
	switch e.(type) {
	case comfyui.Connected, comfyui.Disconnected:
	default:
		f.attached.heard = time.Now()
	}
}
