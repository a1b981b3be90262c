// Package rastertest reads the golden files that the engine's tests compare with.
package rastertest

import (
	"encoding/binary"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Array is a NumPy array of uint8 or float32; the other slice is nil.
type Array struct {
	Shape  []int
	Bytes  []uint8
	Floats []float32
}

var (
	descr = regexp.MustCompile(`'descr': '([^']+)'`)
	shape = regexp.MustCompile(`'shape': \(([^)]*)\)`)
)

// Load reads an .npy file of version 1.
func Load(t testing.TB, path string) Array {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "\x93NUMPY\x01", string(data[:7]), path)
	n := 10 + int(binary.LittleEndian.Uint16(data[8:]))
	head, body := string(data[10:n]), data[n:]
	require.Contains(t, head, "'fortran_order': False")
	var a Array
	for part := range strings.SplitSeq(shape.FindStringSubmatch(head)[1], ",") {
		if part = strings.TrimSpace(part); part != "" {
			v, err := strconv.Atoi(part)
			require.NoError(t, err)
			a.Shape = append(a.Shape, v)
		}
	}
	switch kind := descr.FindStringSubmatch(head)[1]; kind {
	case "|u1":
		a.Bytes = body
	case "<f4":
		a.Floats = make([]float32, len(body)/4)
		for i := range a.Floats {
			a.Floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
		}
	default:
		t.Fatalf("%s has element type %s", path, kind)
	}
	return a
}
