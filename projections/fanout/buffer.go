package fanout

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/stream"
)

// Bounds of the frames that are buffered until the event of their node's start, per job.
const (
	maxBufferedNodes = 64
	maxBufferedTexts = 8 // per node, and as many messages of a pack; only the latest progress and the latest preview are kept

	maxBufferedPictures     = 256      // per node
	maxBufferedPictureBytes = 16 << 20 // per node
)

// frameBuffer keeps frames until the event that starts their run or their node. Frames arrive earlier than
// events, and the events of a fused chain are recorded when the chain is done.
type frameBuffer struct {
	frames map[string][]stream.Frame
}

func (b *frameBuffer) add(f stream.Frame) {
	waiting := b.frames[f.Node]
	if waiting == nil && len(b.frames) >= maxBufferedNodes {
		return
	}
	if b.frames == nil {
		b.frames = map[string][]stream.Frame{}
	}
	texts, pictures, bytes := 0, 0, len(f.Data)
	for i, old := range waiting {
		switch {
		case old.Kind != f.Kind:
		case f.Kind == stream.FrameText, f.Kind == stream.FrameMessage:
			texts++
		case f.Kind == stream.FramePicture:
			pictures, bytes = pictures+1, bytes+len(old.Data)
		default:
			waiting[i] = f
			return
		}
	}
	if texts < maxBufferedTexts && pictures < maxBufferedPictures && (pictures == 0 || bytes <= maxBufferedPictureBytes) {
		b.frames[f.Node] = append(waiting, f)
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
