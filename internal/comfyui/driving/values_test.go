package driving_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/tensors"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// eachServer runs a test on a simulated server without and with the node pack, and on the real servers that
// MILLRACE_TEST_COMFYUI names.
func eachServer(t *testing.T, prefix string, test func(*testing.T, *rig)) {
	t.Helper()
	for name, opts := range map[string]sim.Options{
		"simulated": {}, "simulated with the node pack": {Pack: true},
		"simulated without a jobs interface": {NoJobs: true, Version: comfyui.MinVersion.String()},
	} {
		t.Run(prefix+name, func(t *testing.T) {
			t.Parallel()
			opts.Media = tool(t)
			test(t, simulated(t, opts))
		})
	}
}

// TestRealServers runs the tests of values on real servers.
func TestRealServers(t *testing.T) {
	addresses := realServers()
	if len(addresses) == 0 {
		t.Skip("MILLRACE_TEST_COMFYUI names no servers")
	}
	for _, address := range addresses {
		t.Run(strings.TrimPrefix(address, "http://"), func(t *testing.T) {
			for name, test := range values {
				t.Run(name, func(t *testing.T) { test(t, newRig(t, address, tool(t))) })
			}
		})
	}
}

func TestValuesCrossToAServerAndBack(t *testing.T) {
	t.Parallel()
	for name, test := range values {
		eachServer(t, name+"/", test)
	}
}

// values are the tests of moving values. Each passes a value through a class that returns it unchanged.
var values = map[string]func(*testing.T, *rig){
	"PictureOf8Bits": func(t *testing.T, r *rig) {
		im := picture8(t, 2, 48, 64, 3)
		back := r.through(im, node.Image, func(in any) any {
			return call("ImageFromBatch", map[string]any{"image": in, "batch_index": 0, "length": 2})
		})
		requireSame(t, im, back)
	},
	"PictureWithAlpha": func(t *testing.T, r *rig) {
		im := picture8(t, 1, 48, 64, 4)
		back := r.through(im, node.Image, func(in any) any {
			return call("ImageFromBatch", map[string]any{"image": in, "batch_index": 0, "length": 1})
		})
		require.Equal(t, 4, back.(*raster.Image).Channels())
		requireSame(t, im, back)
	},
	"PictureOfFloats": func(t *testing.T, r *rig) {
		im := pictureOfFloats(t, 2, 24, 53, 3)
		back := r.through(im, node.Image, func(in any) any {
			return call("ImageFromBatch", map[string]any{"image": in, "batch_index": 0, "length": 2})
		})
		requireClose(t, floatsOf(im), floatsOf(back.(*raster.Image)), r.tolerance(1.0/255))
	},
	"Mask": func(t *testing.T, r *rig) {
		m := mask(t, 1, 40, 56)
		back := r.through(m, node.Mask, func(in any) any {
			return call("FeatherMask", map[string]any{"mask": in, "left": 0, "top": 0, "right": 0, "bottom": 0})
		})
		requireClose(t, floatsOf(m), floatsOf(back.(*raster.Mask)), r.tolerance(1.0/255))
	},
	"Sound": func(t *testing.T, r *rig) {
		s := sound(t, 44100, 2, 5000)
		back := r.through(s, node.Audio, func(in any) any {
			return call("AudioAdjustVolume", map[string]any{"audio": in, "volume": 0})
		}).(*media.Sound)
		require.Equal(t, []int{44100, 2, 5000}, []int{back.Rate(), back.Channels(), back.Samples()})
		for i := range 2 {
			requireClose(t, wide(s.Channel(i)), wide(back.Channel(i)), r.tolerance(1.0/(1<<15)))
		}
	},
	"SilentSound": func(t *testing.T, r *rig) {
		s, err := media.Silence(8000, 2, 0)
		require.NoError(t, err)
		r.given["a"] = s
		require.NoError(t, r.run(prompt{
			"1": call("HereGiveAUDIO", map[string]any{"key": "a"}),
			"2": call("EmptyImage", map[string]any{"width": 64, "height": 64, "batch_size": 4, "color": 255}),
			"3": call("CreateVideo", map[string]any{"images": from("2", 0), "fps": 8, "audio": from("1", 0)}),
			"4": call("GetVideoComponents", map[string]any{"video": from("3", 0)}),
			"5": call("HereTakeIMAGE", map[string]any{"value": from("4", 0), "key": "frames"}),
		}, "5"))
		require.Equal(t, 4, r.taken["frames"].(*raster.Image).Frames())
	},
	"VideoOfFrames": func(t *testing.T, r *rig) {
		v := &media.Video{Frames: picture8(t, 6, 48, 64, 3), FPS: 8, Sound: sound(t, 44100, 2, 33075)}
		back := r.through(v, node.Video, func(in any) any {
			return call("Video Slice", map[string]any{"video": in, "start_time": 0, "duration": 0, "strict_duration": false})
		}).(*media.Video)
		r.requireVideo(back, 6, 64, 48)
	},
	"PartOfAVideoFile": func(t *testing.T, r *rig) {
		whole := r.through(&media.Video{Frames: picture8(t, 16, 48, 64, 3), FPS: 8}, node.Video, func(in any) any {
			return call("Video Slice", map[string]any{"video": in, "start_time": 0, "duration": 0, "strict_duration": false})
		}).(*media.Video)
		r.given["v"] = &media.Video{File: whole.File, Start: 0.5, Length: 1}
		require.NoError(t, r.run(prompt{
			"1": call("HereGiveVIDEO", map[string]any{"key": "v"}),
			"2": call("GetVideoComponents", map[string]any{"video": from("1", 0)}),
			"3": call("HereTakeIMAGE", map[string]any{"value": from("2", 0), "key": "frames"}),
			"4": call("HereTakeFLOAT", map[string]any{"value": from("2", 2), "key": "fps"}),
		}, "3", "4"))
		require.InDelta(t, 8, r.taken["frames"].(*raster.Image).Frames(), 1)
		require.InDelta(t, 8.0, r.taken["fps"], 0.01)
	},
	"Latent": func(t *testing.T, r *rig) {
		require.NoError(t, r.run(prompt{
			"1": call("EmptyLatentImage", map[string]any{"width": 64, "height": 64, "batch_size": 2}),
			"2": call("HereTakeLATENT", map[string]any{"value": from("1", 0), "key": "l"}),
		}, "2"))
		r.given["l"] = r.taken["l"]
		require.NoError(t, r.run(prompt{
			"1": call("HereGiveLATENT", map[string]any{"key": "l"}),
			"2": call("HereTakeLATENT", map[string]any{"value": from("3", 0), "key": "again"}),
			"3": call("RepeatLatentBatch", map[string]any{"samples": from("1", 0), "amount": 1}),
		}, "2"))
		require.Equal(t, payload(r.given["l"]), payload(r.taken["again"]))
	},
	"Scalars": func(t *testing.T, r *rig) {
		for kind, c := range map[node.Type]struct {
			class string
			value node.Value
		}{
			node.String:  {"PrimitiveStringMultiline", "two\nlines, \"quoted\" – 'ä'"},
			node.Int:     {"PrimitiveInt", int64(1)<<53 + 1},
			node.Float:   {"PrimitiveFloat", 0.1},
			node.Boolean: {"PrimitiveBoolean", true},
		} {
			back := r.through(c.value, kind, func(in any) any { return call(c.class, map[string]any{"value": in}) })
			require.Equal(t, c.value, back)
		}
	},
	"ListOfTexts": func(t *testing.T, r *rig) {
		var list node.List
		for i := range 23 { // more than one node can take
			list = append(list, strings.Repeat("x", i))
		}
		r.given["l"] = list
		require.NoError(t, r.run(prompt{
			"1": call("HereListSTRING", map[string]any{"key": "l"}),
			"2": call("StringConcatenate", map[string]any{"string_a": from("1", 0), "string_b": "y", "delimiter": "-"}),
			"3": call("HereTakeSTRING", map[string]any{"value": from("2", 0), "key": "l"}),
		}, "3"))
		back := r.taken["l"].(node.List)
		require.Len(t, back, len(list))
		for i, text := range back {
			require.Equal(t, list[i].(string)+"-y", text)
		}
	},
	"ListOfPictures": func(t *testing.T, r *rig) {
		list := node.List{picture8(t, 2, 48, 64, 3), picture8(t, 1, 48, 64, 3), picture8(t, 3, 64, 48, 3)}
		r.given["l"] = list
		require.NoError(t, r.run(prompt{
			"1": call("HereListIMAGE", map[string]any{"key": "l"}),
			"2": call("ImageFromBatch", map[string]any{"image": from("1", 0), "batch_index": 0, "length": 4096}),
			"3": call("HereTakeIMAGE", map[string]any{"value": from("2", 0), "key": "l"}),
		}, "3"))
		back := r.taken["l"].(node.List)
		require.Len(t, back, len(list), "frames of one size are no batch unless they were one")
		for i := range list {
			requireSame(t, list[i], back[i])
		}
	},
	"ListOfNumbers": func(t *testing.T, r *rig) {
		r.given["l"] = node.List{1.0, 2.5, -3.0}
		require.NoError(t, r.run(prompt{
			"1": call("HereListFLOAT", map[string]any{"key": "l"}),
			"2": call("PrimitiveFloat", map[string]any{"value": from("1", 0)}),
			"3": call("HereTakeFLOAT", map[string]any{"value": from("2", 0), "key": "l"}),
		}, "3"))
		require.Equal(t, r.given["l"], r.taken["l"])
	},
	"EmptyListIsRefused": func(t *testing.T, r *rig) {
		r.given["l"] = node.List{}
		err := r.run(prompt{
			"1": call("HereListSTRING", map[string]any{"key": "l"}),
			"2": call("PreviewAny", map[string]any{"source": from("1", 0)}),
		}, "2")
		require.True(t, fault.Is(err, fault.Invalid), "%v", err)
		require.Equal(t, fault.CodeValueCannotCross, fault.CodeOf(err))
	},
}

// tolerance is the allowed difference of a sample: none if the server has the node pack.
func (r *rig) tolerance(without float64) float64 {
	if r.offers("LosslessLoadImage") {
		return 0
	}
	return without
}

// through moves a value to a server, where a class returns it, and back.
func (r *rig) through(value node.Value, kind node.Type, class func(in any) any) node.Value {
	r.t.Helper()
	r.given["in"] = value
	require.NoError(r.t, r.run(prompt{
		"1": call("HereGive"+string(kind), map[string]any{"key": "in"}),
		"2": class(from("1", 0)),
		"3": call("HereTake"+string(kind), map[string]any{"value": from("2", 0), "key": "out"}),
	}, "3"))
	return r.taken["out"]
}

// requireVideo checks a video that was returned as a file.
func (r *rig) requireVideo(v *media.Video, frames, width, height int) {
	r.t.Helper()
	require.Contains(r.t, v.File, " [temp]")
	file, err := r.files.Open(r.ctx, v.File)
	require.NoError(r.t, err)
	decoded, err := tool(r.t).Video(r.ctx, file, partOf(v), raster.DefaultMaxPixels)
	require.NoError(r.t, err)
	require.Equal(r.t, []int{frames, width, height}, []int{decoded.Frames.Frames(), decoded.Frames.Width(), decoded.Frames.Height()})
	require.InDelta(r.t, 8.0, decoded.FPS, 0.01)
	require.NotNil(r.t, decoded.Sound)
}

// A latent keeps its noise mask if both servers have the node pack; the plain nodes drop the mask.
func TestLatentKeepsItsNoiseMaskWithTheNodePack(t *testing.T) {
	t.Parallel()
	for name, pack := range map[string]bool{"with it": true, "without it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := simulated(t, sim.Options{Pack: pack})
			require.NoError(t, r.run(masked(), "4"))
			r.given["l"] = r.taken["l"]
			require.NoError(t, r.run(prompt{
				"1": call("HereGiveLATENT", map[string]any{"key": "l"}),
				"2": call("RepeatLatentBatch", map[string]any{"samples": from("1", 0), "amount": 1}),
				"3": call("HereTakeLATENT", map[string]any{"value": from("2", 0), "key": "again"}),
			}, "3"))
			back := string(r.taken["again"].(node.Opaque).Data)
			require.Equal(t, pack, strings.Contains(back, "noise_mask"))
		})
	}
}

// masked returns a latent with a noise mask.
func masked() prompt {
	return prompt{
		"1": call("EmptyLatentImage", map[string]any{"width": 64, "height": 64, "batch_size": 1}),
		"2": call("SolidMask", map[string]any{"value": 0.5, "width": 64, "height": 64}),
		"3": call("SetLatentNoiseMask", map[string]any{"samples": from("1", 0), "mask": from("2", 0)}),
		"4": call("HereTakeLATENT", map[string]any{"value": from("3", 0), "key": "l"}),
	}
}

// A server without the node pack reads a latent of a server with the pack.
func TestLatentOfTheNodePackIsReadByAServerWithoutIt(t *testing.T) {
	t.Parallel()
	with, without := simulated(t, sim.Options{Pack: true}), simulated(t, sim.Options{})
	require.NoError(t, with.run(masked(), "4"))
	without.given["l"] = with.taken["l"]
	require.NoError(t, without.run(prompt{
		"1": call("HereGiveLATENT", map[string]any{"key": "l"}),
		"2": call("RepeatLatentBatch", map[string]any{"samples": from("1", 0), "amount": 1}),
		"3": call("HereTakeLATENT", map[string]any{"value": from("2", 0), "key": "again"}),
	}, "3"))
	require.Equal(t, payload(with.taken["l"]), payload(without.taken["again"]))
}

// Without ffmpeg, a sound can still move from one server to another.
func TestSoundPassesWithoutFFmpeg(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{Media: tool(t)})
	without := newRig(t, r.machine.URL(), nil)
	require.NoError(t, without.run(prompt{
		"1": call("EmptyAudio", map[string]any{"duration": 0.5, "sample_rate": 8000, "channels": 1}),
		"2": call("HereTakeAUDIO", map[string]any{"value": from("1", 0), "key": "s"}),
	}, "2"))
	r.given["s"] = without.taken["s"]
	require.IsType(t, node.Opaque{}, r.given["s"])
	require.NoError(t, r.run(prompt{
		"1": call("HereGiveAUDIO", map[string]any{"key": "s"}),
		"2": call("AudioAdjustVolume", map[string]any{"audio": from("1", 0), "volume": 0}),
		"3": call("HereTakeAUDIO", map[string]any{"value": from("2", 0), "key": "back"}),
	}, "3"))
	require.Equal(t, 4000, r.taken["back"].(*media.Sound).Samples())
}

func picture8(t testing.TB, frames, height, width, channels int) *raster.Image {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(frames), uint64(channels)))
	pix := make([]uint8, frames*height*width*channels)
	for i := range pix {
		pix[i] = uint8(random.IntN(256))
	}
	im, err := raster.NewImage8(frames, height, width, channels, pix)
	require.NoError(t, err)
	return im
}

// floats returns numbers between 0 and 1 that 8 bits cannot represent.
func floats(n int) []float32 {
	random := rand.New(rand.NewPCG(uint64(n), 3))
	out := make([]float32, n)
	for i := range out {
		out[i] = random.Float32()
	}
	return out
}

func pictureOfFloats(t testing.TB, frames, height, width, channels int) *raster.Image {
	t.Helper()
	im, err := raster.NewImage(frames, height, width, channels, floats(frames*height*width*channels))
	require.NoError(t, err)
	return im
}

func mask(t testing.TB, frames, height, width int) *raster.Mask {
	t.Helper()
	m, err := raster.NewMask(frames, height, width, floats(frames*height*width))
	require.NoError(t, err)
	return m
}

func sound(t testing.TB, rate, channels, samples int) *media.Sound {
	t.Helper()
	all := make([][]float32, channels)
	for c := range all {
		all[c] = make([]float32, samples)
		for i := range all[c] {
			all[c][i] = float32(0.9 * math.Sin(float64(i*(c+1))/40))
		}
	}
	s, err := media.NewSound(rate, all)
	require.NoError(t, err)
	return s
}

// requireSame compares pictures of 8 bits.
func requireSame(t *testing.T, want, got node.Value) {
	t.Helper()
	require.True(t, bytes.Equal(bytesOf(want.(*raster.Image)), bytesOf(got.(*raster.Image))), "the pictures differ")
}

func bytesOf(im *raster.Image) []uint8 {
	var all []uint8
	for frame := range im.Frames() {
		for y := range im.Height() {
			for _, v := range im.Row(make([]float32, im.Width()*im.Channels()), frame, y) {
				all = append(all, uint8(math.Round(float64(v)*255)))
			}
		}
	}
	return all
}

// rows are an image or a mask.
type rows interface {
	Row(buf []float32, frame, y int) []float32
	Frames() int
	Height() int
	Width() int
	Channels() int
}

func floatsOf(from rows) []float64 {
	var all []float64
	for frame := range from.Frames() {
		for y := range from.Height() {
			all = append(all, wide(from.Row(make([]float32, from.Width()*from.Channels()), frame, y))...)
		}
	}
	return all
}

// requireClose compares samples.
func requireClose(t *testing.T, want, got []float64, most float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.LessOrEqual(t, math.Abs(want[i]-got[i]), most, "sample %d", i)
	}
}

func wide(samples []float32) []float64 {
	out := make([]float64, len(samples))
	for i, v := range samples {
		out[i] = float64(v)
	}
	return out
}

func partOf(v *media.Video) ffmpeg.Part { return ffmpeg.Part{Start: v.Start, Length: v.Length} }

// payload returns the samples of a latent.
func payload(value node.Value) []byte {
	file, err := tensors.Read(bytes.NewReader(value.(node.Opaque).Data), 1<<20)
	if err != nil {
		return nil
	}
	for _, name := range []string{"samples", "latent_tensor"} {
		if t, ok := file.Tensors[name]; ok {
			return t.Data
		}
	}
	return nil
}
