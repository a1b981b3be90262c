package node

import (
	"encoding/json"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// bytesPerPixel is the memory of a pixel of the widest value: four floats.
const bytesPerPixel = 16

// weight adds up the memory of the results of one node's calls. A list of thousands of values, each within its own
// bound, could exhaust any machine, so all values together have the bound of one value.
type weight struct {
	maxPixels int64 // bound on pixels, as in Call.MaxPixels
	bytes     int64
}

// add counts a result. It returns an error when the bound is exceeded.
func (w *weight) add(res Result) error {
	for _, value := range res.Outputs {
		w.bytes += bytesOf(value)
	}
	most := w.maxPixels
	if most <= 0 {
		most = raster.DefaultMaxPixels
	}
	if w.bytes/bytesPerPixel > most {
		return fault.New(fault.Exhausted, fault.CodeListTooLarge, "the values of a list take more than %d bytes in total", most*bytesPerPixel)
	}
	return nil
}

// samples is implemented by images and masks.
type samples interface {
	Pixels() int64
	Channels() int
	Is8Bit() bool
}

// bytesOf estimates the memory of a value.
func bytesOf(value Value) int64 {
	switch v := value.(type) {
	case samples:
		size := v.Pixels() * int64(v.Channels())
		if !v.Is8Bit() {
			size *= 4
		}
		return size
	case *media.Sound:
		return v.Bytes()
	case *media.Video:
		return v.Bytes()
	case *layers.Stack:
		return v.Bytes()
	case string:
		return int64(len(v))
	case Opaque:
		return int64(len(v.Data))
	case json.RawMessage:
		return int64(len(v))
	case List:
		var size int64
		for _, element := range v {
			size += bytesOf(element)
		}
		return size
	}
	return 0
}
