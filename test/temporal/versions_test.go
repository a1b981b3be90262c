//go:build unix

package temporal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// build returns the version of the workers that ran a job.
func (d *deployment) build(id string) string {
	d.t.Helper()
	found, err := d.client.DescribeWorkflowExecution(d.t.Context(), job.ID(id).WorkflowID(1), "")
	require.NoError(d.t, err)
	return found.GetWorkflowExecutionInfo().GetVersioningInfo().GetDeploymentVersion().GetBuildId()
}

// changed makes a version current as soon as Temporal has its workers.
func (d *deployment) changed(args ...string) {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		out, err := d.try(append([]string{"workers"}, args...)...)
		if err != nil {
			d.t.Log(out, err)
		}
		return err == nil
	}, patience, tick)
}

// waiting is a graph whose first node waits for a model.
func waiting(seconds int) string {
	return fmt.Sprintf(`{"1":{"class_type":"Partner_sim_image","inputs":{"prompt":"slowly [sim:delay=%ds]"}},
	"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"t"}}}`, seconds)
}

func TestJobsStayWithTheVersionThatBeganThem(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, map[string]string{"MILLRACE_SIMULATOR": simulator(t)})
	require.Contains(t, d.run("workers", "list"), "no worker has a version")
	_, err := d.try("workers", "promote", "none")
	require.ErrorContains(t, err, "MILLRACE_BUILD_ID")

	p := d.serve(map[string]string{"MILLRACE_BUILD_ID": "one"})
	painted := 0
	newJobsRunOn := func(version string) { // Temporal's task queues hear of a change a moment later
		require.Eventually(t, func() bool {
			painted++
			return d.build(p.paint(painted)) == version
		}, patience, tick, version)
	}
	d.changed("promote", "one")
	newJobsRunOn("one")
	old := p.submit(waiting(20))
	require.Eventually(t, func() bool { return d.count(`WorkflowType = 'RunModel'`) == 1 }, patience, tick)

	d.start(map[string]string{"MILLRACE_BUILD_ID": "two"}, "--roles", "worker")
	d.changed("ramp", "two", "--percent", "100")
	require.Eventually(t, func() bool { // Temporal lists a change a moment later
		return strings.Contains(d.run("workers", "list"), "two, 100 %")
	}, patience, tick)
	newJobsRunOn("two")
	d.changed("ramp", "two", "--percent", "0")
	newJobsRunOn("one")
	d.changed("promote", "two")
	require.Contains(t, d.run("workers", "show"), "current")
	newJobsRunOn("two")

	require.Equal(t, "completed", p.end(old))
	require.Equal(t, "one", d.build(old), "a job in the middle stays with its version")
	_, err = d.try("workers", "ramp", "two")
	require.ErrorContains(t, err, "--percent")
}

// A job that was accepted a moment ago has no history yet, which does not mean that Temporal lost it.
func TestAJobThatHasNotBegunIsNotForgotten(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, nil)
	p := d.start(nil, "--roles", "api,projector")
	require.Eventually(t, func() bool { return p.get("/readyz") != nil }, patience, tick)
	id := p.submit(graphOf(1))
	out, err := d.try("jobs", "replay", id)
	require.ErrorContains(t, err, "have not begun")
	require.NotContains(t, out, "forgotten")
	d.start(nil, "--roles", "worker")
	require.Equal(t, "completed", p.end(id))
	require.Contains(t, d.run("jobs", "replay", id), "replays")

	require.NoError(t, p.stop())
	d.env["TEMPORAL_ADDRESS"] = "127.0.0.1:1"
	accepts := d.start(nil, "--roles", "api,projector")
	require.Eventually(t, func() bool { return accepts.get("/readyz") != nil }, patience, tick)
	waits := accepts.submit(graphOf(2))
	d.env["TEMPORAL_ADDRESS"] = d.address
	out, err = d.try("jobs", "replay", waits)
	require.ErrorContains(t, err, "have not begun")
	require.Contains(t, out, "not started")
}
