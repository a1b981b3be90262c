package fanout

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/stream"
)

// Bounds of the frames that wait for the fact of their node's start, per job.
const (
	maxHeldNodes = 64
	maxHeldTexts = 8 // per node; of progress and previews only the latest is kept
)

// held keeps frames that came before the fact that their node, or their run, started: frames travel
// faster than facts, and the facts of a fused chain are recorded when it is done.
type held struct {
	frames map[string][]stream.Frame
}

func (h *held) keep(f stream.Frame) {
	waiting := h.frames[f.Node]
	if waiting == nil && len(h.frames) >= maxHeldNodes {
		return
	}
	if h.frames == nil {
		h.frames = map[string][]stream.Frame{}
	}
	texts := 0
	for i, old := range waiting {
		switch {
		case old.Kind != f.Kind:
		case f.Kind == stream.FrameText:
			texts++
		default:
			waiting[i] = f
			return
		}
	}
	if texts < maxHeldTexts {
		h.frames[f.Node] = append(waiting, f)
	}
}

// begin forgets the frames of other runs.
func (h *held) begin(run int) {
	for node, frames := range h.frames {
		h.frames[node] = slices.DeleteFunc(frames, func(f stream.Frame) bool { return f.Run != run })
		if len(h.frames[node]) == 0 {
			delete(h.frames, node)
		}
	}
}

func (h *held) take(node string) []stream.Frame {
	frames := h.frames[node]
	delete(h.frames, node)
	return frames
}

func (h *held) drop(node string) { delete(h.frames, node) }
