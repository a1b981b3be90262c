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

// live publishes the frames of one running node. A lost frame is harmless, so errors are only logged.
type live struct {
	ctx       context.Context //nolint:containedctx // the context of the only call that uses this value
	chain     *chain
	node      string
	attempt   int  // attempt on a server; 0 = the attempt of the batch
	announced bool // the start of the node is in the log; progress of a very short node is not published
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

// Picture implements node.Live. It records the start of the node first, because the picture is a result of the node.
func (l *live) Picture(contentType string, data []byte) {
	if err := l.chain.events.flush(l.ctx); err != nil {
		return // the chain gets the same error at its next event
	}
	l.publish(stream.Frame{Kind: stream.FramePicture, ContentType: contentType, Data: data})
}

// message publishes a message of a node pack.
func (l *live) message(kind string, data []byte) {
	if err := l.chain.events.flush(l.ctx); err != nil {
		return // the chain gets the same error at its next event
	}
	l.publish(stream.Frame{Kind: stream.FrameMessage, Name: kind, Data: data})
}

// Text implements node.Live. It records the start of the node first, because the text is a result of the node.
func (l *live) Text(text string) {
	l.chain.log.add(text)
	if err := l.chain.events.flush(l.ctx); err != nil {
		return // the chain gets the same error at its next event
	}
	l.publish(stream.Frame{Kind: stream.FrameText, Data: []byte(text)})
}

// publish sends a frame if the start of the node is recorded. Watchers ignore frames of other nodes.
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
	// previewedNode is the cost from which a node has previews, many times the cost of a preview.
	previewedNode = 200 * time.Millisecond
	// previewEvery is the time between two previews of one node.
	previewEvery = 500 * time.Millisecond
)

// previews returns a function that publishes a preview of each call's image of a slow node, or nil for a node without
// previews. An output node has none, because it shows its images at its end. The class of a partner model is one because
// of its texts: it never shows its images.
func (c *chain) previews(l *live, pn *graph.PlanNode) func(node.Result) {
	class, ok := c.plan.classes.Lookup(pn.Class)
	if !ok || class.OutputNode && !class.Partner || pn.Cost < previewedNode || !c.plan.source.Previews() {
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
			c.g.Log.Debug("preview not rendered", "job_id", c.params.Job, "node_id", l.node, "error", err)
			return
		}
		l.Preview("image/jpeg", data.Bytes())
	}
}

// picture returns the first image among the outputs of a call, or nil. Of a list of images it returns the last.
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
