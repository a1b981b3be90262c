package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// chooser is a client that chooses the ids of its jobs. No answer to it may hold an id that it does not know.
type chooser struct {
	*client
	hidden []string // the ids of its things that only operators know
}

func newChooser(t *testing.T) *chooser { return &chooser{client: newClient(t, "pro")} }

// choose submits a graph under an id that the client chooses.
func (c *chooser) choose(id, graph string) reply {
	c.t.Helper()
	return c.do("POST", "/api/prompt", fmt.Sprintf(`{"prompt":%s,"prompt_id":%q,"client_id":"me"}`, graph, id))
}

// operatorsID returns the id under which operators know the job of this account, and sees that they are told both.
func (c *chooser) operatorsID(public string) string {
	c.t.Helper()
	status, body := c.admin("GET", "/jobs?account="+url.QueryEscape(c.account), "")
	require.Equal(c.t, http.StatusOK, status)
	for _, j := range body["jobs"].([]any) {
		if found, _ := j.(map[string]any); found["public_id"] == public {
			id, _ := found["id"].(string)
			require.NotEqual(c.t, public, id)
			c.hidden = append(c.hidden, id)
			return id
		}
	}
	c.t.Fatalf("operators are shown no job with the public id %s", public)
	return ""
}

// sees sends a request that must succeed, and returns an answer without ids that the client does not know.
func (c *chooser) sees(method, path, body string) string {
	c.t.Helper()
	got := c.do(method, path, body)
	require.Less(c.t, got.status, 400, "%s %s: %s", method, path, got.body)
	c.requireNothingHidden(method+" "+path, got.body+fmt.Sprint(got.header))
	return got.body
}

func (c *chooser) requireNothingHidden(where, text string) {
	c.t.Helper()
	for _, id := range c.hidden {
		require.NotContains(c.t, text, id, "%s shows an id that clients do not know", where)
	}
}

// savedAs is the graph that saves a picture under a prefix.
func savedAs(prefix string) string { return strings.ReplaceAll(picture, `"e2e"`, `"`+prefix+`"`) }

// answersOf are requests about a job, by what of its own each answer must hold besides the id.
func answersOf(id, file string) map[string]string {
	return map[string]string{
		"/api/job/" + id + "/status":       `"completed"`,
		"/api/jobs/" + id:                  file,
		"/api/jobs":                        file,
		"/history/" + id:                   file,
		"/history":                         file,
		"/api/history_v2/" + id:            file,
		"/api/history_v2":                  file,
		"/api/v2/jobs/" + id:               file,
		"/api/v2/jobs":                     file,
		"/api/v2/jobs/" + id + "/events":   file,
		"/api/assets?include_tags=output":  file,
		"/api/v2/assets?name=" + file:      file,
		"/api/v2/jobs/" + id + "/workflow": "SaveImage",
		"/api/v2/jobs/" + id + "/logs":     "succeeded",
	}
}

func TestTwoAccountsChooseTheSameIDForTheirJobs(t *testing.T) {
	t.Parallel()
	a, b := newChooser(t), newChooser(t)
	id := uuid.NewString()
	sockets := []*socket{a.dial("&clientId=me"), b.dial("&clientId=me")}
	accepted := [2]reply{a.choose(id, savedAs("of-a")), b.choose(id, savedAs("of-b"))}
	require.Equal(t, http.StatusOK, accepted[0].status, accepted[0].body)
	require.Equal(t, accepted[0].status, accepted[1].status, accepted[1].body)
	require.Equal(t, accepted[0].body, accepted[1].body, "the answers to an id that is free and to one that another account has are the same")
	internal := [2]string{a.operatorsID(id), b.operatorsID(id)}
	require.NotEqual(t, internal[0], internal[1])
	a.hidden, b.hidden = internal[:], internal[:]
	for i, c := range []*chooser{a, b} {
		frames := sockets[i].until(over(id))
		require.Contains(t, ofJob(frames, id), "execution_success")
		for _, f := range frames {
			c.requireNothingHidden("socket", fmt.Sprint(f))
		}
		c.await(id, "completed")
		file := []string{"of-a_00001_.png", "of-b_00001_.png"}[i]
		for path, want := range answersOf(id, file) {
			got := c.sees("GET", path, "")
			require.Contains(t, got, want, path)
			require.NotContains(t, got, []string{"of-b", "of-a"}[i], "%s shows what another account made", path)
		}
		output, _ := c.json("GET", "/api/v2/jobs/"+id, "")["outputs"].([]any)[0].(map[string]any)
		require.Equal(t, id, output["job_id"])
		asset := decode(t, c.sees("GET", fmt.Sprint("/api/assets/", output["id"]), ""))
		require.Equal(t, []any{id, id}, []any{asset["job_id"], asset["prompt_id"]})
		require.Equal(t, id, decode(t, c.sees("GET", fmt.Sprint("/api/v2/assets/", output["id"]), ""))["job_id"])
		task, archive := c.exported(`{"job_ids":["` + id + `"],"naming_strategy":"group_by_job_id"}`)
		require.Contains(t, c.sees("GET", "/api/tasks/"+task, ""), id)
		require.Equal(t, []string{id + "/" + file}, keysOf(c.unpack(archive)))
		page := c.signedIn()
		for _, at := range []string{"/console", "/console/jobs/" + id} {
			shown := page.get(at)
			require.Equal(t, http.StatusOK, shown.status)
			require.Contains(t, shown.body, id)
			c.requireNothingHidden(at, shown.body)
		}
		again := page.post("/console/jobs/"+id+"/retry", url.Values{"reason": {"once more"}})
		require.Equal(t, http.StatusSeeOther, again.status, again.body)
		made := page.get(again.header.Get("Location"))
		require.Contains(t, made.body, "/console/jobs/"+id, "a retry names the job it was made from")
		c.requireNothingHidden("the page of a retry", made.body)
	}
	a.sees("POST", "/api/history", `{"delete":["`+id+`"]}`)
	require.JSONEq(t, `{}`, a.do("GET", "/history/"+id, "").body)
	require.Contains(t, b.do("GET", "/history/"+id, "").body, "of-b", "another account's history is as it was")
}

func keysOf(m map[string]string) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

func TestCommandsReachTheJobOfTheirAccount(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(c *chooser, id string) string{
		"queue": func(c *chooser, id string) string {
			return c.sees("POST", "/api/queue", `{"delete":["`+id+`"]}`)
		},
		"interrupt": func(c *chooser, id string) string { return c.sees("POST", "/api/interrupt", `{"prompt_id":"`+id+`"}`) },
		"job":       func(c *chooser, id string) string { return c.sees("POST", "/api/jobs/"+id+"/cancel", "") },
		"jobs": func(c *chooser, id string) string {
			return c.sees("POST", "/api/jobs/cancel", `{"job_ids":["`+id+`"]}`)
		},
		"v2":          func(c *chooser, id string) string { return c.sees("POST", "/api/v2/jobs/"+id+"/cancel", "") },
		"self-hosted": func(c *chooser, id string) string { return c.sees("POST", "/queue", `{"delete":["`+id+`"]}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := newChooser(t), newChooser(t)
			id := uuid.NewString()
			for _, c := range []*chooser{a, b} {
				require.Equal(t, http.StatusOK, c.choose(id, slow).status)
				c.await(id, "in_progress")
				c.operatorsID(id)
				require.Contains(t, c.sees("GET", "/api/queue", ""), id)
			}
			require.Equal(t, http.StatusNotFound, a.do("GET", "/api/job/"+a.hidden[0]+"/status", "").status, "clients know a job by one id")
			require.Equal(t, http.StatusNotFound, a.do("GET", "/api/v2/jobs/"+a.hidden[0]+"/events", "").status)
			for _, body := range []string{`{"delete":["` + a.hidden[0] + `"]}`, `{"delete":["` + b.hidden[0] + `"]}`} {
				require.JSONEq(t, `{"deleted":[],"cleared":false}`, a.do("POST", "/api/queue", body).body)
			}
			a.do("POST", "/api/interrupt", `{"prompt_id":"`+a.hidden[0]+`"}`)
			require.Equal(t, "in_progress", a.status(id))

			if got := stop(a, id); strings.Contains(got, "deleted") {
				require.JSONEq(t, `{"deleted":["`+id+`"],"cleared":false}`, got)
			}
			a.await(id, "cancelled")
			require.Equal(t, "in_progress", b.status(id), "the job of another account with the same id goes on")
			b.sees("POST", "/api/interrupt", "")
			b.await(id, "cancelled")
		})
	}
}

// TestAnIDThatAnotherAccountWasGivenMayBeChosen also covers what is chosen twice, and the account's own id.
func TestAnIDThatAnotherAccountWasGivenMayBeChosen(t *testing.T) {
	t.Parallel()
	a, b := newChooser(t), newChooser(t)
	given := b.submit(savedAs("of-b"))
	b.await(given, "completed")
	require.Equal(t, http.StatusNotFound, a.do("GET", "/api/job/"+given+"/status", "").status)
	free, taken := uuid.NewString(), given
	answers := map[string]string{}
	for _, id := range []string{free, taken} {
		got := a.choose(id, savedAs("of-a"))
		require.Equal(t, http.StatusOK, got.status, got.body)
		answers[id] = strings.NewReplacer(id, "ID").Replace(got.body)
		a.await(id, "completed")
		again := a.choose(id, savedAs("of-a"))
		require.Equal(t, http.StatusBadRequest, again.status)
		require.Contains(t, again.body, `"type":"duplicate_job"`)
	}
	require.Equal(t, strings.Replace(answers[free], `"number":0`, `"number":1`, 1), answers[taken])
	require.Contains(t, a.json("GET", "/api/v2/jobs/"+given, "")["outputs"].([]any)[0].(map[string]any)["name"], "of-a")
	require.Contains(t, b.json("GET", "/api/v2/jobs/"+given, "")["outputs"].([]any)[0].(map[string]any)["name"], "of-b")

	again := b.choose(given, savedAs("of-b"))
	require.Equal(t, http.StatusBadRequest, again.status, "an id that this account was given")
	require.Contains(t, again.body, `"type":"duplicate_job"`)
	hidden := a.operatorsID(given)
	require.Equal(t, http.StatusOK, a.choose(hidden, savedAs("of-a")).status, "an id that nobody was told")
	a.await(hidden, "completed")
	a.await(given, "completed")

	// Operators name a job by either id. Where both mean one, they are told the streams.
	status, shown := a.admin("GET", "/jobs/"+free, "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, free, shown["job"].(map[string]any)["public_id"])
	status, shown = a.admin("GET", "/jobs/"+given, "")
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, fmt.Sprint(shown), "job-"+given)
	require.Contains(t, fmt.Sprint(shown), "job-"+hidden)
	status, shown = a.admin("GET", "/jobs/job-"+given, "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, given, shown["job"].(map[string]any)["id"])
	status, shown = a.admin("POST", "/jobs/"+free+"/retry", `{"actor":"kim","reason":"again"}`)
	require.Equal(t, http.StatusCreated, status, shown)
	require.Equal(t, free, shown["public_id"])
	out := start(t).run(t, "jobs", "show", free)
	require.NotEmpty(t, out)
}
