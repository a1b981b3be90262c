package sim

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"image"
	"image/color"
	"image/png"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

const pictureSide = 64 // pixels: enough to see a colour

// picture is a PNG whose colours come from a seed.
func picture(seed string) []byte {
	raw, err := hex.DecodeString(seed)
	if err != nil || len(raw) < 3 {
		raw = []byte{90, 120, 200}
	}
	img := image.NewRGBA(image.Rect(0, 0, pictureSide, pictureSide))
	for y := range pictureSide {
		for x := range pictureSide {
			shade := uint8(x + y)
			img.SetRGBA(x, y, color.RGBA{raw[0] ^ shade, raw[1], raw[2] ^ uint8(y), 255})
		}
	}
	var out bytes.Buffer
	if png.Encode(&out, img) != nil { // a buffer takes everything
		return nil
	}
	return out.Bytes()
}

// film is the head of an MP4 file and some bytes from a seed: a video by its type, not to watch.
func film(seed string) []byte {
	head := []byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom")
	body := append([]byte("\x00\x00\x10\x08mdat"), bytes.Repeat([]byte(seed[:min(len(seed), 8)]), 512)...)
	return append(head, body...)
}

const sampleRate = 16000 // Hz, mono, 16 bit

// tone is a WAV file of about size bytes (at least half a second) with a tone from a seed.
func tone(seed string, size int) []byte {
	samples := max(sampleRate/2, (size-44)/2)
	out := make([]byte, 0, 44+2*samples)
	out = append(out, "RIFF"...)
	out = binary.LittleEndian.AppendUint32(out, uint32(36+2*samples))
	out = append(out, "WAVEfmt "...)
	for _, v := range []uint32{16, 1 | 1<<16, sampleRate, 2 * sampleRate, 2 | 16<<16} {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	out = append(out, "data"...)
	out = binary.LittleEndian.AppendUint32(out, uint32(2*samples))
	pitch := 220 + float64(len(seed)*int(seed[0]))/10
	for i := range samples {
		level := 8000 * math.Sin(2*math.Pi*pitch*float64(i)/sampleRate)
		out = binary.LittleEndian.AppendUint16(out, uint16(int16(level)))
	}
	return out
}

// file returns the file of a kind that is made from a seed, and its media type; nil = there is no such kind.
func file(seed, ext string) (media string, content []byte) {
	switch ext {
	case "png":
		return "image/png", picture(seed)
	case "mp4":
		return "video/mp4", film(seed)
	case "bin":
		return "application/octet-stream", []byte("draft cache " + seed)
	case "wav":
		return "audio/wav", tone(seed, 0)
	case "svg":
		return "image/svg+xml", []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><title>` + seed + `</title></svg>`)
	case "glb":
		return "model/gltf-binary", append([]byte("glTF\x02\x00\x00\x00"), seed...)
	}
	return "", nil
}

// serveFile serves a result's asset, "<seed>.png".
func serveFile(w http.ResponseWriter, r *http.Request) {
	seed, ext, _ := strings.Cut(r.PathValue("name"), ".")
	media, body := file(seed, ext)
	if seed == "" || body == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", media)
	w.Write(body)
}

// file returns the address of an asset of a generation.
func (e *exchange) file(seed, ext string) string { return e.base() + "/files/" + seed + "." + ext }

func inline(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

func loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func untilReady(ctx context.Context, t ticket) bool {
	return pause.For(ctx, time.Until(time.UnixMilli(t.Ready))) == nil
}
