package activities_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities/golden"
	"github.com/millrace-dev/millrace/internal/domain/job"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// without has a server refuse graphs with a class, which it had when they were planned.
func without(server int, class string) func(*testing.T, *farm) {
	return func(t *testing.T, f *farm) {
		t.Helper()
		require.NoError(t, f.machines[server].Change(func(o *sim.Options) { o.Without = []string{class} }))
	}
}

// Whatever happens to a segment on its servers: the log says where each attempt ran, how it ended and why, the store knows what was
// learned about the servers, and clients read the failure of the node. testdata/segments has all of it, by case.
func TestASegmentComesToItsEndOnServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		servers int               // default 1
		inject  map[sim.Fault]int // into every server
		first   map[sim.Fault]int // into the first server
		change  func(*testing.T, *farm)
		within  time.Duration // time of a node without a sign of progress
	}{
		"succeeds":                           {},
		"two servers":                        {servers: 2},
		"little memory once":                 {inject: map[sim.Fault]int{sim.OutOfMemory: 1}},
		"little memory twice":                {inject: map[sim.Fault]int{sim.OutOfMemory: 2}},
		"little memory twice of two":         {servers: 2, inject: map[sim.Fault]int{sim.OutOfMemory: 2}},
		"a node fails":                       {inject: map[sim.Fault]int{sim.Raise: 1}},
		"a value is bad":                     {inject: map[sim.Fault]int{sim.BadValue: 1}},
		"a model is missing":                 {inject: map[sim.Fault]int{sim.MissingModel: 1}},
		"the disk is full":                   {inject: map[sim.Fault]int{sim.DiskFull: 1}},
		"the disk of one is full":            {servers: 2, first: map[sim.Fault]int{sim.DiskFull: 1}},
		"the disk of both is full":           {servers: 2, inject: map[sim.Fault]int{sim.DiskFull: 1}},
		"an unsafe name":                     {inject: map[sim.Fault]int{sim.UnsafeName: 1}},
		"an unsafe name of one":              {servers: 2, first: map[sim.Fault]int{sim.UnsafeName: 1}},
		"an unsafe name of both":             {servers: 2, inject: map[sim.Fault]int{sim.UnsafeName: 1}},
		"a file is missing once":             {inject: map[sim.Fault]int{sim.LostFile: 1}},
		"a file is always missing":           {inject: map[sim.Fault]int{sim.LostFile: sim.Always}},
		"the prompt is refused":              {change: without(0, "KSampler")},
		"the prompt is refused by one":       {servers: 2, change: without(0, "KSampler")},
		"a node hangs":                       {within: 2 * time.Second, inject: map[sim.Fault]int{sim.Hang: 1}},
		"a node hangs on one":                {servers: 2, within: 2 * time.Second, first: map[sim.Fault]int{sim.Hang: 1}},
		"no messages":                        {inject: map[sim.Fault]int{sim.Mute: 1}},
		"the prompt is lost":                 {inject: map[sim.Fault]int{sim.Forget: 1, sim.Mute: 1}},
		"the answer to the prompt is lost":   {inject: map[sim.Fault]int{sim.AcceptAndDrop: 1}},
		"the answer to the prompt is broken": {inject: map[sim.Fault]int{sim.AcceptAndFail: 1}},
		"half of a file":                     {inject: map[sim.Fault]int{sim.HalfFile: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFarm(t, text2img(2), []string{"7"}, nil, make([]sim.Options, max(c.servers, 1))...)
			f.driver.NodeTimeout = c.within
			for n, m := range f.machines {
				for fault, times := range c.inject {
					m.Inject(fault, times)
				}
				for fault, times := range c.first {
					m.Inject(fault, times*(1-n))
				}
			}
			if c.change != nil {
				c.change(t, f)
			}
			f.worker(f.rows)
			f.whole()
			golden.Compare(t, filepath.Join("testdata", "segments", strings.ReplaceAll(name, " ", "_")+".txt"), f.account())
		})
	}
}

// account tells what happened to the segments of the job, in lines.
func (f *farm) account() string {
	f.t.Helper()
	out := f.about("segment_placed", "segment_ended", "failed", "succeeded", "node.failed")
	recorded, err := f.log.ReadStream(f.t.Context(), f.ref.Job.Stream(), 0, 1000)
	require.NoError(f.t, err)
	var nodes []string
	succeeded := recorded[len(recorded)-1].Type == job.TypeSucceeded // otherwise a server may have failed before it reported some nodes
	for _, rec := range recorded {
		data, err := f.log.Decode(rec)
		require.NoError(f.t, err)
		if e, ok := data.(job.NodeExecutedV1); ok && succeeded {
			nodes = append(nodes, fmt.Sprint("node ", e.Node, " ", e.Class, " ", string(e.UI), " ", e.Files))
		}
	}
	slices.Sort(nodes)
	noted, waiting, running, _ := f.rows.state()
	out = append(append(out, nodes...), noted...)
	for n, m := range f.machines {
		out = append(out, fmt.Sprint("server-", n+1, " began ", len(m.Runs()), " prompts and freed its memory ", m.Frees(), " times"))
	}
	return strings.Join(append(out, fmt.Sprint(waiting, " segments wait, ", running, " run\n")), "\n")
}
