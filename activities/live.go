package activities

import (
	"context"

	"github.com/millrace-dev/millrace/internal/stream"
)

// live publishes the frames of one running node. Losing one is harmless, so errors end here.
type live struct {
	ctx       context.Context //nolint:containedctx // of the one call that this value is made for
	chain     *chain
	node      string
	announced bool // the log says already that the node runs; progress of one that is over at once is nobody's concern
}

// Progress implements node.Live.
func (l *live) Progress(value, max int) {
	if l.announced {
		l.publish(stream.Frame{Kind: stream.FrameProgress, Value: value, Max: max})
	}
}

// Preview implements node.Live.
func (l *live) Preview(contentType string, data []byte) {
	if l.announced {
		l.publish(stream.Frame{Kind: stream.FramePreview, ContentType: contentType, Data: data})
	}
}

// Text implements node.Live. It is announced at any cost: text is what such a node is for.
func (l *live) Text(text string) {
	l.chain.log.add(text)
	if err := l.chain.facts.flush(l.ctx); err != nil {
		return // the chain meets the same error at its next fact
	}
	l.publish(stream.Frame{Kind: stream.FrameText, Data: []byte(text)})
}

// publish sends a frame; watchers are shown frames of nodes only that the log says are running.
func (l *live) publish(f stream.Frame) {
	c := l.chain
	f.Account, f.Job, f.Run, f.Node, f.Attempt = c.params.Account, c.params.Job, c.params.Run, l.node, c.attempt
	if err := c.g.Bus.Publish(l.ctx, f); err != nil {
		c.g.Log.Debug("frame dropped", "job_id", c.params.Job, "node_id", l.node, "error", err)
	}
}
