package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/domain/call"
)

// calls returns the model calls of the account, newest first, as its operator sees them.
func (c *client) calls() []call.Call {
	c.t.Helper()
	var out bytes.Buffer
	cmd := cli.Command(&out, &out, os.LookupEnv)
	cmd.SetArgs([]string{"calls", "list", "--json", "--account", c.account, "--data", start(c.t).Data})
	require.NoError(c.t, cmd.ExecuteContext(c.t.Context()), out.String())
	var found []call.Call
	require.NoError(c.t, json.Unmarshal(out.Bytes(), &found), out.String())
	return found
}

// awaitCall waits until the account's only call is in that state, and returns it.
func (c *client) awaitCall(want call.State) call.Call {
	c.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		found := c.calls()
		if len(found) > 0 && found[0].State == want {
			require.Len(c.t, found, 1, "one call, however the job went on")
			return found[0]
		}
		select {
		case <-tick.C:
		case <-deadline:
			c.t.Fatalf("no call is %s: %+v", want, found)
		}
	}
}

// What is known of the call is read from its events: it runs once its provider gave a handle, and it is
// canceled, for nothing, once the provider confirmed that it stopped.
func TestAJobThatEndsStopsItsModelsCall(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string][3]string{
		"canceled":           {"POST", "/api/v2/jobs/%s/cancel", ``},
		"canceled by cloud":  {"POST", "/api/jobs/%s/cancel", ``},
		"interrupted":        {"POST", "/api/interrupt", `{"prompt_id":"%s"}`},
		"interrupted at all": {"POST", "/api/interrupt", ``},
		"deleted":            {"POST", "/api/queue", `{"delete":["%s"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, "pro")
			id := c.ordered(painted("slowly [sim:delay=10m]"))
			running := c.awaitCall(call.Running)
			require.Equal(t, call.Node, running.Mode)
			require.Equal(t, 429, c.do("POST", echo, `{"prompt":"x"}`).status, "the call holds the account's only place")

			method, path, body := ask[0], ask[1], ask[2]
			if path != "/api/interrupt" && path != "/api/queue" {
				path = fmt.Sprintf(path, id)
			}
			if body != "" {
				body = fmt.Sprintf(body, id)
			}
			r := c.do(method, path, body)
			require.Equal(t, 200, r.status, r.body)
			c.await(id, "cancelled")
			stopped := c.awaitCall(call.Canceled)
			require.Equal(t, running.ID, stopped.ID)
			require.Zero(t, *stopped.Charged)
			r = c.do("POST", echo, `{"prompt":"x"}`)
			require.Equal(t, 200, r.status, "its place is free again: %s", r.body)
		})
	}
}

// A node that fails ends the job, and the calls of the nodes beside it with it.
func TestAFailedJobStopsTheCallsOfItsOtherNodes(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	for blurred := 1; len(c.calls()) == 0; blurred *= 2 { // until the call begins before the other node fails
		require.LessOrEqual(t, blurred, 16, "no call ever begins")
		c.await(c.ordered(fmt.Sprintf(`{
		"1":{"class_type":"Partner_sim_image","inputs":{"prompt":"slowly [sim:delay=10m]"}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"slow"}},
		"3":{"class_type":"EmptyImage","inputs":{"width":768,"height":768,"batch_size":%d,"color":77}},
		"4":{"class_type":"ImageBlur","inputs":{"image":["3",0],"blur_radius":31,"sigma":2.0}},
		"5":{"class_type":"ImageCrop","inputs":{"image":["4",0],"width":1,"height":1,"x":0,"y":0}},
		"6":{"class_type":"RepeatImageBatch","inputs":{"image":["5",0],"amount":4096}},
		"7":{"class_type":"ImageScale","inputs":{"image":["6",0],"upscale_method":"lanczos","width":16384,"height":16384,"crop":"disabled"}},
		"8":{"class_type":"SaveImage","inputs":{"images":["7",0],"filename_prefix":"never"}}}`, blurred)), "failed")
		c.upToDate() // calls are listed from a view
	}
	c.awaitCall(call.Canceled)
}

// A provider that cannot stop finishes its generation, which is charged then and not lost.
func TestASynchronousCallOfACanceledJobFinishes(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.ordered(`{"1":{"class_type":"Partner_sim_echo","inputs":{"prompt":"[sim:delay=20s]","number":1}}}`)
	c.awaitCall(call.Dispatching)
	require.Equal(t, 200, c.do("POST", "/api/v2/jobs/"+id+"/cancel", "").status)
	c.await(id, "cancelled")
	finished := c.awaitCall(call.Succeeded)
	require.True(t, finished.Canceling)
}
