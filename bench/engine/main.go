// Command engine measures the image engine against Pillow and NumPy on the pipeline
// load PNG → Lanczos ×0.75 → blur r=10 → invert → save PNG level 4. Both sides run
// the same bytes in a process of their own per repetition, one right after the other,
// and report the time inside the process and its peak memory. Then the same runs as jobs of a service.
//
//	go run ./bench/engine -sizes 1024,4096 -pairs 5
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
)

func main() {
	sizes := flag.String("sizes", "1024,4096", "picture sides to measure")
	pairs := flag.Int("pairs", 5, "repetitions of each side")
	python := flag.String("python", "/usr/bin/python3", "interpreter with NumPy and Pillow")
	script := flag.String("script", "bench/engine/pillow.py", "the other side")
	once := flag.String("once", "", "run our side once: INPUT,OUTPUT")
	flag.Parse()
	run := func() error {
		if *once != "" {
			return ours(*once)
		}
		pictures, err := compare(*sizes, *pairs, *python, *script)
		if err != nil {
			return err
		}
		return asJobs(context.Background(), pictures, *pairs)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench/engine:", err)
		os.Exit(1)
	}
}

// sample is one process's report about one run.
type sample struct {
	Millis map[string]float64 `json:"ms"` // by step, and "total"
	PeakMB float64            `json:"peak_mb"`
}

// ours runs the pipeline once, after a warm-up on a tiny picture, and prints a sample.
func ours(paths string) error {
	in, out, ok := strings.Cut(paths, ",")
	if !ok {
		return errors.New("-once wants INPUT,OUTPUT")
	}
	var tiny bytes.Buffer
	if err := paint(&tiny, 64); err != nil {
		return err
	}
	if _, err := pipeline(bytes.NewReader(tiny.Bytes()), io.Discard); err != nil {
		return err
	}
	src, err := os.Open(in)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(out)
	if err != nil {
		return err
	}
	millis, err := pipeline(src, dst)
	if err := errors.Join(err, dst.Close()); err != nil {
		return err
	}
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(sample{millis, float64(use.Maxrss) / 1024})
}

func pipeline(r io.Reader, w io.Writer) (map[string]float64, error) {
	ctx, e := context.Background(), raster.Engine{}
	millis, start := map[string]float64{}, time.Now()
	last := start
	lap := func(step string) {
		now := time.Now()
		millis[step], last = now.Sub(last).Seconds()*1000, now
		millis["total"] = now.Sub(start).Seconds() * 1000
	}
	pic, err := codec.Decode(ctx, e, r)
	if err != nil {
		return nil, err
	}
	im := pic.Image
	lap("load")
	if im, err = e.Resize(ctx, im, im.Width()*3/4, im.Height()*3/4, raster.Lanczos); err != nil {
		return nil, err
	}
	lap("lanczos")
	if im, err = e.Blur(ctx, im, 10, 1); err != nil {
		return nil, err
	}
	lap("blur")
	if im, err = e.Invert(ctx, im); err != nil {
		return nil, err
	}
	lap("invert")
	err = codec.EncodePNG(ctx, w, im, 0, codec.PNGOptions{Level: 4})
	lap("save")
	return millis, err
}

// paint writes a photo-like picture with gradients, edges and noise.
func paint(w io.Writer, side int) error {
	rng := rand.New(rand.NewPCG(7, uint64(side)))
	pix := make([]uint8, 0, side*side*3)
	for y := range side {
		for x := range side {
			u, v := float64(x)/float64(side), float64(y)/float64(side)
			for c := range 3 {
				s := 120 + 70*math.Sin(9*u+float64(c))*math.Cos(7*v) + 25*math.Sin(40*u*v+float64(2*c))
				if (x/97+y/61)%7 == c {
					s += 35
				}
				pix = append(pix, uint8(max(0, min(255, s+rng.NormFloat64()*1.6))))
			}
		}
	}
	im, err := raster.NewImage8(1, side, side, 3, pix)
	if err != nil {
		return err
	}
	return codec.EncodePNG(context.Background(), w, im, 0, codec.PNGOptions{Level: 6})
}

func compare(sizes string, pairs int, python, script string) ([]picture, error) {
	dir, err := os.MkdirTemp("", "millrace-bench-engine")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var pictures []picture
	fmt.Printf("%s, %d CPUs, %d interleaved pairs, ms min/median\n", runtime.Version(), runtime.NumCPU(), pairs)
	for text := range strings.SplitSeq(sizes, ",") {
		side, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		in := filepath.Join(dir, text+".png")
		var buf bytes.Buffer
		if err := paint(&buf, side); err != nil {
			return nil, err
		}
		if err := os.WriteFile(in, buf.Bytes(), 0o600); err != nil {
			return nil, err
		}
		var a, b []sample
		for range pairs {
			s, err := child(self, "-once", in+","+filepath.Join(dir, "ours.png"))
			if err != nil {
				return nil, err
			}
			o, err := child(python, script, in, filepath.Join(dir, "other.png"))
			if err != nil {
				return nil, err
			}
			a, b = append(a, s), append(b, o)
		}
		report(side, buf.Len(), a, b)
		pictures = append(pictures, picture{side: side, png: buf.Bytes(), other: spread(b, "total")[0]})
	}
	return pictures, nil
}

func child(name string, args ...string) (s sample, err error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return s, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return s, json.Unmarshal(out, &s)
}

func report(side, size int, ours, other []sample) {
	fmt.Printf("\n%d × %d, input %.2f MB\n%-8s %17s %17s %12s\n", side, side, float64(size)/1e6, "step", "engine", "pillow+numpy",
		"ratio (min)")
	for _, step := range []string{"load", "lanczos", "blur", "invert", "save", "total"} {
		a, b := spread(ours, step), spread(other, step)
		fmt.Printf("%-8s %8.1f %8.1f %8.1f %8.1f %8.2fx\n", step, a[0], a[1], b[0], b[1], b[0]/a[0])
	}
	peak := func(s []sample) float64 {
		return slices.MaxFunc(s, func(a, b sample) int { return int(a.PeakMB - b.PeakMB) }).PeakMB
	}
	fmt.Printf("peak MB  %17.0f %17.0f\n", peak(ours), peak(other))
}

// spread returns the minimum and the median of a step.
func spread(all []sample, step string) [2]float64 {
	var v []float64
	for _, s := range all {
		v = append(v, s.Millis[step])
	}
	slices.Sort(v)
	return [2]float64{v[0], v[len(v)/2]}
}
