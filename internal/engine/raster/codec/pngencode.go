package codec

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	// stripeBytes is the amount of filtered data that a goroutine compresses at a time, at most: large enough that flushes
	// between stripes hardly add to the size, small enough to share the work.
	stripeBytes = 1 << 18
	// smallBytes of filtered data are one stripe.
	smallBytes = 1 << 16
	// windowBytes is the window of deflate.
	windowBytes = 1 << 15
)

// Text is one tEXt chunk: a Latin-1 keyword of 1 to 79 characters and Latin-1 text
// without NUL. JSON must be escaped to ASCII first.
type Text struct{ Key, Value string }

// PNGOptions tune EncodePNG.
type PNGOptions struct {
	Level int    // deflate level 0 to 9; ComfyUI saves with 4 and previews with 1
	Text  []Text // written before the pixels
}

// EncodePNG writes one frame as an 8-bit PNG, grey, RGB or RGBA by its channels.
// Samples are clipped and truncated. Stripes are filtered and compressed in parallel.
func EncodePNG(ctx context.Context, w io.Writer, im *raster.Image, frame int, o PNGOptions) error {
	if err := writeHead(w, im, o.Text); err != nil {
		return err
	}
	if err := writePixels(ctx, w, im, frame, o.Level, chunkIDAT); err != nil {
		return err
	}
	return writeChunk(w, "IEND", nil)
}

// chunkIDAT writes compressed pixels as an IDAT chunk.
func chunkIDAT(w io.Writer, data []byte) error { return writeChunk(w, "IDAT", data) }

func writeHead(w io.Writer, im *raster.Image, text []Text) error {
	if _, err := io.WriteString(w, "\x89PNG\r\n\x1a\n"); err != nil {
		return fmt.Errorf("write png: %w", err)
	}
	var h [13]byte
	binary.BigEndian.PutUint32(h[0:], uint32(im.Width()))
	binary.BigEndian.PutUint32(h[4:], uint32(im.Height()))
	h[8], h[9] = 8, colorType(im.Channels())
	if err := writeChunk(w, "IHDR", h[:]); err != nil {
		return err
	}
	for _, t := range text {
		data, err := t.latin1()
		if err != nil {
			return err
		}
		if err := writeChunk(w, "tEXt", data); err != nil {
			return err
		}
	}
	return nil
}

func colorType(channels int) byte {
	switch channels {
	case 1:
		return colorGrey
	case 3:
		return colorRGB
	default:
		return colorRGBA
	}
}

func (t Text) latin1() ([]byte, error) {
	if len(t.Key) == 0 || len(t.Key) > 79 || strings.ContainsRune(t.Key+t.Value, 0) {
		return nil, fault.New(fault.Invalid, fault.CodePNGText, "the metadata key %q cannot be stored in a PNG", t.Key)
	}
	out := make([]byte, 0, len(t.Key)+1+len(t.Value))
	for _, r := range t.Key + "\x00" + t.Value {
		if r > 0xff {
			return nil, fault.New(fault.Invalid, fault.CodePNGText, "the metadata %q is not Latin-1", t.Key)
		}
		out = append(out, byte(r))
	}
	return out, nil
}

func writeChunk(w io.Writer, kind string, data []byte) error {
	var head [8]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(data)))
	copy(head[4:], kind)
	crc := crc32.Update(crc32.ChecksumIEEE(head[4:]), crc32.IEEETable, data)
	for _, part := range [][]byte{head[:], data, binary.BigEndian.AppendUint32(nil, crc)} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("write png chunk %s: %w", kind, err)
		}
	}
	return nil
}

// stripe is a run of rows, filtered and compressed independently of the others
// except that it may refer to the 32 KiB before it.
type stripe struct {
	data []byte
	sum  uint32 // adler32 of the filtered bytes
	size int    // filtered bytes
	err  error
}

// writePixels writes the zlib stream of one frame through emit, in order. The
// stripes in flight are bounded by twice the cores.
func writePixels(ctx context.Context, w io.Writer, im *raster.Image, frame, level int, emit func(io.Writer, []byte) error) error {
	if level < 0 || level > 9 {
		return fmt.Errorf("png level %d is not 0 to 9", level)
	}
	p := newPacker(im, frame, level)
	defer p.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sum, first := uint32(1), true
	for s := range p.stripes(ctx) {
		done := <-s
		if err := errors.Join(done.err, ctx.Err()); err != nil {
			return err
		}
		if first {
			done.data = append([]byte{0x78, zlibFlag(level)}, done.data...)
			first = false
		}
		sum = joinAdler(sum, done.sum, done.size)
		if err := emit(w, done.data); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return emit(w, binary.BigEndian.AppendUint32(nil, sum))
}

// zlibFlag is the second byte of the zlib header: it names the level and makes the
// header a multiple of 31.
func zlibFlag(level int) byte {
	switch {
	case level <= 1:
		return 0x01
	case level <= 5:
		return 0x5e
	case level == 6:
		return 0x9c
	default:
		return 0xda
	}
}

// packer cuts a frame into stripes.
type packer struct {
	im     *raster.Image
	frame  int
	level  int
	stride int // bytes of a row
	rows   int // rows of a stripe

	running sync.WaitGroup
}

func newPacker(im *raster.Image, frame, level int) *packer {
	stride := im.Width() * im.Channels()
	stripes, total := 1, im.Height()*(stride+1)
	if total > smallBytes {
		stripes = 2 * ((total + 2*stripeBytes - 1) / (2 * stripeBytes)) // as many for each of two cores
	}
	return &packer{im: im, frame: frame, level: level, stride: stride, rows: (im.Height() + stripes - 1) / stripes}
}

// stripes yields one pending stripe after the other; each delivers exactly one value.
func (p *packer) stripes(ctx context.Context) <-chan chan stripe {
	cores := runtime.GOMAXPROCS(0)
	order := make(chan chan stripe, cores)
	slots := make(chan struct{}, cores)
	p.running.Go(func() {
		defer close(order)
		for lo := 0; lo < p.im.Height() && ctx.Err() == nil; lo += p.rows {
			result := make(chan stripe, 1)
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			p.running.Go(func() {
				defer func() { <-slots }()
				result <- p.pack(lo, min(lo+p.rows, p.im.Height()))
			})
			select {
			case order <- result:
			case <-ctx.Done():
				return
			}
		}
	})
	return order
}

// pack filters and compresses rows [lo, hi).
func (p *packer) pack(lo, hi int) stripe {
	before := min(lo, (windowBytes+p.stride)/(p.stride+1))
	filtered := p.filter(lo-before, hi)
	cut := before * (p.stride + 1)
	dict, body := filtered[max(0, cut-windowBytes):cut], filtered[cut:]
	out := sink{buf: make([]byte, 0, len(body)/2+64)}
	zw, _ := compressors[p.level].Get().(*flate.Writer)
	if zw == nil {
		zw, _ = flate.NewWriter(nil, p.level) // the level is one of the ten
	}
	zw.ResetDict(&out, dict)
	defer func() {
		zw.ResetDict(nil, nil)
		compressors[p.level].Put(zw)
	}()
	_, err := zw.Write(body)
	if hi == p.im.Height() {
		err = errors.Join(err, zw.Close())
	} else {
		err = errors.Join(err, zw.Flush())
	}
	return stripe{out.buf, adler32.Checksum(body), len(body), err}
}

// compressors are idle compressors by their levels: one has tables of a megabyte.
var compressors [10]sync.Pool

type sink struct{ buf []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.buf = append(s.buf, p...)
	return len(p), nil
}

// filter returns rows [lo, hi), each preceded by the number of its filter.
func (p *packer) filter(lo, hi int) []byte {
	out := make([]byte, 0, (hi-lo)*(p.stride+1))
	f := newFilter(p.stride, p.im.Channels())
	prev, spare := make([]uint8, p.stride), make([]uint8, p.stride)
	if lo > 0 {
		prev = p.im.Row8(prev, p.frame, lo-1)
	}
	own := make([]uint8, p.stride)
	for y := lo; y < hi; y++ {
		row := p.im.Row8(own, p.frame, y)
		out = f.append(out, row, prev)
		prev = row
		own, spare = spare, own
	}
	return out
}

// joinAdler returns the adler32 of two byte runs from their sums; size is that of the second.
func joinAdler(a, b uint32, size int) uint32 {
	const base = 65521
	rem := uint32(size % base)
	a1, a2 := a&0xffff, a>>16
	b1, b2 := b&0xffff, b>>16
	s1 := (a1 + b1 + base - 1) % base
	s2 := (a2 + b2 + uint32(uint64(rem)*uint64(a1)%base) + base - rem) % base
	return s2<<16 | s1
}
