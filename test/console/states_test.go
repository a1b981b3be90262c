package console_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// state is the expected content of a page in one state of an account.
type state struct {
	says    string // part of its text
	address string // "" = the page's own
	status  int    // 0 = 200
}

// pageStates are the states of a page. A page whose path has no parameters has no state for a wrong path.
type pageStates struct{ empty, typical, much, wrong state }

// accountStates lists the pages of the navigation of an account.
var accountStates = map[string]pageStates{
	"/console/overview": {
		state{says: "Overview"},
		state{says: "Jobs"},
		state{says: "Jobs"},
		state{"is not a range of time", "?range=odd", http.StatusBadRequest},
	},
	"/console": {
		state{says: "No jobs yet"},
		state{says: "succeeded"},
		state{says: "Older jobs"},
		state{"Problem", "?status=odd", http.StatusBadRequest},
	},
	"/console/gallery": {
		state{says: "No job has made a picture yet."},
		state{says: "much_"},
		state{says: "older"},
		state{"Problem", "?before=odd", http.StatusBadRequest},
	},
	"/console/run": {
		state{says: "Choose it, or drop it here"},
		state{says: "Choose it, or drop it here"},
		state{says: "Choose it, or drop it here"},
		state{},
	},
	"/console/deployments": {
		state{says: "No deployments yet"},
		state{says: "much-0"},
		state{says: "much-1"},
		state{"Problem", "/none", http.StatusNotFound},
	},
	"/console/models": {
		state{says: "sim/image"},
		state{says: "sim/image"},
		state{says: "sim/image"},
		state{"Problem", "/sim/none", http.StatusNotFound},
	},
	"/console/assets": {
		state{says: "No assets yet."},
		state{says: "much_"},
		state{says: "older"},
		state{"Problem", "?before=odd", http.StatusBadRequest},
	},
	"/console/webhooks": {
		state{says: "No webhooks yet"},
		state{says: "/200"},
		state{says: "/207"},
		state{"Problem", "/none", http.StatusNotFound},
	},
	"/console/keys":  {state{says: "Keys"}, state{says: "Keys"}, state{says: "Revoke"}, state{}},
	"/console/usage": {state{says: "Files"}, state{says: "Files"}, state{says: "Files"}, state{}},
}

// weight is the number of bytes that the open page has loaded besides pictures and films.
const weight = `performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource").filter(function (e) {
	return ["img", "video", "audio", "eventsource"].indexOf(e.initiatorType) < 0;
})).reduce(function (sum, e) { return sum + e.encodedBodySize; }, 0)`

// shows opens a page at the width of a phone.
func (b *browser) shows(page string, s state) {
	b.t.Helper()
	b.visit(page + s.address)
	status := eval[int](b, `performance.getEntriesByType("navigation")[0].responseStatus`)
	want := s.status
	want = cmp.Or(want, http.StatusOK)
	require.Equal(b.t, want, status, "%s%s: %s", page, s.address, b.text())
	require.Contains(b.t, eval[string](b, `document.title + " " + document.getElementById("main").innerText`), s.says, "%s%s", page, s.address)
	b.fits(page + s.address)
	require.LessOrEqual(b.t, eval[int](b, weight), 100_000, "bytes of %s besides pictures", page)
	require.Zero(b.t, eval[int](b, `document.querySelectorAll("main script, main img[src=x], main b.hostile").length`),
		"%s: a text became markup", page)
	if want >= 400 { // the browser reports the status of an error page
		b.mu.Lock()
		b.problems = nil
		b.mu.Unlock()
		return
	}
	b.clean()
}

const markup = `<b class="hostile">"><img src=x onerror=alert(1)><script>alert(2)</script>`

// hostileJobs makes jobs with markup in every text that a client may choose: titles, metadata, values, failures.
func (p *person) hostileJobs() {
	p.t.Helper()
	text := fmt.Sprintf("%q", markup)
	p.submit(`{"prompt":{"1":{"class_type":"RegexReplace","_meta":{"title":` + text + `},"inputs":{"string":` + text + `,"regex_pattern":` +
		fmt.Sprintf("%q", "("+markup) + `,"replace":"","case_insensitive":false,"multiline":false,"dotall":false,"count":0}},
		"2":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}},"extra_data":{"extra_pnginfo":{"workflow":{"extra":{"title":` + text +
		`}}}}}`)
	p.api(http.MethodPost, "/api/v2/jobs", `{"workflow":`+picture(`much`, 7)+`,"metadata":{"note":`+text+`}}`)
	r := p.send(http.MethodPost, "/console/run", url.Values{"text": {`{"nodes":[{"id":1,"type":` + text + `,"mode":0}],"links":[]}`}}.Encode())
	require.Equal(p.t, http.StatusUnprocessableEntity, r.status, r.body)
	require.NotContains(p.t, r.body, `<img src=x`)
	require.Contains(p.t, r.body, `&lt;img src=x`, "it says which class it does not know")
}

func TestEachPageOfAnAccountInFourStates(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	nav := regexp.MustCompile(`(?s)<nav.*?</nav>`).FindString(p.page("/console"))
	var pages []string
	for _, link := range regexp.MustCompile(`href="(/console[^"]*)"`).FindAllStringSubmatch(nav, -1) {
		require.Contains(t, accountStates, link[1], "a page of the navigation without its states")
		pages = append(pages, link[1])
	}
	require.GreaterOrEqual(t, len(pages), 9)
	b := p.open()
	b.size(390, 900)
	each := func(of func(pageStates) state) {
		t.Helper()
		for _, page := range pages {
			if s := of(accountStates[page]); s != (state{}) {
				b.shows(page, s)
			}
		}
	}
	each(func(s pageStates) state { return s.empty })
	each(func(s pageStates) state { return s.wrong })
	p.hostileJobs()
	p.run(picture("much", 1))
	p.deployed("much-0", 1)
	hook := func(status int) {
		r := p.post("/console/webhooks", url.Values{"url": {fmt.Sprintf("%s/%d", theReceiver().server.URL, status)}, "description": {markup}})
		require.Equal(t, http.StatusOK, r.status, r.body)
	}
	hook(http.StatusOK)
	p.await("the failure", func() bool { return strings.Contains(p.page("/console?status=failed"), "RegexReplace") })
	each(func(s pageStates) state { return s.typical })
	p.deployed("much-1", 2)
	for i := range 60 {
		p.submit(`{"prompt":` + picture("much", 100+i) + `}`)
	}
	for i := range 7 {
		hook(http.StatusCreated + i)
		p.s.command(t, "keys", "create", "--account", p.account)
	}
	p.await("the pictures", func() bool {
		return strings.Contains(p.page("/console/gallery"), "before=") && strings.Contains(p.page("/console/assets"), "before=") &&
			!strings.Contains(p.page("/console"), `class="state running"`)
	})
	each(func(s pageStates) state { return s.much })
	for _, page := range pages {
		require.Less(t, p.wire(page), 20_000, "bytes of %s with more than a page's worth", page)
	}
}

func TestEachPageOfOperatorsFitsAPhone(t *testing.T) {
	t.Parallel()
	newPerson(t).run(strings.ReplaceAll(failing, "%d", "78"))
	o := newOperator(t)
	nav := regexp.MustCompile(`(?s)<nav.*?</nav>`).FindString(o.page("/console"))
	b := o.open()
	b.size(390, 900)
	links := regexp.MustCompile(`href="(/console[^"]*)"`).FindAllStringSubmatch(nav, -1)
	require.GreaterOrEqual(t, len(links), 8)
	for _, link := range links {
		b.shows(link[1], state{})
	}
	b.shows("/docs", state{says: "Begin"})
	for _, wrong := range []state{
		{"Problem", "/accounts/none", http.StatusNotFound},
		{"Problem", "/deliveries?before=odd", http.StatusBadRequest},
		{"Problem", "/overview?range=odd", http.StatusBadRequest},
		{"Problem", "/jobs/none", http.StatusNotFound},
	} {
		b.shows("/console", wrong)
	}
}

// TestPagesOfOperatorsWithMuchAndWithMarkup opens them with thousands of rows and with markup for names, reasons,
// descriptions and errors.
func TestPagesOfOperatorsWithMuchAndWithMarkup(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	s := startWith(t, "--database-url", dsn)
	o := &person{t: t, s: s}
	o.signIn(adminToken)
	act := func(path string, form url.Values) reply {
		t.Helper()
		form.Set("reason", markup)
		r := o.post(path, form)
		require.Less(t, r.status, 400, r.body)
		return r
	}
	at := act("/console/accounts", url.Values{"name": {markup}, "tier": {"pro"}}).header.Get("Location")
	id := strings.TrimPrefix(at, "/console/accounts/")
	key := regexp.MustCompile(`<pre>([^<]+)</pre>`).FindStringSubmatch(act(at+"/keys", url.Values{"scope": {"read,write"}}).body)[1]
	p := &person{t: t, s: s, account: markup, key: key}
	p.signIn(key)
	p.hostileJobs()
	hook := p.post("/console/webhooks", url.Values{"url": {theReceiver().server.URL + "/410"}, "description": {markup}})
	require.Equal(t, http.StatusOK, hook.status, hook.body)
	p.run(picture("said", 5))
	p.await("the failure, before the queue is paused", func() bool {
		return strings.Contains(p.page("/console?status=failed"), "RegexReplace")
	})
	act("/console/queues", url.Values{"queue": {id}, "mode": {"paused"}})
	pool := storetest.OpenPool(t, dsn)
	for _, sql := range []string{
		`insert into accounts (id, name, tier) select gen_random_uuid()::text, 'many-' || lpad(n::text, 5, '0'), 'free' from generate_series(1,
			3000) n`,
		`insert into job_admissions (account, queued) select id, 1 from accounts where name like 'many-%' limit 900 on conflict do nothing`,
		`insert into halted_streams (projection, stream, position, error) select 'usage_v1', 'job-' || n, n, '<b class="hostile">"><img src=x>'
			from generate_series(1, 20) n`,
		`insert into people (id, issuer, subject, name, role) select 'p' || n, 'i', 's' || n, '<b class="hostile">"><img src=x>' || n, 'member'
			from generate_series(1, 150) n`,
		`insert into sessions (id, person, hash, role, expires_at, last_used_at) select gen_random_uuid(), 'p' || n,
			decode(lpad(to_hex(n), 64, '0'), 'hex'), 'member', now() + interval '1 hour', now() from generate_series(1, 150) n`,
		`insert into pools (name, commands, state) select 'pool-' || n, '{}', jsonb_build_object('terms', '{"max": 9}'::jsonb, 'failures', 2,
			'problem', '<b class="hostile">"><img src=x onerror=alert(1)><script>alert(2)</script>', 'machines', (select
			jsonb_agg(jsonb_build_object('id', 'pool-1-' || m, 'handle', repeat('handle', 9), 'phase', 'joined', 'requested_at', now(),
			'cause', '<b class="hostile">')) from generate_series(1, 9) m), 'ended', (select jsonb_agg(jsonb_build_object('id', 'pool-1-' || m,
			'at', now(), 'seconds', 4000, 'work', 60, 'segments', 3)) from generate_series(1, 30) m)) from generate_series(1, 3) n`,
		`insert into files (asset_id, account, hash, size, content_type, folder, subfolder, filename, named, operators) select gen_random_uuid(),
			'*', decode(lpad(to_hex(n), 64, '0'), 'hex'), 6938040682, 'application/octet-stream', 'input', 'models/checkpoints',
			'<b class="hostile">"><img src=x>' || n || '.safetensors', true, true from generate_series(1, 150) n`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	o.await("a delivery", func() bool {
		return strings.Contains(o.page("/console/deliveries?status=dead")+o.page("/console/deliveries?status=pending")+
			o.page("/console/deliveries?status=delivered"), "delivery-")
	})
	o.await("the doctor's findings", func() bool { return strings.Contains(o.page("/console/doctor"), "halted") })
	b := o.open()
	b.size(390, 900)
	for page, says := range map[string]string{
		"/console/accounts":               "3002 in all",
		"/console/accounts?q=many-02999":  "many-02999",
		"/console/accounts?q=nobody":      "No account has that in its name",
		at:                                markup,
		"/console/queues":                 "more queues",
		"/console/queues?q=onerror":       "because " + markup,
		"/console/views":                  `<img src=x>`,
		"/console/deliveries?status=dead": "Deliveries",
		"/console/doctor":                 "halted",
		"/console/overview?range=1h":      "Overview",
		"/console":                        "RegexReplace",
		"/console?group=cause":            "RegexReplace",
		"/console/gallery":                "Gallery",
		"/console/servers":                "No ComfyUI server is registered",
		"/console/sessions":               "<img src=x>",
		"/console/pools":                  markup,
		"/console/weights":                "more weights",
		"/console/weights?q=nothing":      "No weight has that in its name",
		"/console/calls?account=" + id:    "No model was called yet",
		"/console/usage?account=" + id:    "Files",
	} {
		b.shows(page, state{says: says})
		require.Less(t, o.wire(page), 60_000, page)
	}
	b.visit("/console/accounts")
	seen := map[string]bool{}
	for range 40 {
		for _, name := range eval[[]string](b, `Array.from(document.querySelectorAll("tbody td:first-child")).map(function (c) { return `+
			`c.innerText })`) {
			require.False(t, seen[name], "%s is shown twice", name)
			seen[name] = true
		}
		next := eval[string](b, `(Array.from(document.querySelectorAll("main a")).find(function (a) { return a.innerText === "more accounts" `+
			`}) || {}).href || ""`)
		if next == "" {
			break
		}
		b.visit(strings.TrimPrefix(next, b.base))
	}
	require.Len(t, seen, 3002, "every account is on one of the pages")
	b.clean()
}
