package media

import "github.com/millrace-dev/millrace/internal/engine/raster"

// Video is a clip: a part of a file of the account, or frames with a sound.
type Video struct {
	File   string  // as graphs name it; "" = made of Frames
	Start  float64 // seconds into the file
	Length float64 // seconds of the file, 0 = to its end

	Frames *raster.Image
	FPS    float64
	Sound  *Sound // nil = silent
}

// Bytes is about the memory of the clip.
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
