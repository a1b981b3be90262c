package activities_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image/jpeg"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
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

// Previews of a node follow each other after half a second or more. Each is of the first picture of a call, and of the last in a list.
func TestPreviewsOfANodeAreNotTooMany(t *testing.T) {
	t.Parallel()
	for cost, want := range map[time.Duration][]int{200 * time.Millisecond: {20, 60}, 200*time.Millisecond - 1: nil} {
		lists := &node.Class{
			Name: "Lists", Module: "nodes", Outputs: []node.Output{{Type: node.Int, IsList: true}},
			Run: func(context.Context, *node.Call) (node.Result, error) {
				return node.Result{Outputs: []node.Value{node.List{int64(20), int64(40), int64(60), int64(80)}}}, nil
			},
		}
		class := pictures("Pictures", cost, true)
		class.Partner = true // which shows previews although it is an output
		class.Inputs = []node.Input{{Name: "width", Type: node.Int}}
		class.Outputs = []node.Output{{Type: node.Int}, {Type: node.Image, IsList: true}, {Type: node.Image}}
		class.Run = func(ctx context.Context, call *node.Call) (node.Result, error) {
			width, _ := call.Args["width"].(int64)
			var made []node.Value
			for _, w := range []int{10, int(width), 90} {
				im, err := raster.Engine{}.Solid(ctx, 1, 8, w, []uint8{200, 100, 0})
				if err != nil {
					return node.Result{}, err
				}
				made = append(made, im)
			}
			<-time.After(250 * time.Millisecond) // of the bubble
			return node.Result{Outputs: []node.Value{width, node.List(made[:2]), made[2]}}, nil
		}
		b := newBenchOf(t, job.Source{
			Prompt:    json.RawMessage(`{"1":{"class_type":"Lists","inputs":{}},"2":{"class_type":"Pictures","inputs":{"width":["1",0]}}}`),
			ExtraData: map[string]json.RawMessage{"preview_method": json.RawMessage(`"auto"`)},
		}, []string{"2"}, lists, class)
		bus := &framesBus{b: b, t: t}
		b.activities.Bus = bus
		plan := b.begin(t)
		synctest.Test(t, func(t *testing.T) {
			res, err := b.run(t.Context(), plan, 0, 1)
			require.NoError(t, err)
			require.Empty(t, res.Failed)
		})
		var widths []int
		for _, frame := range bus.frames {
			config, err := jpeg.DecodeConfig(bytes.NewReader(frame.Data))
			require.NoError(t, err)
			widths = append(widths, config.Width)
		}
		require.Equal(t, want, widths, cost)
	}
}

// A very short node shows its results alone, and only after its start is recorded, since watchers ignore other nodes.
func TestWatchersSeeWhatANodeShowsAfterItsStart(t *testing.T) {
	t.Parallel()
	for _, short := range []bool{false, true} {
		for _, away := range []bool{false, true} {
			cost := 20 * time.Millisecond
			if short {
				cost--
			}
			class := pictures("Live", cost, true)
			class.Run = func(_ context.Context, call *node.Call) (node.Result, error) {
				call.Live.Progress(1, 2)
				call.Live.Preview("image/png", []byte("preview"))
				call.Live.Picture("image/png", []byte("picture"))
				call.Live.Text("text")
				return node.Result{Outputs: []node.Value{nil}}, nil
			}
			b := newBench(t, `{"1":{"class_type":"Live","inputs":{}}}`, []string{"1"}, class)
			bus := &framesBus{b: b, t: t}
			b.activities.Bus = bus
			plan := b.begin(t)
			if away {
				b.activities.Events = &failing{b.log, -2, 0}
			}
			if short && away { // the text is recorded, with the start, after the picture could not be
				b.once(t, activities.RunParams{RunRef: b.ref, PlanHash: plan.PlanHash, Units: []int{0}})
			} else if _, err := b.run(t.Context(), plan, 0); away {
				retried(t, err)
				require.Len(t, bus.frames, 1)
				require.Equal(t, stream.FrameWaiting, bus.frames[0].Kind, "the job says that it waits for the log")
				continue
			} else {
				require.NoError(t, err)
			}
			frame := stream.Frame{Account: "a", Job: b.ref.Job, Run: 1, Node: "1", Attempt: 1}
			progress, preview, picture, text := frame, frame, frame, frame
			progress.Kind, progress.Value, progress.Max = stream.FrameProgress, 1, 2
			preview.Kind, preview.ContentType, preview.Data = stream.FramePreview, "image/png", []byte("preview")
			picture.Kind, picture.ContentType, picture.Data = stream.FramePicture, "image/png", []byte("picture")
			text.Kind, text.Data = stream.FrameText, []byte("text")
			want := []stream.Frame{progress, preview, picture, text}
			switch {
			case short && away:
				want = want[3:]
			case short:
				want = want[2:]
			}
			require.Equal(t, want, bus.frames)
			for _, events := range bus.events {
				require.Equal(t, []string{"started 1"}, events)
			}
		}
	}
}
