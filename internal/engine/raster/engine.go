package raster

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/millrace-dev/millrace/internal/fault"
)

// DefaultMaxPixels is the bound of a value if the caller sets none: 64 Mi pixels are 768 MiB of RGB floats.
const DefaultMaxPixels = 1 << 26

// grainSamples is the work that a goroutine claims at a time. It takes about 0.1 ms: long enough that claiming costs
// nothing, short enough that cancelling is prompt.
const grainSamples = 1 << 16

// Engine runs operations within the bounds of one call. The zero value works. Operations use up to GOMAXPROCS
// goroutines and never change their inputs. They return early with the context's error, fault.Invalid for impossible
// arguments, and fault.Exhausted if a result would exceed MaxPixels.
type Engine struct {
	MaxPixels int64                 // bound on frames × height × width of a result; 0 = DefaultMaxPixels
	Progress  func(done, total int) // rows finished, on the caller's goroutine; may be nil
}

// Fit checks the shape of a value: an empty one is fault.Invalid, one beyond the bound fault.Exhausted.
func (e Engine) Fit(frames, height, width int) error {
	if frames < 1 || height < 1 || width < 1 {
		return fault.New(fault.Invalid, fault.CodeEmptyImage, "an image of %d × %d × %d pixels is empty", frames, width, height)
	}
	limit := e.MaxPixels
	if limit <= 0 {
		limit = DefaultMaxPixels
	}
	hi, area := bits.Mul64(uint64(height), uint64(width))
	hi2, total := bits.Mul64(area, uint64(frames))
	if hi != 0 || hi2 != 0 || total > uint64(limit) {
		return fault.New(fault.Exhausted, fault.CodePixelLimit,
			"an image of %d × %d × %d pixels exceeds the limit of %d pixels", frames, width, height, limit)
	}
	return nil
}

// task counts the finished rows of an operation for its progress report.
type task struct {
	report func(done, total int)
	total  int
	done   atomic.Int64
}

// start begins an operation over total rows in all its passes.
func (e Engine) start(total int) *task {
	return &task{report: e.Progress, total: total}
}

// rows calls fn for ranges [lo, hi) that cover [0, n), several at a time. samples is the work of one row. It returns
// the context's error if the context ended first.
func (t *task) rows(ctx context.Context, n, samples int, fn func(lo, hi int)) error {
	return t.spans(ctx, n, max(1, grainSamples/max(1, samples)), fn)
}

// spans is rows with an explicit number of rows per call. A panic in fn is raised again on the caller's goroutine,
// which can recover it.
func (t *task) spans(ctx context.Context, n, grain int, fn func(lo, hi int)) error {
	var next atomic.Int64
	loop := func(caller bool) {
		for ctx.Err() == nil {
			lo := int(next.Add(int64(grain))) - grain
			if lo >= n {
				return
			}
			hi := min(lo+grain, n)
			fn(lo, hi)
			t.advance(hi-lo, caller)
		}
	}
	var wg sync.WaitGroup
	var failed panicBox
	for range min(runtime.GOMAXPROCS(0), (n+grain-1)/grain) - 1 {
		wg.Go(func() { defer failed.capture(); loop(false) })
	}
	func() { defer failed.capture(); loop(true) }()
	wg.Wait()
	failed.raise()
	return ctx.Err()
}

// advance counts finished rows. Only the caller's goroutine reports them.
func (t *task) advance(rows int, caller bool) {
	done := t.done.Add(int64(rows))
	if caller && t.report != nil {
		t.report(int(done), t.total)
	}
}

// panicBox passes the first panic of several goroutines to the goroutine that waits for them.
type panicBox struct {
	once  sync.Once
	value any
}

func (p *panicBox) capture() {
	if v := recover(); v != nil {
		p.once.Do(func() {
			stack := make([]byte, 8<<10)
			p.value = fmt.Sprintf("%v\n%s", v, stack[:runtime.Stack(stack, false)])
		})
	}
}

func (p *panicBox) raise() {
	if p.value != nil {
		panic(p.value)
	}
}
