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

// headBytes bounds the bytes that are read to find an image's size. Headers with large colour profiles and camera
// data are smaller.
const headBytes = 1 << 20

// Dimensions returns the width and height in the header of an image, or 0 for other files and images of unusual
// structure. It decodes no pixels.
func Dimensions(r io.ReaderAt, size int64) (width, height int) {
	config, _, err := image.DecodeConfig(io.NewSectionReader(r, 0, min(size, headBytes)))
	if err != nil {
		return 0, 0
	}
	return config.Width, config.Height
}
