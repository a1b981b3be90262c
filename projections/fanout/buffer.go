package fanout

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/stream"
)

// Bounds of the frames that are buffered until the event of their node's start, per job.
const (
	maxBufferedNodes = 64

	// Per node and kind of frame. Events of a node's start may be 150 ms behind its frames, in which a fast sampler does dozens of steps.
	maxBufferedTexts    = 8 // and as many messages of a pack
	maxBufferedSteps    = 64
	maxBufferedPictures = 256

	maxBufferedBytes = 16 << 20 // per node; as much as a watcher may have to receive
)

// frameBuffer keeps frames until the event that starts their run or their node. Frames arrive earlier than
// events, and the events of a fused chain are recorded when the chain is done.
type frameBuffer struct {
	frames map[string][]stream.Frame
}

// add keeps a frame. If there are too many, progress and previews replace the latest ones, and other frames are dropped.
func (b *frameBuffer) add(f stream.Frame) {
	waiting := b.frames[f.Node]
	if waiting == nil && len(b.frames) >= maxBufferedNodes {
		return
	}
	if b.frames == nil {
		b.frames = map[string][]stream.Frame{}
	}
	same, last, bytes := 0, 0, len(f.Data)
	for i, old := range waiting {
		bytes += len(old.Data)
		if old.Kind == f.Kind {
			same, last = same+1, i
		}
	}
	most, replaces := maxBufferedTexts, false
	switch f.Kind {
	case stream.FramePicture:
		most = maxBufferedPictures
	case stream.FrameProgress, stream.FramePreview:
		most, replaces = maxBufferedSteps, true
	case stream.FrameWaiting:
		most, replaces = 1, true
	case stream.FrameText, stream.FrameMessage, stream.FrameTask:
	}
	switch {
	case same == 0 || same < most && bytes <= maxBufferedBytes:
		b.frames[f.Node] = append(waiting, f)
	case replaces:
		waiting[last] = f
	}
}

// dropOtherRuns drops the frames of other runs.
func (b *frameBuffer) dropOtherRuns(run int) {
	for node, frames := range b.frames {
		b.frames[node] = slices.DeleteFunc(frames, func(f stream.Frame) bool { return f.Run != run })
		if len(b.frames[node]) == 0 {
			delete(b.frames, node)
		}
	}
}

func (b *frameBuffer) remove(node string) []stream.Frame {
	frames := b.frames[node]
	delete(b.frames, node)
	return frames
}

func (b *frameBuffer) drop(node string) { delete(b.frames, node) }
