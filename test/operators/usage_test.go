package operators_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// creditOf returns the balance of an account, in millionths of a dollar.
type creditOf struct {
	Available int64 `json:"available_micros"`
	Held      int64 `json:"held_micros"`
	Settled   int64 `json:"settled_micros"`
}

func (b *bench) credit() (balance creditOf) {
	b.t.Helper()
	status, body := b.admin(http.MethodGet, "/accounts/"+b.account+"/credit", nil)
	require.Equal(b.t, http.StatusOK, status, body)
	require.NoError(b.t, json.Unmarshal([]byte(body), &balance))
	return balance
}

// used returns the time on one server, according to the usage view.
type used struct {
	URL              string
	Segments, Millis int64
	GivenUp          int64 `json:"given_up"`
	Cost             int64 `json:"cost_micros"`
}

func (b *bench) usage() (byURL map[string]used) {
	b.t.Helper()
	status, body := b.admin(http.MethodGet, "/servers/usage?since=24h&account="+b.name, nil)
	require.Equal(b.t, http.StatusOK, status, body)
	var answer struct{ Usage []used }
	require.NoError(b.t, json.Unmarshal([]byte(body), &answer))
	byURL = map[string]used{}
	for _, u := range answer.Usage {
		byURL[u.URL] = u
	}
	return byURL
}

// running reports whether a machine is executing a prompt.
func running(m *comfyui.Machine) bool {
	runs := m.Runs()
	return len(runs) > 0 && runs[len(runs)-1].Outcome == "running" && time.Since(runs[len(runs)-1].Began) > 100*time.Millisecond
}

func TestCreditsPayTimeOnServersOnceAlsoWhenAServerIsKilled(t *testing.T) {
	b := start(t)
	const price = "0.01" // price of a second: 10,000 micros
	slow := comfyui.Options{Step: 30 * time.Millisecond}
	machines := []*comfyui.Machine{b.server(slow, map[string]any{"price_usd": price}), b.server(slow, map[string]any{"price_usd": price})}
	b.command("accounts", "credit", b.name, "--amount", "5", "--reason", "trial")

	id := b.submit(served.Text2Img(1, 200))
	require.EqualValues(t, 600_000, b.credit().Held, "a minute is held as soon as the job is accepted")
	var victim, other *comfyui.Machine
	b.await("the prompt to run", func() bool {
		for i, m := range machines {
			if running(m) {
				victim, other = m, machines[1-i]
				return true
			}
		}
		return false
	})
	victim.Kill()
	require.Equal(t, "completed", b.ended(id))
	b.await("the hold to end", func() bool { return b.credit().Held == 0 })
	b.await("the usage to be known", func() bool { return b.usage()[other.URL()].Segments == 1 })
	byURL := b.usage()
	require.EqualValues(t, 1, byURL[victim.URL()].GivenUp)
	require.Positive(t, byURL[victim.URL()].Millis, "its time is metered")
	require.Zero(t, byURL[victim.URL()].Cost, "and costs nothing")
	paid := byURL[other.URL()]
	require.GreaterOrEqual(t, paid.Millis, int64(200*30*9/10))
	require.Equal(t, paid.Millis*10, paid.Cost, "10,000 micros a second")
	require.Equal(t, paid.Cost, b.credit().Settled, "the account pays what the view says, once")
	require.Equal(t, 1, b.query(`select count(*) from events where stream = 'ledger-' || $1 and type = 'credit.settled.v1'`, b.account))

	require.Regexp(t, `\$\d+\.\d\d`, b.command("jobs", "timeline", id))
	table := b.command("servers", "usage", "--account", b.name)
	require.Contains(t, table, other.URL())
	require.Contains(t, table, "GIVEN UP")
	status, body := b.admin(http.MethodGet, "/servers/usage?account=nobody", nil)
	require.Equal(t, http.StatusBadRequest, status, body)

	again := b.submit(served.Text2Img(2, 1))
	require.Equal(t, "completed", b.ended(again))
	b.await("both to be paid", func() bool {
		return b.usage()[other.URL()].Segments == 2 && b.usage()[other.URL()].Cost == b.credit().Settled
	})
	status, body = b.admin(http.MethodPost, "/servers", by(map[string]any{"url": "http://127.0.0.1:9", "price_usd": "much"}))
	require.Equal(t, http.StatusBadRequest, status, body)
}
