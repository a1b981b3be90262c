package media

import (
	"context"
	"io"
	"strconv"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// LossyWebP returns the writer of lossy animated WebP files, which package image cannot write itself.
func LossyWebP(tool *ffmpeg.Tool) image.LossyWriter {
	return func(ctx context.Context, w io.Writer, im *raster.Image, fps float64, quality int, method string) error {
		level, ok := map[string]int{"default": 4, "fastest": 0, "slowest": 6}[method]
		if !ok || quality < 0 || quality > 100 { // linked values are not checked against the input's range
			return fault.New(fault.Invalid, fault.CodeAnimation, "a WebP file of quality %d and method %.64q cannot be written", quality, method)
		}
		pixels := "yuv420p"
		if im.Channels() == 4 {
			pixels = "yuva420p"
		}
		how := ffmpeg.Format{
			Alpha: true, Muxer: []string{"-f", "webp", "-loop", "0"},
			Video: []string{
				"-c:v", "libwebp_anim", "-lossless", "0", "-quality", strconv.Itoa(quality),
				"-compression_level", strconv.Itoa(level), "-pix_fmt", pixels,
			},
		}
		return tool.WriteVideo(ctx, w, &media.Video{Frames: im, FPS: fps}, how, nil, nil)
	}
}
