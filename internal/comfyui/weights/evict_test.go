package weights_test

import (
	"bytes"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// The disk of a server that fetches weights itself is a cache: what was brought and used longest ago makes space, and nothing else does.
func TestNodePackMakesSpaceForAWeight(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sim.Options{"the server checks the hash of blobs": {}, "it checks SHA-256 alone": {NoBLAKE3: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, o, nil)
			for name, size := range map[string]int{"a": 250, "b": 250, "c": 250, "d": 400, "e": 100, "f": 950, "own": 200} {
				r.add(name+".safetensors", size*kib)
			}
			r.run("worker")
			r.found("own.safetensors")
			for _, name := range []string{"a", "b", "c"} {
				r.brought(name + ".safetensors")
			}
			require.Empty(t, r.removed)

			r.use("a.safetensors") // although it was used longest ago
			r.brought("d.safetensors")
			require.Equal(t, "a.safetensors|d.safetensors|own.safetensors", r.listed())
			require.Equal(t, []string{"checkpoints/b.safetensors", "checkpoints/c.safetensors"}, r.removed, "no more than it takes, in order")
			r.brought("e.safetensors")
			require.Len(t, r.removed, 2, "there is space")

			r.use()
			r.need("f.safetensors")
			require.Contains(t, r.fails("f.safetensors"), "too little space for 972800 bytes")
			require.Equal(t, "a.safetensors|d.safetensors|e.safetensors|own.safetensors", r.listed(), "nothing is removed for what cannot fit")
			require.NoError(t, os.Remove(r.file("own.safetensors")))
			r.await("f.safetensors")
			require.Equal(t, "f.safetensors", r.listed())
		})
	}
}

// A file that another one has replaced is not Millrace's any more.
func TestReplacedWeightStays(t *testing.T) {
	t.Parallel()
	r := newRig(t, sim.Options{}, nil)
	for name, size := range map[string]int{"a": 300, "b": 300, "c": 600} {
		r.add(name+".safetensors", size*kib)
	}
	r.run("worker")
	r.brought("a.safetensors")
	r.brought("b.safetensors")
	others := bytes.Repeat([]byte("x"), 300*kib)
	require.NoError(t, os.WriteFile(r.file("a.safetensors"), others, 0o600))
	r.brought("c.safetensors")
	require.Equal(t, []string{"checkpoints/b.safetensors"}, r.removed)
	kept, err := os.ReadFile(r.file("a.safetensors"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(others, kept))
}

// The weights of one segment do not replace each other.
func TestWeightOfTheSameSegmentStays(t *testing.T) {
	t.Parallel()
	r := newRig(t, sim.Options{}, nil)
	for name, size := range map[string]int{"base": 500, "old": 300, "refiner": 500, "huge": 800} {
		r.add(name+".safetensors", size*kib)
	}
	r.run("worker")
	r.brought("base.safetensors")
	r.brought("old.safetensors")
	r.brought("base.safetensors", "refiner.safetensors")
	require.Equal(t, "base.safetensors|refiner.safetensors", r.listed())
	r.need("base.safetensors", "huge.safetensors")
	require.Contains(t, r.fails("huge.safetensors"), "too little space")
	require.Contains(t, r.listed(), "base.safetensors")
}

// Without the route of the node pack, or if it fails, the problem is the disk.
func TestServerThatRemovesNothingNamesItsDisk(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"an older node pack": http.StatusNotFound, "a route that fails": http.StatusInternalServerError} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, sim.Options{}, func(w http.ResponseWriter, req *http.Request) bool {
				if req.URL.Path != "/lossless/evict" {
					return false
				}
				w.WriteHeader(status)
				return true
			})
			r.add("a.safetensors", 600*kib)
			r.add("b.safetensors", 600*kib)
			r.run("worker")
			r.brought("a.safetensors")
			r.need("b.safetensors")
			require.Equal(t, "the disk of the server has too little space for 614400 bytes", r.fails("b.safetensors"))
			require.Equal(t, "a.safetensors", r.listed())
		})
	}
}

// A segment that is placed while the server reads a file keeps it.
func TestPlacedSegmentKeepsAWeightThatIsBeingRemoved(t *testing.T) {
	t.Parallel()
	var r *rig
	left := make(chan struct{})
	r = newRig(t, sim.Options{}, func(w http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path != "/lossless/evict" {
			return false
		}
		r.use("a.safetensors")
		for req.Context().Err() == nil { // as long as Millrace waits
			w.Write([]byte("{\"done\": 1}\n"))
			http.NewResponseController(w).Flush()
			select {
			case <-req.Context().Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
		left <- struct{}{}
		return true
	})
	r.add("a.safetensors", 600*kib)
	r.add("b.safetensors", 600*kib)
	r.run("worker")
	r.brought("a.safetensors")
	r.need("b.safetensors")
	<-left
	require.Contains(t, r.fails("b.safetensors"), "too little space")
	require.Equal(t, "a.safetensors", r.listed())
}

// Two workers that make space on one disk remove what both need to, each file once.
func TestTwoWorkersMakeSpaceAtOnce(t *testing.T) {
	t.Parallel()
	var r *rig
	both := make(chan struct{}, 2)
	r = newRig(t, sim.Options{}, func(_ http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/lossless/evict" {
			select { // the first two requests come together
			case both <- struct{}{}:
				require.Eventually(t, func() bool { return len(both) == 2 }, time.Minute, time.Millisecond)
			default:
			}
		}
		return false
	})
	for name, size := range map[string]int{"a": 200, "b": 200, "c": 200, "d": 200, "x": 400, "y": 400} {
		r.add(name+".safetensors", size*kib)
	}
	for _, holder := range []string{"first", "second"} {
		r.run(holder)
	}
	for _, name := range strings.Split("abcd", "") {
		r.brought(name + ".safetensors")
	}
	r.need("x.safetensors")
	r.need("y.safetensors")
	r.await("x.safetensors", "y.safetensors")
	require.Equal(t, "d.safetensors|x.safetensors|y.safetensors", r.listed())
	require.Len(t, r.copies, 3)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(r.removed))), len(r.removed), "each is removed once: %v", r.removed)
}
