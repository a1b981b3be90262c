package media

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/millrace-dev/millrace/internal/fault"
)

// WriteTo implements io.WriterTo. It writes the rate and the numbers of channels and samples as 32-bit numbers, then the
// samples channel by channel as floats, all little endian.
func (s *Sound) WriteTo(w io.Writer) (int64, error) {
	b := bufio.NewWriterSize(w, 1<<16)
	head := binary.LittleEndian.AppendUint32(nil, uint32(s.rate))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(s.channels)))
	head = binary.LittleEndian.AppendUint32(head, uint32(s.Samples()))
	if _, err := b.Write(head); err != nil {
		return 0, fmt.Errorf("write a sound: %w", err)
	}
	var sample [4]byte
	for _, c := range s.channels {
		for _, v := range c {
			binary.LittleEndian.PutUint32(sample[:], math.Float32bits(v))
			if _, err := b.Write(sample[:]); err != nil {
				return 0, fmt.Errorf("write a sound: %w", err)
			}
		}
	}
	return int64(len(head)) + s.Bytes(), b.Flush()
}

// ReadSound reads a sound that WriteTo wrote, and no bytes after it. Memory is allocated only as bytes arrive.
func ReadSound(r io.Reader) (*Sound, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err // the caller adds the context
	}
	rate, channels, samples := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
	if rate < 1 || rate > MaxRate || channels < 1 || channels > MaxChannels {
		return nil, fault.New(fault.Invalid, fault.CodeValueDamaged, "a stored sound has an impossible format: %d channels at %d Hz", channels,
			rate)
	}
	all := make([][]float32, channels)
	for i := range all {
		c, err := readSamples(r, int(samples))
		if err != nil {
			return nil, err
		}
		all[i] = c
	}
	return NewSound(int(rate), all)
}

func readSamples(r io.Reader, n int) ([]float32, error) {
	var out []float32
	buf := make([]byte, 1<<14)
	for len(out) < n {
		part := buf[:min(len(buf), 4*(n-len(out)))]
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, err // the caller adds the context
		}
		for ; len(part) > 0; part = part[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(part)))
		}
	}
	return out, nil
}
