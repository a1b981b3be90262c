// Package streamtest is the conformance suite of stream.Bus. Every implementation passes it, so that implementations
// are interchangeable.
package streamtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
)

// Account is the account whose frames the suite receives.
const Account = "acme"

// patience bounds the wait for a frame, far above its usual time.
const patience = 2 * time.Minute

// Pair returns a bus to publish on and a bus to receive from, which may be the same.
type Pair func(t *testing.T) (publish, receive stream.Bus)

// Run runs the suite.
func Run(t *testing.T, newPair Pair) {
	t.Run("frames arrive whole and in order", func(t *testing.T) { t.Parallel(); inOrder(t, newPair) })
	t.Run("invalid frames are refused", func(t *testing.T) { t.Parallel(); refused(t, newPair) })
	t.Run("publishing without receivers succeeds", func(t *testing.T) { t.Parallel(); noSubscriber(t, newPair) })
	t.Run("a slow receiver does not delay others and gets the latest frames", func(t *testing.T) { t.Parallel(); slow(t, newPair) })
	t.Run("receiving ends with its context", func(t *testing.T) { t.Parallel(); ends(t, newPair) })
}

func frame(value int) stream.Frame {
	return stream.Frame{
		Account: Account, Job: job.ID("11111111-2222-4333-8444-555555555555"), Run: 2, Node: "nöde", Attempt: 3,
		Kind: stream.FrameProgress, Value: value, Max: 1_000_000,
	}
}

// receive sends the received frames to a channel. It first publishes frames of the value 0 until one arrives, because
// joining takes a moment between processes.
func receive(t *testing.T, publish, from stream.Bus) <-chan stream.Frame {
	frames := make(chan stream.Frame, 1024)
	go func() {
		err := from.Receive(t.Context(), func(f stream.Frame) { frames <- f })
		if !errors.Is(err, context.Canceled) {
			panic(fmt.Sprintf("receive ended: %v", err))
		}
	}()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	timeout := time.After(patience)
	for {
		select {
		case <-again.C:
			require.NoError(t, publish.Publish(t.Context(), frame(0)))
		case <-frames:
			return frames
		case <-timeout:
			t.Fatal("no frame ever arrived")
		}
	}
}

// next returns the next frame that receive did not publish itself.
func next(t *testing.T, frames <-chan stream.Frame) stream.Frame {
	for {
		select {
		case f := <-frames:
			if f.Kind != stream.FrameProgress || f.Value > 0 {
				return f
			}
		case <-time.After(patience):
			t.Fatal("a frame is missing")
		}
	}
}

func inOrder(t *testing.T, newPair Pair) {
	publish, from := newPair(t)
	frames := receive(t, publish, from)
	for i := 1; i <= 100; i++ {
		require.NoError(t, publish.Publish(t.Context(), frame(i)))
	}
	for i := 1; i <= 100; i++ {
		require.Equal(t, frame(i), next(t, frames))
	}
	big := frame(0)
	big.Kind, big.Max, big.ContentType, big.Data = stream.FramePreview, 0, "image/png",
		bytes.Repeat([]byte{0, 1, 2, 255}, stream.MaxFrameData/4)
	require.NoError(t, publish.Publish(t.Context(), big))
	require.Equal(t, big, next(t, frames))
	big.Kind, big.Data = stream.FramePicture, make([]byte, stream.MaxPicture)
	require.NoError(t, publish.Publish(t.Context(), big))
	require.Equal(t, big, next(t, frames))
	for _, p := range []task.Progress{
		{Kind: task.Export, Task: task.NewID(), Files: 2, Attempted: 1, Bytes: 9, Done: 4},
		{Kind: task.Download, Task: task.NewID(), Name: "a.bin", Bytes: 9, Done: 4},
	} {
		progress := stream.Frame{Account: Account, Kind: stream.FrameTask, Task: &p}
		require.NoError(t, publish.Publish(t.Context(), progress))
		require.Equal(t, progress, next(t, frames))
	}
}

func refused(t *testing.T, newPair Pair) {
	publish, _ := newPair(t)
	for name, spoil := range map[string]func(*stream.Frame){
		"account":  func(f *stream.Frame) { f.Account = "" },
		"progress": func(f *stream.Frame) { f.Value = f.Max + 1 },
		"kind":     func(f *stream.Frame) { f.Kind = 9 },
		"name":     func(f *stream.Frame) { f.Kind, f.Name, f.Data = stream.FrameMessage, "two words", []byte("{}") },
		"no JSON":  func(f *stream.Frame) { f.Kind, f.Name, f.Data = stream.FrameMessage, "value-send", []byte("{") },
		"long": func(f *stream.Frame) {
			f.Kind, f.Name, f.Data = stream.FrameMessage, "value-send", make([]byte, stream.MaxMessage+1)
		},
		"size": func(f *stream.Frame) { f.Data = make([]byte, stream.MaxFrameData+1) },
		"picture": func(f *stream.Frame) {
			f.Kind, f.Max, f.ContentType, f.Data = stream.FramePicture, 0, "image/png", make([]byte, stream.MaxPicture+1)
		},
		"task":    func(f *stream.Frame) { f.Kind = stream.FrameTask },
		"preview": func(f *stream.Frame) { f.Kind, f.ContentType = stream.FramePreview, "image/gif" },
	} {
		f := frame(1)
		spoil(&f)
		require.True(t, fault.Is(publish.Publish(t.Context(), f), fault.Invalid), name)
	}
}

func noSubscriber(t *testing.T, newPair Pair) {
	publish, _ := newPair(t)
	for i := range 1000 {
		require.NoError(t, publish.Publish(t.Context(), frame(i)))
	}
}

func slow(t *testing.T, newPair Pair) {
	publish, from := newPair(t)
	proceed, frames := make(chan struct{}), make(chan stream.Frame, 4096)
	entered := make(chan struct{}, 1)
	go func() {
		_ = from.Receive(t.Context(), func(f stream.Frame) {
			select {
			case entered <- struct{}{}:
			default:
			}
			select {
			case <-proceed:
			case <-t.Context().Done():
			}
			frames <- f
		})
	}()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for joined := false; !joined; {
		select {
		case <-again.C:
			require.NoError(t, publish.Publish(t.Context(), frame(0)))
		case <-entered:
			joined = true
		}
	}
	const last = 3000
	for i := 1; i <= last; i++ {
		require.NoError(t, publish.Publish(t.Context(), frame(i)))
	}
	close(proceed)
	previous := 0
	for previous < last {
		f := next(t, frames)
		require.Greater(t, f.Value, previous, "in order, none twice")
		previous = f.Value
	}
}

func ends(t *testing.T, newPair Pair) {
	_, from := newPair(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- from.Receive(ctx, func(stream.Frame) {}) }()
	cancel()
	select {
	case err := <-done:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(patience):
		t.Fatal("receiving did not end")
	}
}
