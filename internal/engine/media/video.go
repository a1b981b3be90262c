package media

import (
	"cmp"

	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// Video is a clip: a part of a file of the account, or frames and sound in memory.
type Video struct {
	File   string  // name of the file in graphs; "" = the clip consists of Frames
	Start  float64 // seconds into the file
	Length float64 // length in seconds; 0 = to the end of the file

	Frames *raster.Image
	FPS    float64
	Sound  *Sound // nil = silent
	Depth  int    // bits of a sample in a file of the clip; 0 = 8
	Space  string // the name of the colour space; "" = sRGB
}

// Bits returns the bits of a sample in a file of the clip.
func (v *Video) Bits() int { return cmp.Or(v.Depth, 8) }

// Colors returns the name of the colour space: "sRGB", "HDR" or "HDR PQ".
func (v *Video) Colors() string { return cmp.Or(v.Space, "sRGB") }

// Bytes estimates the memory of the clip.
func (v *Video) Bytes() int64 {
	var size int64
	if v.Frames != nil {
		size = v.Frames.Pixels() * int64(v.Frames.Channels())
		if !v.Frames.Is8Bit() {
			size *= 4
		}
	}
	if v.Sound != nil {
		size += v.Sound.Bytes()
	}
	return size
}
