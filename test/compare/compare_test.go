// Package compare_test runs random graphs on Millrace and on a real ComfyUI server and compares the results for a
// client: the answer to the submission, the outcome, the outputs and every value of every picture. It needs a server
// of the reference version at the address in MILLRACE_TEST_COMFYUI; without one, it is skipped. GRAPHS and SEED
// select the number of graphs and the seed; with WRONG=1, each graph has a value of a random type.
package compare_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/test/served"
)

// patience bounds the time for one graph, and for the start of Millrace.
const patience = 5 * time.Minute

// leastEqual is the share of graphs, in percent, that must be equal in every key and every value.
const leastEqual = 98

// tally counts pairs of texts.
type tally struct {
	mu    sync.Mutex
	count map[string]int
}

func (t *tally) note(want, got string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count[fmt.Sprintf("%.150q there, %.150q here", want, got)]++
}

func (t *tally) total() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := 0
	for _, n := range t.count {
		total += n
	}
	return total
}

// exceptions are the errors of nodes whose texts differ; such differences are reported and do not count.
var exceptions = &tally{count: map[string]int{}}

// rounding counts the pictures that differ by 1 of 255, by the classes that made them. Such differences come from
// rounding in a library and do not count.
var rounding = &tally{count: map[string]int{}}

// noteRounding names the classes whose pictures, shown by a node, differ by 1 of 255.
func noteRounding(g graph, shown []string) {
	for _, id := range shown {
		source := upstream(g, id)
		if n := g[source]; n.Class == "MaskToImage" {
			source = upstream(g, source)
		}
		rounding.note(g[source].Class, "")
	}
}

// upstream returns the node whose picture or mask a node shows, or the node itself if it shows its own.
func upstream(g graph, id string) string {
	for _, name := range []string{"images", "mask"} {
		if link, ok := g[id].Inputs[name].([]any); ok && len(link) == 2 {
			if from, ok := link[0].(string); ok && g[from].Class != "" {
				return from
			}
		}
	}
	return id
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func TestGraphsEndAsOnComfyUI(t *testing.T) {
	reference := &runtime{base: strings.TrimRight(os.Getenv("MILLRACE_TEST_COMFYUI"), "/")}
	if reference.base == "" {
		t.Skip("MILLRACE_TEST_COMFYUI names no ComfyUI server to compare with")
	}
	ours := &runtime{base: start(t)}
	classes, files := prepare(t, reference, ours)
	t.Logf("%d classes are compared", len(classes))

	count, seed := number("GRAPHS", 300), number("SEED", 1)
	equal, byClass := 0, map[string][2]int{}
	for i := range count {
		gen := &generator{r: rand.New(rand.NewPCG(uint64(seed), uint64(i))), classes: classes, files: files, wrong: number("WRONG", 0) != 0}
		g := gen.make()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		want, err := reference.run(ctx, g)
		require.NoError(t, err, "graph %d on the reference: %s", i, text(g))
		got, err := ours.run(ctx, g)
		require.NoError(t, err, "graph %d: %s", i, text(g))
		cancel()
		diffs, rounded := differences(want, got)
		noteRounding(g, rounded)
		if len(diffs) == 0 {
			equal++
		} else {
			raw, err := json.Marshal(g)
			require.NoError(t, err)
			t.Logf("graph %d of seed %d differs:\n  %s\n  %s", i, seed, strings.Join(diffs, "\n  "), raw)
		}
		for name := range classesOf(g) {
			c := byClass[name]
			c[0]++
			if len(diffs) > 0 {
				c[1]++
			}
			byClass[name] = c
		}
	}
	report(t, byClass)
	share := 100 * float64(equal) / float64(count)
	t.Logf("%d of %d graphs (%.1f %%) are equal in answer, end, outputs and every value; the texts of %d errors differ", equal, count, share,
		exceptions.total())
	require.GreaterOrEqual(t, share, float64(leastEqual))
}

func classesOf(g graph) map[string]bool {
	names := map[string]bool{}
	for _, n := range g {
		names[n.Class] = true
	}
	return names
}

func report(t *testing.T, byClass map[string][2]int) {
	t.Helper()
	names := sortedKeys(byClass)
	sort.SliceStable(names, func(i, j int) bool { return byClass[names[i]][1] > byClass[names[j]][1] })
	var b strings.Builder
	for _, name := range names {
		if c := byClass[name]; c[1] > 0 {
			fmt.Fprintf(&b, "\n  %-28s in %d of %d graphs that have it", name, c[1], c[0])
		}
	}
	t.Logf("classes in graphs that differ:%s", b.String())
	for _, pair := range sortedKeys(rounding.count) {
		class, _, _ := strings.Cut(strings.TrimPrefix(pair, `"`), `"`)
		t.Logf("pictures that differ by 1 of 255: %d of %s", rounding.count[pair], class)
	}
	exceptions.mu.Lock()
	defer exceptions.mu.Unlock()
	for _, pair := range sortedKeys(exceptions.count) {
		t.Logf("%d errors of nodes: %s", exceptions.count[pair], pair)
	}
}

// prepare returns the classes that both systems have, after uploading the same files to both.
func prepare(t *testing.T, both ...*runtime) ([]class, []string) {
	t.Helper()
	var infos []map[string]json.RawMessage
	files, err := pictures()
	require.NoError(t, err)
	for _, r := range both {
		var info map[string]json.RawMessage
		_, err := r.json(t.Context(), http.MethodGet, "/object_info", nil, &info)
		require.NoError(t, err)
		infos = append(infos, info)
		for name, data := range files {
			require.NoError(t, r.upload(t.Context(), name, data))
		}
	}
	classes, err := readClasses(infos[0], func(name string) bool { return infos[1][name] != nil })
	require.NoError(t, err)
	return classes, sortedKeys(files)
}

// start runs Millrace and returns its address.
func start(t *testing.T) string {
	t.Helper()
	return served.Start(t, served.Options{
		Name: "mr-compare", Args: []string{"--log", "error", "--slots", "32"}, Patience: patience,
		Lookup: func(name string) (string, bool) {
			if name == "MILLRACE_RUNTIME_EXCEPTIONS" { // clients of ComfyUI read its names of exceptions
				return "true", true
			}
			return os.LookupEnv(name)
		},
	}).Base
}
