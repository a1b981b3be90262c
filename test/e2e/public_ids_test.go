package e2e_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
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

// operatorsID returns the id under which operators know the job of this account, and sees that they are shown both.
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
	require.Equal(t, http.StatusOK, a.choose(hidden, savedAs("of-a")).status, "an id that nobody has seen")
	a.await(hidden, "completed")
	a.await(given, "completed")

	// Operators name a job by either id. Where both mean one, the error names the streams.
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
	out := start(t).Run(t, "jobs", "show", free)
	require.NotEmpty(t, out)
}

// addFile sends a file to the library under an id that the client chooses.
func (c *chooser) addFile(id, name string, data []byte, fields ...string) reply {
	c.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	fields = append(fields, "id", id, "name", name, "tags", "input", "mime_type", "image/png")
	for i := 0; i < len(fields); i += 2 {
		require.NoError(c.t, form.WriteField(fields[i], fields[i+1]))
	}
	part, err := form.CreateFormFile("file", name)
	require.NoError(c.t, err)
	_, err = part.Write(data)
	require.NoError(c.t, err)
	require.NoError(c.t, form.Close())
	return c.do("POST", "/api/assets", body.String(), "Content-Type", form.FormDataContentType())
}

// signedPath is where a link to content names the file by the id that no two accounts share: it is read by whoever has
// the link.
var signedPath = regexp.MustCompile(`/files/[0-9a-f-]{36}/`)

func TestTwoAccountsChooseTheSameIDForTheirFiles(t *testing.T) {
	t.Parallel()
	a, b := newChooser(t), newChooser(t)
	id := uuid.NewString()
	added := [2]reply{a.addFile(id, "of-a.png", pngOf(t, 3)), b.addFile(id, "of-b.png", pngOf(t, 5))}
	for i, c := range []*chooser{a, b} {
		require.Equal(t, http.StatusCreated, added[i].status, added[i].body)
		require.Equal(t, id, decode(t, added[i].body)["id"])
		status, shown := c.admin("GET", "/assets/"+id, "")
		require.Equal(t, http.StatusConflict, status, "two accounts chose it")
		for _, stream := range regexp.MustCompile(`asset-[0-9a-f-]{36}`).FindAllString(fmt.Sprint(shown), -1) {
			status, shown := c.admin("GET", "/assets/"+stream, "")
			require.Equal(t, http.StatusOK, status, shown)
			found, _ := shown["asset"].(map[string]any)
			require.Equal(t, id, found["public_id"], shown)
			if found["name"] == nil && strings.HasPrefix(fmt.Sprint(found["file_path"]), []string{"of-a", "of-b"}[i]) {
				c.hidden = append(c.hidden, found["id"].(string))
			}
		}
		require.Len(t, c.hidden, 1)
	}
	require.NotEqual(t, a.hidden, b.hidden)
	hidden := append(a.hidden, b.hidden...)
	a.hidden, b.hidden = hidden, hidden
	for i, c := range []*chooser{a, b} {
		own, foreign := []string{"of-a.png", "of-b.png"}[i], []string{"of-b.png", "of-a.png"}[i]
		again := c.addFile(id, own, pngOf(t, 7))
		require.Equal(t, http.StatusOK, again.status, "an id makes a request repeatable")
		require.Equal(t, own, decode(t, again.body)["name"])
		for path, want := range map[string]string{
			"/api/assets/" + id:                         own,
			"/api/assets?include_tags=input":            own,
			"/api/v2/assets/" + id:                      own,
			"/api/v2/assets":                            own,
			"/api/assets/" + id + "/content":            "PNG",
			"/api/v2/assets/" + id + "/content":         "",
			"/api/view?type=input&filename=" + own:      "",
			"/api/view?type=input&filename=asset:" + id: "",
		} {
			got := c.do("GET", path, "")
			require.Less(t, got.status, 400, "%s: %s", path, got.body)
			require.Contains(t, got.body, want, path)
			require.NotContains(t, got.body, foreign, path)
			c.requireNothingHidden(path, signedPath.ReplaceAllString(got.body+fmt.Sprint(got.header), ""))
		}
		file := decode(t, c.do("GET", "/api/v2/assets/"+id, "").body)
		link := c.do("GET", "/api/v2/assets/"+id+"/content", "").header.Get("Location")
		require.Equal(t, c.do("GET", file["url"].(string), "", "X-API-Key", "").body, c.do("GET", link, "", "X-API-Key", "").body)

		pair := uuid.NewString() // a file that is shown by the chosen one
		shown := c.addFile(pair, "pair.png", pngOf(t, 9), "preview_id", id)
		require.Equal(t, http.StatusCreated, shown.status, shown.body)
		require.Equal(t, id, decode(t, shown.body)["preview_id"])
		require.Contains(t, decode(t, shown.body)["preview_url"], hidden[i], "the link leads to the file of this account")

		loaded := c.submit(`{"1":{"class_type":"LoadImage","inputs":{"image":{"__type":"core/ASSET","info":{"id":"` + id + `"}}}},
			"2":{"class_type":"GetImageSize","inputs":{"image":["1",0]}},"5":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}`)
		c.await(loaded, "completed")
		require.Contains(t, c.sees("GET", "/history/"+loaded, ""), fmt.Sprintf(`"text":["%d"]`, []int{3, 5}[i]),
			"a graph loads the file of its account")
		task, archive := c.exported(`{"asset_ids":["` + id + `"],"naming_strategy":"asset_id"}`)
		require.Contains(t, c.sees("GET", "/api/tasks/"+task, ""), id)
		require.Equal(t, []string{id + ".png"}, keysOf(c.unpack(archive)))
		require.Equal(t, http.StatusNotFound, c.do("GET", "/api/assets/"+hidden[i], "").status, "clients know a file by one id")
		require.Equal(t, http.StatusNotFound, c.do("DELETE", "/api/v2/assets/"+hidden[i], "").status)
		require.Equal(t, http.StatusNotFound, c.do("GET", "/api/view?type=input&filename=asset:"+hidden[i], "").status)
	}
	require.Equal(t, "mine", decode(t, a.do("PUT", "/api/assets/"+id, `{"name":"mine"}`).body)["name"])
	require.Equal(t, http.StatusNoContent, a.do("DELETE", "/api/assets/"+id, "").status)
	require.Equal(t, http.StatusNotFound, a.do("GET", "/api/v2/assets/"+id, "").status)
	require.Equal(t, "of-b.png", decode(t, b.do("GET", "/api/assets/"+id, "").body)["name"],
		"the file of another account with the same id stays")
	gone := a.addFile(id, "of-a.png", pngOf(t, 3))
	require.Equal(t, http.StatusConflict, gone.status, "an id that the account used")

	given := decode(t, b.do("POST", "/api/assets/from-hash",
		`{"hash":"`+decode(t, added[1].body)["hash"].(string)+`","name":"given.png","tags":["input","x"]}`).body)
	theirs, _ := given["id"].(string)
	taken, free := a.addFile(theirs, "t.png", pngOf(t, 11)), a.addFile(uuid.NewString(), "t.png", pngOf(t, 13))
	require.Equal(t, free.status, taken.status, "an id that another account was given is free: %s", taken.body)
	require.Equal(t, "given.png", decode(t, b.do("GET", "/api/assets/"+theirs, "").body)["name"])
	require.Equal(t, "t.png", decode(t, a.do("GET", "/api/assets/"+theirs, "").body)["name"])
	require.NotEmpty(t, start(t).Run(t, "assets", "show", pickChosen(t, b)))
}

// pickChosen returns an id that the client chose for one file and nobody else knows.
func pickChosen(t *testing.T, c *chooser) string {
	t.Helper()
	id := uuid.NewString()
	require.Equal(t, http.StatusCreated, c.addFile(id, "last.png", pngOf(t, 17)).status)
	return id
}

// pngOf returns a picture of that width.
func pngOf(t *testing.T, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, width, 2))))
	return b.Bytes()
}
