package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

const (
	longJobs     = 2
	longNodes    = 60
	betweenShort = 3 * time.Second // from the end of a short job to the next
)

// longGraph blurs a picture of 1536² repeatedly. The colour differs each time, so that the cache does not have the
// results.
func longGraph(color int) string {
	nodes := []string{fmt.Sprintf(`"0":{"class_type":"EmptyImage","inputs":{"width":1536,"height":1536,"batch_size":1,"color":%d}}`, color)}
	for i := 1; i < longNodes; i++ {
		nodes = append(nodes, fmt.Sprintf(`"%d":{"class_type":"ImageBlur","inputs":{"image":["%d",0],"blur_radius":20,"sigma":5.0}}`, i, i-1))
	}
	return "{" + strings.Join(nodes, ",") + fmt.Sprintf(`,"out":{"class_type":"PreviewImage","inputs":{"images":["%d",0]}}}`, longNodes-1)
}

// shortGraph has four nodes with about a tenth of a second of work.
func shortGraph(color int) string {
	return fmt.Sprintf(`{"0":{"class_type":"EmptyImage","inputs":{"width":1024,"height":1024,"batch_size":1,"color":%d}},
		"1":{"class_type":"ImageBlur","inputs":{"image":["0",0],"blur_radius":31,"sigma":9.0}},
		"2":{"class_type":"ImageScale","inputs":{"image":["1",0],"upscale_method":"bilinear","width":64,"height":64,"crop":"disabled"}},
		"3":{"class_type":"PreviewImage","inputs":{"images":["2",0]}}}`, color)
}

// turns measures a job of four short nodes alone and beside long jobs of another account that occupy every slot. It also measures the long
// jobs alone and beside a short job every few seconds.
func (b *bench) turns(ctx context.Context) error {
	long, short, err := b.pair(ctx, "turns", "pro", "standard")
	if err != nil {
		return err
	}
	color := 0
	next := func() int { color++; return color }
	brief := func() (float64, error) {
		took, err := short.finish(ctx, shortGraph(next()))
		return took.Seconds(), err
	}
	var alone, beside []float64
	for range 6 {
		took, err := brief()
		if err != nil {
			return err
		}
		alone = append(alone, took)
	}
	quiet, err := long.longRun(ctx, next, nil)
	if err != nil {
		return err
	}
	shared, err := long.longRun(ctx, next, func() error {
		took, err := brief()
		beside = append(beside, took)
		return err
	})
	if err != nil {
		return err
	}
	if len(beside) == 0 {
		return errors.New("the long jobs ended before a short one was submitted")
	}
	a, s := harness.Median(alone[1:]), harness.Median(beside) // Median sorts its argument
	fmt.Printf("turns:   a job of four short nodes takes %.0f ms alone, %.0f ms (largest %.0f, %d jobs) beside %d jobs of %d long nodes, "+
		"ratio %.1f\n",
		a*1000, s*1000, beside[len(beside)-1]*1000, len(beside), longJobs, longNodes, s/a)
	fmt.Printf("turns:   those take %.1f s, %.1f s beside the short ones, ratio %.2f\n", quiet.Seconds(), shared.Seconds(),
		shared.Seconds()/quiet.Seconds())
	return nil
}

// longRun runs the long jobs together and returns how long they took. It calls meanwhile every few seconds until they end.
func (t *tenant) longRun(ctx context.Context, color func() int, meanwhile func() error) (time.Duration, error) {
	began := time.Now()
	ids := make([]string, longJobs)
	for i := range ids {
		var err error
		if ids[i], err = t.submit(ctx, longGraph(color())); err != nil {
			return 0, err
		}
	}
	for next := time.Now().Add(betweenShort); ; {
		running := 0
		for _, id := range ids {
			status, err := t.status(ctx, id)
			switch {
			case err != nil:
				return 0, err
			case status == "failed" || status == "cancelled":
				return 0, fmt.Errorf("job %s is %s", id, status)
			case status != "completed":
				running++
			}
		}
		if running == 0 {
			return time.Since(began), nil
		}
		if meanwhile != nil && running == longJobs && time.Now().After(next) {
			if err := meanwhile(); err != nil {
				return 0, err
			}
			next = time.Now().Add(betweenShort)
		}
		if err := pause.For(ctx, 50*time.Millisecond); err != nil {
			return 0, err
		}
	}
}
