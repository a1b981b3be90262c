package activities_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image/jpeg"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/stream"
)

// framesBus keeps what is published, and what of the node's events was recorded by then.
type framesBus struct {
	mu     sync.Mutex
	b      *bench
	t      *testing.T
	frames []stream.Frame
	events [][]string
}

func (f *framesBus) Publish(_ context.Context, frame stream.Frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frames, f.events = append(f.frames, frame), append(f.events, f.b.events(f.t))
	return nil
}

// pictures is a class that makes an image.
func pictures(name string, cost time.Duration, output bool) *node.Class {
	return &node.Class{
		Name: name, Module: "nodes", OutputNode: output, Outputs: []node.Output{{Name: "image", Type: node.Image}},
		Cost: func(node.Args, int64) time.Duration { return cost },
		Run: func(ctx context.Context, _ *node.Call) (node.Result, error) {
			im, err := raster.Engine{}.Solid(ctx, 1, 1500, 3000, []uint8{200, 100, 0})
			return node.Result{Outputs: []node.Value{im}}, err
		},
	}
}

// W-57, W-59: a node that takes its time shows what it made while it still runs, at most 512 pixels a side. What an
// output node makes is reported when it has ended, and what is quick needs no preview.
func TestSlowNodesPreviewTheirPictures(t *testing.T) {
	t.Parallel()
	slow, quick, shown := pictures("Slow", time.Second, false), pictures("Quick", time.Millisecond, false),
		pictures("Shown", time.Second, true)
	shown.Inputs = []node.Input{
		{Name: "a", Type: node.Image, Section: node.Required}, {Name: "b", Type: node.Image, Section: node.Required},
	}
	graph := json.RawMessage(`{"1":{"class_type":"Slow","inputs":{}},"2":{"class_type":"Quick","inputs":{}},
		"3":{"class_type":"Shown","inputs":{"a":["1",0],"b":["2",0]}}}`)
	run := func(method string) *framesBus {
		submitted := job.Source{Prompt: graph, ExtraData: map[string]json.RawMessage{"preview_method": json.RawMessage(method)}}
		b := newBenchOf(t, submitted, []string{"3"}, slow, quick, shown)
		bus := &framesBus{b: b, t: t}
		b.activities.Bus = bus
		b.drive(t, b.begin(t), b.once)
		return bus
	}
	require.Empty(t, run(`"none"`).frames, "its client wants none")
	bus := run(`"auto"`)
	require.Len(t, bus.frames, 1)
	frame := bus.frames[0]
	require.Equal(t, []any{stream.FramePreview, "1", "image/jpeg"}, []any{frame.Kind, frame.Node, frame.ContentType})
	require.Contains(t, bus.events[0], "started 1")
	require.NotContains(t, bus.events[0], "executed 1")
	config, err := jpeg.DecodeConfig(bytes.NewReader(frame.Data))
	require.NoError(t, err)
	require.Equal(t, []int{512, 256}, []int{config.Width, config.Height})
}

// A slow node that gives no picture has no preview.
func TestAListWithoutPicturesHasNoPreview(t *testing.T) {
	t.Parallel()
	class := pictures("None", time.Second, true)
	class.Partner = true // which shows previews although it is an output
	class.Outputs[0].IsList = true
	class.Run = func(context.Context, *node.Call) (node.Result, error) {
		return node.Result{Outputs: []node.Value{node.List{}}}, nil
	}
	submitted := job.Source{
		Prompt:    json.RawMessage(`{"1":{"class_type":"None","inputs":{}}}`),
		ExtraData: map[string]json.RawMessage{"preview_method": json.RawMessage(`"auto"`)},
	}
	b := newBenchOf(t, submitted, []string{"1"}, class)
	bus := &framesBus{b: b, t: t}
	b.activities.Bus = bus
	_, _, failed := b.drive(t, b.begin(t), b.once)
	require.Empty(t, failed)
	require.Empty(t, bus.frames)
}
