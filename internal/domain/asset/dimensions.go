package asset

import (
	"image"
	_ "image/gif"  // decoders for DecodeConfig
	_ "image/jpeg" // as above
	_ "image/png"  // as above
	"io"

	_ "golang.org/x/image/bmp"  // as above
	_ "golang.org/x/image/tiff" // as above
	_ "golang.org/x/image/webp" // as above
)

// headBytes bounds what is read to find an image's size: headers with large colour profiles and
// camera data stay below it.
const headBytes = 1 << 20

// Dimensions returns width and height that the header of an image claims, 0 for what is no image or
// is put together unusually. No pixel is decoded.
func Dimensions(r io.ReaderAt, size int64) (width, height int) {
	config, _, err := image.DecodeConfig(io.NewSectionReader(r, 0, min(size, headBytes)))
	if err != nil {
		return 0, 0
	}
	return config.Width, config.Height
}
