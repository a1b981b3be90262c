// Package seeded runs a simulation with many seeds. A simulation draws all that it does and all faults from one source of random
// numbers, runs under the clock of a testing/synctest bubble, and checks what must always hold. The first seed that fails ends the
// test, which prints the command that repeats it.
//
// The environment sets what is run: MILLRACE_SEEDS is the number of seeds, by default few, and MILLRACE_SEED is one seed, which runs
// on one processor. The runtime picks among goroutines that are ready at the same instant; simulations draw their times from a fine
// scale, so that it seldom matters.
package seeded

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// few is the default number of seeds.
const few = 200

// Run runs a simulation for each seed, in a bubble of its own.
func Run(t *testing.T, simulate func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	Some(t, few, simulate)
}

// Some is Run with another default number of seeds, for simulations that take long.
func Some(t *testing.T, few uint64, simulate func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	first, count := uint64(1), number(t, "MILLRACE_SEEDS", few)
	if os.Getenv("MILLRACE_SEED") != "" {
		first, count = number(t, "MILLRACE_SEED", 0), 1
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	began := time.Now()
	for seed := first; seed < first+count && !t.Failed(); seed++ {
		one(t, seed, simulate)
	}
	t.Logf("%d seeds in %s", count, time.Since(began).Round(time.Millisecond))
}

// one runs one seed. It names the seed even if all goroutines of the bubble are blocked, which panics.
func one(t *testing.T, seed uint64, simulate func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	ended := false
	defer func() {
		if !ended || t.Failed() {
			fmt.Fprintf(os.Stderr, "seed %d failed; repeat it: MILLRACE_SEED=%d go test -run '^%s$' .\n", seed, seed, t.Name())
		}
	}()
	synctest.Test(t, func(t *testing.T) { simulate(t, rand.New(rand.NewPCG(seed, 0))) }) // need not be secret
	ended = true
}

func number(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		t.Fatalf("%s is not a number: %v", name, err)
	}
	return n
}

// Between returns a random time from least to most.
func Between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)+1))
}
