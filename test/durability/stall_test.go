package durability_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// heavy is one chain of blurs, each of which takes about a second.
func heavy(prefix string, blurs int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"prompt":{"0":{"class_type":"EmptyImage","inputs":{"width":3072,"height":3072,"batch_size":1,"color":%d}}`,
		colour(prefix))
	for i := range blurs {
		fmt.Fprintf(&b, `,"%d":{"class_type":"ImageBlur","inputs":{"image":["%d",0],"blur_radius":31,"sigma":2.0}}`, i+1, i)
	}
	fmt.Fprintf(&b, `,"%d":{"class_type":"ImageScale","inputs":{"image":["%d",0],"upscale_method":"area","width":64,"height":64,`+
		`"crop":"disabled"}}`, blurs+1, blurs)
	fmt.Fprintf(&b, `,"%d":{"class_type":"SaveImage","inputs":{"images":["%d",0],"filename_prefix":%q}}}}`, blurs+2, blurs+1, prefix)
	return b.String()
}

// Temporal is stopped for longer than the heartbeat timeout, repeatedly, while a long chain runs. Many of the stops lose an
// attempt, although no worker is lost: of the others, a heartbeat reached Temporal before it looked at its timers. In every second
// stop the workers are stopped too, so that no heartbeat waits for Temporal. However often this happens, the job completes.
func TestAStalledEngineFailsNoJob(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	const stalls, most = 6, 10
	jobs := map[string]string{"stalled": c.submit(heavy("stalled", 60))}
	c.begun(jobs["stalled"])
	pid := c.temporalPID()
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGCONT) }) // it may be gone
	attempts := 1
	for stalled := 0; stalled < stalls || attempts <= 1 && stalled < most; stalled++ { // on a busy machine the next attempt starts a node late
		both := stalled%2 == 1
		if both {
			c.freeze()
		}
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		<-time.After(12 * time.Second) // the heartbeat timeout is ten
		require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		<-time.After(4 * time.Second)
		if both {
			c.thaw()
		}
		require.NotEqual(t, "failed", c.state(jobs["stalled"]))
		attempts = c.attempts(jobs["stalled"])
	}
	for executed := 0; executed <= 60; { // on a busy machine, the nodes together take longer than c waits for anything
		before := executed
		c.until("another node of the job is executed", func() bool {
			executed = c.number(jobs["stalled"], `count(distinct data ->> 'node')`, job.TypeNodeExecuted)
			return executed > before
		})
	}
	c.await(ids(jobs), "completed")
	attempts = c.attempts(jobs["stalled"])
	require.Greater(t, attempts, 1, "no attempt was lost")
	t.Logf("%d attempts", attempts)
	c.checkOutputs(jobs)
	c.checkLanes()
	c.checkViews()
}

// attempts returns how often workers began to run nodes of a job, 0 if none has.
func (c *cluster) attempts(id string) int {
	c.t.Helper()
	return c.number(id, `coalesce(max(coalesce((data ->> 'attempt')::int, 1)), 0)`, job.TypeNodeStarted)
}

// number returns what an expression in SQL counts in the events of a type of a job.
func (c *cluster) number(id, expression, eventType string) (n int) {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.stack.DatabaseURL)
	require.NoError(c.t, err)
	defer conn.Close(c.t.Context())
	require.NoError(c.t, conn.QueryRow(c.t.Context(), `select `+expression+` from events where stream = $1 and type = $2`,
		job.ID(id).Stream(), eventType).Scan(&n))
	return n
}

// If the disk has no space for the outputs of a job, the job waits and reports the reason. When there is space again,
// it completes.
func TestAFullDiskFailsNoJob(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	files := filepath.Join(dir, "service")
	require.NoError(t, os.MkdirAll(files, 0o700))
	if err := syscall.Mount("tmpfs", files, "tmpfs", 0, "size=128m"); err != nil {
		t.Skipf("a small file system needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(files, syscall.MNT_DETACH)) })
	c := serveOn(t, startStack(t, dir), dir)
	c.env = append(c.env, "MILLRACE_DISK_RESERVE=1048576")
	c.startRoles()
	c.await([]string{c.submit(cheap("before"))}, "completed")

	c.freeze() // lets the jobs be accepted before the disk is full
	jobs := map[string]string{"cheap": c.submit(cheap("cheap")), "long": c.submit(longOf(1024, "long"))}
	filler := filepath.Join(files, "filler")
	c.fill(filler)
	c.thaw()
	for _, id := range jobs {
		c.until("job "+id+" says why it waits", func() bool {
			status, body := c.call("GET", "/api/v2/jobs/"+id, "")
			var answer struct {
				Status   string
				Progress struct{ Waiting, Message string }
			}
			require.NoError(t, json.Unmarshal([]byte(body), &answer), "%d %s", status, body)
			require.NotEqual(t, "failed", answer.Status, body)
			return strings.Contains(answer.Progress.Waiting, "no space left") && strings.Contains(answer.Progress.Message, "waits")
		})
	}
	require.NoError(t, os.Remove(filler))
	c.await(ids(jobs), "completed")
	c.checkOutputs(jobs)
	c.checkLanes()
}

// fill writes a file until its file system is full.
func (c *cluster) fill(path string) {
	c.t.Helper()
	f, err := os.Create(path)
	require.NoError(c.t, err)
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			require.ErrorIs(c.t, err, syscall.ENOSPC)
			size /= 2
		}
	}
}
