package activities

import (
	"bytes"
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/stream"
)

// live publishes the frames of one running node. Losing one is harmless, so errors end here.
type live struct {
	ctx       context.Context //nolint:containedctx // of the one call that this value is made for
	chain     *chain
	node      string
	attempt   int  // of a node on a server; 0 = that of the batch
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
	if err := l.chain.events.flush(l.ctx); err != nil {
		return // the chain meets the same error at its next event
	}
	l.publish(stream.Frame{Kind: stream.FrameText, Data: []byte(text)})
}

// publish sends a frame. Watchers see only frames of nodes that the log says are running.
func (l *live) publish(f stream.Frame) {
	c := l.chain
	f.Account, f.Job, f.Run, f.Node, f.Attempt = c.params.Account, c.params.Job, c.params.Run, l.node, c.attempt
	if l.attempt > 0 {
		f.Attempt = l.attempt
	}
	if err := c.g.Bus.Publish(l.ctx, f); err != nil {
		c.g.Log.Debug("frame dropped", "job_id", c.params.Job, "node_id", l.node, "error", err)
	}
}

const (
	// previewedNode is the cost from which pictures of a node are previewed: many times what a preview takes.
	previewedNode = 200 * time.Millisecond
	// previewEvery is the time between two previews of one node.
	previewEvery = 500 * time.Millisecond
)

// previews returns what shows the pictures of a node that takes its time, each call's as it comes; nil
// for a node without previews. An output node shows its pictures when it has ended.
func (c *chain) previews(l *live, pn *graph.PlanNode) func(node.Result) {
	class, ok := c.plan.classes.Lookup(pn.Class)
	if !ok || class.OutputNode || pn.Cost < previewedNode || !c.plan.source.Previews() {
		return nil
	}
	var last time.Time
	return func(res node.Result) {
		im := picture(class, res)
		if im == nil || time.Since(last) < previewEvery {
			return
		}
		last = time.Now()
		var data bytes.Buffer
		if err := codec.EncodePreview(l.ctx, raster.Engine{}, &data, im, 0); err != nil {
			c.g.Log.Debug("no preview", "job_id", c.params.Job, "node_id", l.node, "error", err)
			return
		}
		l.Preview("image/jpeg", data.Bytes())
	}
}

// picture returns the first image among the outputs of a call, the last one of a list; nil if there is none.
func picture(class *node.Class, res node.Result) *raster.Image {
	for i, out := range class.Outputs {
		if out.Type != node.Image || i >= len(res.Outputs) {
			continue
		}
		value := res.Outputs[i]
		if list, ok := value.(node.List); ok && len(list) > 0 {
			value = list[len(list)-1]
		}
		if im, ok := value.(*raster.Image); ok && im.Frames() > 0 {
			return im
		}
	}
	return nil
}
