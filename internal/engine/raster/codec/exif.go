package codec

import (
	"bytes"
	"encoding/binary"
)

// tagOrientation is the EXIF tag of a picture's orientation.
const tagOrientation = 0x0112

// exifOrientation finds the orientation in an EXIF block: a TIFF header and its first directory, optionally preceded by
// "Exif\0\0". It returns 0 if there is none or the block is malformed.
func exifOrientation(b []byte) int {
	b = bytes.TrimPrefix(b, []byte("Exif\x00\x00"))
	order, first, ok := tiffHeader(b)
	if !ok || int64(first)+2 > int64(len(b)) {
		return 0
	}
	dir := b[first:]
	count := int(order.Uint16(dir))
	for i := range count {
		at := 2 + 12*i
		if at+12 > len(dir) {
			return 0
		}
		entry := dir[at : at+12]
		const typeShort = 3
		if order.Uint16(entry) == tagOrientation && order.Uint16(entry[2:]) == typeShort {
			return upright(int(order.Uint16(entry[8:])))
		}
	}
	return 0
}

func upright(v int) int {
	if v < 1 || v > 8 {
		return 0
	}
	return v
}

// tiffHeader reads the byte order and the offset of the first directory.
func tiffHeader(b []byte) (order binary.ByteOrder, first uint32, ok bool) {
	if len(b) < 8 {
		return nil, 0, false
	}
	switch string(b[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return nil, 0, false
	}
	return order, order.Uint32(b[4:]), true
}

// jpegOrientation finds the orientation in the APP1 segment of a JPEG.
func jpegOrientation(data []byte) int {
	for b := data[2:]; len(b) >= 4 && b[0] == 0xff; {
		marker, size := b[1], int(binary.BigEndian.Uint16(b[2:]))
		const app1, startOfScan, fill = 0xe1, 0xda, 0xff
		if marker == fill {
			b = b[1:]
			continue
		}
		if marker == startOfScan || size < 2 || size+2 > len(b) {
			return 0
		}
		if marker == app1 && bytes.HasPrefix(b[4:2+size], []byte("Exif\x00\x00")) {
			return exifOrientation(b[4 : 2+size])
		}
		b = b[2+size:]
	}
	return 0
}
