package webhooks_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/test/served"
)

func TestEndpointGetsOneSignedMessagePerJob(t *testing.T) {
	t.Parallel()
	c, r := newClient(t), receive(t, nil)
	e := c.register(r.url)
	jobs := map[string]bool{}
	for range 5 {
		jobs[c.submit()] = true
	}
	for range 5 {
		m := r.next(t)
		require.True(t, m.signedWith(t, e.secret))
		require.False(t, m.signedWith(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
		kind, data := m.reply(t)
		require.Equal(t, "job.completed", kind)
		require.Equal(t, "succeeded", data["status"])
		id, _ := data["id"].(string)
		require.True(t, jobs[id], "%s is a job of this account, reported for the first time", id)
		delete(jobs, id)
		require.Equal(t, map[string]any{"self": "/api/v2/jobs/" + id}, data["urls"])
		job := c.json("GET", "/api/v2/jobs/"+id, "")
		require.Equal(t, job["status"], data["status"], "the words are those of the v2 surface")
	}
	c.until("all are delivered", func() bool { return len(c.deliveries(e, "?status=delivered")) == 5 })
	require.Len(t, r.all(), 5)
	require.Equal(t, http.StatusNoContent, int(c.deliveries(e, "")[0]["last_attempts"].([]any)[0].(map[string]any)["status_code"].(float64)))
}

func TestRefusedDeliveryIsRetriedUnderTheSameID(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	r := receive(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	e := c.register(r.url)
	id := c.submit()
	first, second := r.next(t), r.next(t)
	require.Equal(t, first.id, second.id, "so that a receiver can tell a repetition")
	require.Equal(t, first.body, second.body)
	require.True(t, second.signedWith(t, e.secret))
	d := c.awaitDelivery(e, "delivered")
	require.Equal(t, first.id, d["id"])
	require.EqualValues(t, 2, d["attempts"])
	tries := d["last_attempts"].([]any)
	require.Len(t, tries, 2)
	require.EqualValues(t, 500, tries[0].(map[string]any)["status_code"])
	require.Equal(t, "status", tries[0].(map[string]any)["error"])
	_, data := second.reply(t)
	require.Equal(t, id, data["id"])
}

// after the last attempt, the message is a dead letter, which is listed and can be replayed.
func TestADeadLetterIsListedAndReplayed(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	var well atomic.Bool
	looked := make(chan struct{}) // closed when the replay was looked at before it is taken
	r := receive(t, func(_ int, w http.ResponseWriter, req *http.Request) {
		if !well.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		select {
		case <-looked:
		case <-req.Context().Done():
		}
	})
	e := c.register(r.url)
	c.submit()
	dead := c.awaitDelivery(e, "dead")
	require.EqualValues(t, 3, dead["attempts"], "one and two more")
	require.Len(t, r.all(), 3)
	require.Equal(t, []any{dead["id"]}, idsOf(c.deliveries(e, "?status=dead")))
	id, _ := dead["id"].(string)

	refused := c.do("POST", e.path()+"/deliveries/"+id[:35]+"x/replay", "")
	require.Equal(t, http.StatusNotFound, refused.status)
	well.Store(true)
	again := c.json("POST", e.path()+"/deliveries/"+id+"/replay", "")
	require.Equal(t, "pending", again["status"])
	close(looked)
	done := c.awaitDelivery(e, "delivered")
	require.Equal(t, id, done["id"])
	require.EqualValues(t, 1, done["replays"])
	all := r.all()
	require.Equal(t, all[0].id, all[len(all)-1].id, "a replay keeps the id")
	require.Empty(t, c.deliveries(e, "?status=dead"))
}

func idsOf(all []map[string]any) []any {
	ids := []any{}
	for _, d := range all {
		ids = append(ids, d["id"])
	}
	return ids
}

// X-36 on the command line and over the admin API, for all accounts.
func TestOperatorsListAndReplayDeadLetters(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	var well atomic.Bool
	r := receive(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	_, err := c.s.try(t, "webhooks", "add", "http://127.0.0.1:9/hook", "--account", c.name)
	require.Error(t, err, "an address that the service does not allow")
	// The command has no allow list of its own: the running service allows this address.
	added := c.s.run(t, "webhooks", "add", r.url, "--account", c.name, "--event", "job.completed", "--reason", "asked by phone")
	list, _ := c.json("GET", "/api/v2/webhooks", "")["webhooks"].([]any)
	require.Len(t, list, 1)
	e := endpoint{id: list[0].(map[string]any)["id"].(string), secret: served.LastLine(added)}
	c.submit()
	c.submit()
	c.until("two dead letters", func() bool { return len(c.deliveries(e, "?status=dead")) == 2 })

	out := c.s.run(t, "webhooks", "dead", "--account", c.name)
	require.Equal(t, 2, strings.Count(out, e.id[:8]), out)
	require.Contains(t, out, "502")
	require.Contains(t, c.s.run(t, "webhooks", "replay", "--webhook", e.id[:13]), "would replay 2 dead letters")
	examined, _ := c.s.try(t, "doctor", "--json") // other findings on this machine do not matter
	require.Regexp(t, `[1-9]\d* are dead letters`, examined)
	reply := c.admin("GET", "/webhooks/deliveries?status=dead&account="+c.number, "")
	require.Equal(t, http.StatusOK, reply.status, reply.body)
	deadOnes, _ := reply.json(t)["deliveries"].([]any)
	require.Len(t, deadOnes, 2)
	require.Contains(t, c.admin("GET", "/metrics", "").body, "millrace_webhook_dead ")

	well.Store(true)
	one, _ := deadOnes[0].(map[string]any)["id"].(string)
	require.Contains(t, c.s.run(t, "webhooks", "replay", one, "--reason", "mended"), "attempted again")
	c.until("one is delivered", func() bool { return len(c.deliveries(e, "?status=delivered")) == 1 })
	answer := c.admin("POST", "/webhooks/"+e.id+"/replay", `{"actor":"kim","reason":"mended"}`)
	require.Equal(t, http.StatusOK, answer.status, answer.body)
	require.EqualValues(t, 1, answer.json(t)["replayed"])
	c.until("both are", func() bool { return len(c.deliveries(e, "?status=delivered")) == 2 })
	counted := regexp.MustCompile(`millrace_webhook_attempts_total\{outcome="delivered"\} [1-9]`)
	c.until("they are counted", func() bool { return counted.MatchString(c.admin("GET", "/metrics", "").body) })

	events := c.s.recorded(t, c.number)
	require.Contains(t, events, `"actor":"admin:kim"`)
	require.Contains(t, events, "asked by phone")
	require.NotContains(t, events, e.secret)
	listed := c.s.run(t, "webhooks", "list", "--account", c.name)
	require.Contains(t, listed, e.id)
	require.NotContains(t, listed, strings.TrimPrefix(r.url, "http://"), "a path may be a token")
	c.s.run(t, "webhooks", "remove", e.id, "--reason", "test ends")
	require.Equal(t, http.StatusNotFound, c.do("GET", e.path(), "").status)
}

func TestOneEndpointThatHangsDelaysNobody(t *testing.T) {
	t.Parallel()
	slow, quick := newClient(t), newClient(t)
	stuck := make([]*receiver, 4)
	for i := range stuck {
		stuck[i] = receive(t, hangs)
		slow.register(stuck[i].url)
	}
	r := receive(t, nil)
	e := quick.register(r.url)
	for range 6 {
		slow.submit() // 24 deliveries, each of which uses its connection for the whole timeout, three times
	}
	stuck[0].next(t)
	for i := range 3 {
		answer := quick.json("POST", e.path()+"/test", "")
		require.Equal(t, answer["id"], r.next(t).id)
		if i == 0 { // one by one, they would have failed for long enough by then
			for _, hook := range slow.json("GET", "/api/v2/webhooks", "")["webhooks"].([]any) {
				require.Equal(t, true, hook.(map[string]any)["enabled"], "it does not wait for those that hang")
			}
		}
	}
	for _, s := range stuck {
		require.LessOrEqual(t, len(s.all()), 18)
	}
	for _, other := range r.all() {
		kind, _ := other.reply(t)
		require.Equal(t, "webhook.test", kind, "and hears nothing of the other account")
	}
}

func TestAnEndpointThatIsGoneIsDisabledAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	r := receive(t, status(http.StatusGone))
	e := c.register(r.url)
	c.submit()
	c.awaitDelivery(e, "dead")
	var shown map[string]any
	c.until("it is disabled", func() bool {
		shown = c.json("GET", e.path(), "")
		return shown["enabled"] == false
	})
	require.Equal(t, "gone", shown["disabled_reason"])
	require.Len(t, r.all(), 1, "one attempt")
	require.Equal(t, http.StatusConflict, c.do("POST", e.path()+"/test", "").status)
	require.Equal(t, http.StatusConflict, c.do("POST", e.path()+"/replay", "").status)
	require.Equal(t, true, c.json("PATCH", e.path(), `{"enabled":true}`)["enabled"])
	require.EqualValues(t, 1, c.json("POST", e.path()+"/replay", "")["replayed"])
}

func TestAnEndpointThatKeepsFailingIsDisabled(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	r := receive(t, status(http.StatusInternalServerError))
	e := c.register(r.url)
	c.until("it is disabled", func() bool {
		if c.json("GET", e.path(), "")["enabled"] == false {
			return true
		}
		if len(c.deliveries(e, "?status=pending")) == 0 { // one at a time: the list below has a limit
			c.do("POST", e.path()+"/test", "")
		}
		return false
	})
	require.Equal(t, "failing", c.json("GET", e.path(), "")["disabled_reason"])
	require.Contains(t, c.s.recorded(t, c.number), `"cause":"failing"`)
	c.until("what waited are dead letters", func() bool { return len(c.deliveries(e, "?status=pending")) == 0 })
	before := len(c.deliveries(e, "?limit=1000"))
	job := c.submit()
	c.until("the job ends", func() bool { return c.json("GET", "/api/v2/jobs/"+job, "")["status"] == "succeeded" })
	// When the projector notifies another endpoint of a later job, it has also processed the end of this one.
	other := receive(t, nil)
	c.register(other.url)
	c.submit()
	other.next(t)
	require.Len(t, c.deliveries(e, "?limit=1000"), before, "it is sent nothing more")
}

func TestFailedAndCancelledJobsAreDeliveredToTheirSubscribers(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	failed, cancelled, calls := receive(t, nil), receive(t, nil), receive(t, nil)
	c.register(failed.url, "job.failed")
	c.register(cancelled.url, "job.cancelled")
	c.register(calls.url, "call.*")
	broken := `{"workflow":{"1":{"class_type":"ComfyMathExpression","inputs":{"expression":"1 / a","values.a":0}},
		"2":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}}`
	id, _ := c.json("POST", "/api/v2/jobs", broken)["id"].(string)
	kind, data := failed.next(t).reply(t)
	require.Equal(t, "job.failed", kind)
	require.Equal(t, id, data["id"])
	require.Equal(t, "failed", data["status"])
	require.NotEmpty(t, data["error"].(map[string]any)["code"])

	held := c.admin("PUT", "/queues/"+c.number, `{"actor":"kim","reason":"hold","mode":"paused"}`)
	require.Equal(t, http.StatusOK, held.status, held.body)
	waiting := c.submit()
	require.Equal(t, "canceled", c.json("POST", "/api/v2/jobs/"+waiting+"/cancel", "")["status"])
	kind, data = cancelled.next(t).reply(t)
	require.Equal(t, "job.cancelled", kind)
	require.Equal(t, waiting, data["id"])
	require.Equal(t, "canceled", data["status"])
	require.Len(t, failed.all(), 1)
	require.Len(t, cancelled.all(), 1)
	require.Empty(t, calls.all())
}

func TestRotatedSecretOverlapsWithTheOldOne(t *testing.T) {
	t.Parallel()
	c, r := newClient(t), receive(t, nil)
	e := c.register(r.url)
	fresh, _ := c.json("POST", e.path()+"/secret", "")["secret"].(string)
	c.json("POST", e.path()+"/test", "")
	m := r.next(t)
	require.True(t, m.signedWith(t, e.secret) && m.signedWith(t, fresh))
	last, _ := c.json("POST", e.path()+"/secret", `{"old_good_for":0}`)["secret"].(string)
	c.json("POST", e.path()+"/test", "")
	m = r.next(t)
	require.True(t, m.signedWith(t, last))
	require.False(t, m.signedWith(t, e.secret) || m.signedWith(t, fresh))
}

func TestForbiddenAddressesAreRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, url := range []string{
		"", "http://example.com/x", "https://", "ftp://example.com", "https://127.0.0.1/x", "https://localhost:8443/x", "https://[::1]/",
		"https://10.0.0.8/",
		"https://169.254.169.254/latest/meta-data", "https://0x7f.1/", "https://user:pass@example.com/", "https://example.com/#frag",
		"https://[::ffff:127.0.0.1]/",
		"https://" + strings.Repeat("a", 2048) + ".com/", "//example.com", "https:example.com",
	} {
		body, err := json.Marshal(map[string]string{"url": url})
		require.NoError(t, err)
		got := c.do("POST", "/api/v2/webhooks", string(body))
		require.Equal(t, http.StatusBadRequest, got.status, "%s: %s", url, got.body)
	}
	for _, body := range []string{
		`{"url":"https://example.com/a","events":["node.executed"]}`,
		`{"url":"https://example.com/a","secret":"mine"}`, `{"url":7}`, `[]`,
	} {
		require.Equal(t, http.StatusBadRequest, c.do("POST", "/api/v2/webhooks", body).status, body)
	}
}

// TestPrivateAddressIsNotReached registers a name that resolves to the loopback address: the guard refuses the
// address when it is dialled.
func TestPrivateAddressIsNotReached(t *testing.T) {
	t.Parallel()
	c, r := newClient(t), receive(t, nil)
	host, port, err := net.SplitHostPort(strings.TrimPrefix(r.url[:strings.LastIndex(r.url, "/")], "http://"))
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", host)
	name, err := os.Hostname()
	require.NoError(t, err)
	addresses, err := net.LookupHost(name)
	if err != nil || !slices.ContainsFunc(addresses, func(a string) bool { ip := net.ParseIP(a); return ip.IsLoopback() || ip.IsPrivate() }) {
		t.Skip("this machine's name leads to no private address")
	}
	e := c.register("https://" + name + ":" + port + "/x")
	c.json("POST", e.path()+"/test", "")
	dead := c.awaitDelivery(e, "dead")
	for _, try := range dead["last_attempts"].([]any) {
		require.Equal(t, "name_not_found", try.(map[string]any)["error"])
	}
	require.Empty(t, r.all())
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	c, inside := newClient(t), receive(t, nil)
	r := receive(t, func(_ int, w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, inside.url, http.StatusTemporaryRedirect)
	})
	e := c.register(r.url)
	c.json("POST", e.path()+"/test", "")
	dead := c.awaitDelivery(e, "dead")
	require.Equal(t, "redirect", dead["last_attempts"].([]any)[0].(map[string]any)["error"])
	require.Empty(t, inside.all())
}

// The signing secret and the address appear in no log, event, history or answer.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	r := receive(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	e := c.register(r.url + "?token=tok-1234567890")
	fresh, _ := c.json("POST", e.path()+"/secret", "")["secret"].(string)
	c.submit()
	r.next(t)
	r.next(t)
	c.awaitDelivery(e, "delivered")
	hidden := []string{e.secret, fresh, strings.TrimPrefix(e.secret, "whsec_"), strings.TrimPrefix(fresh, "whsec_")}
	shown := strings.Join([]string{
		c.do("GET", "/api/v2/webhooks", "").body, c.do("GET", e.path(), "").body, c.do("GET", e.path()+"/deliveries", "").body,
	}, "\n")
	inside := strings.Join([]string{
		c.s.dump(t), c.s.log.String(), c.s.run(t, "webhooks", "list", "--json"), c.s.run(t, "webhooks", "deliveries", "--json"),
		c.admin("GET", "/webhooks", "").body, c.admin("GET", "/webhooks/deliveries", "").body, c.admin("GET", "/metrics", "").body,
	}, "\n")
	require.Contains(t, inside, e.id, "it was looked at in the right places")
	for _, secret := range hidden {
		require.NotContains(t, shown, secret)
		require.NotContains(t, inside, secret)
	}
	require.Contains(t, shown, "tok-1234567890", "its owner sees the address")
	require.NotContains(t, inside, "tok-1234567890")
}

func TestAnAccountHasABoundedNumberOfWebhooksAndEachAddressOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for i := range 20 {
		c.register(fmt.Sprintf("https://hooks.invalid/%d", i))
	}
	require.Equal(t, http.StatusConflict, c.do("POST", "/api/v2/webhooks", `{"url":"https://hooks.invalid/one-more"}`).status)
	list, _ := c.json("GET", "/api/v2/webhooks", "")["webhooks"].([]any)
	require.Len(t, list, 20)
	first := endpoint{id: list[0].(map[string]any)["id"].(string)}
	require.Equal(t, http.StatusConflict, c.do("PATCH", first.path(), `{"url":"https://hooks.invalid/1"}`).status)
	require.Equal(t, http.StatusNoContent, c.do("DELETE", first.path(), "").status)
	require.Equal(t, http.StatusNotFound, c.do("DELETE", first.path(), "").status)
	require.Equal(t, http.StatusConflict, c.do("POST", "/api/v2/webhooks", `{"url":"https://hooks.invalid/1"}`).status)
	c.register("https://hooks.invalid/one-more")
}

func TestAKeyThatOnlyReadsChangesNoWebhook(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	e := c.register("https://hooks.invalid/x")
	c.key = served.LastLine(c.s.run(t, "keys", "create", "--account", c.name, "--scope", "read"))
	require.Equal(t, http.StatusOK, c.do("GET", e.path(), "").status)
	for _, call := range [][2]string{
		{"POST", "/api/v2/webhooks"},
		{"DELETE", e.path()},
		{"PATCH", e.path()},
		{"POST", e.path() + "/secret"},
		{"POST", e.path() + "/test"},
		{"POST", e.path() + "/replay"},
	} {
		require.Equal(t, http.StatusForbidden, c.do(call[0], call[1], `{}`).status, call)
	}
}

// The view of endpoints equals its rebuild, and the reader that makes deliveries cannot be rebuilt: nothing is
// reported twice.
func TestTheViewEqualsItsRebuildAndDeliveriesAreNoView(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	e := c.register("https://hooks.invalid/a", "job.failed")
	c.json("PATCH", e.path(), `{"url":"https://other.invalid/b","events":["job.*","job.failed"],"description":"ours","enabled":false}`)
	c.json("POST", e.path()+"/secret", "")
	before := c.do("GET", e.path(), "").body
	c.until("the view has seen it", func() bool {
		return !strings.Contains(c.s.run(t, "views", "rebuild", "webhooks_v1", "--check"), "differs")
	})
	require.Contains(t, c.s.run(t, "views", "rebuild", "webhooks_v1"), "webhooks_v1 rebuilt")
	require.Equal(t, before, c.do("GET", e.path(), "").body)
	require.Contains(t, c.s.run(t, "views", "list"), "webhooks_outgoing")
	out, err := c.s.try(t, "views", "rebuild", "webhooks_outgoing")
	require.Error(t, err, out)
}

func TestMessagesNameAJobByTheIDThatItsClientChose(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	for range 2 { // accounts
		c, r := newClient(t), receive(t, nil)
		e := c.register(r.url)
		accepted := c.json("POST", "/api/prompt", `{"prompt_id":"`+id+`","prompt":`+strings.ReplaceAll(graph, "COLOR", "7")+`}`)
		require.Equal(t, id, accepted["prompt_id"])
		m := r.next(t)
		require.True(t, m.signedWith(t, e.secret))
		_, data := m.reply(t)
		require.Equal(t, id, data["id"])
		require.Equal(t, map[string]any{"self": "/api/v2/jobs/" + id}, data["urls"])
		c.until("it is delivered", func() bool { return len(c.deliveries(e, "?status=delivered")) == 1 })
		require.Equal(t, id, c.deliveries(e, "")[0]["payload"].(map[string]any)["data"].(map[string]any)["id"])
	}
}
