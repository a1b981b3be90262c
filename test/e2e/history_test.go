package e2e_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed returns the ids that GET /history and GET /api/jobs show; they agree on finished jobs.
func (c *client) listed() []string {
	c.t.Helper()
	var ids []string
	entries := c.json("GET", "/history", "")
	for _, entry := range c.json("GET", "/api/jobs", "")["jobs"].([]any) {
		id, _ := entry.(map[string]any)["id"].(string)
		ids = append(ids, id)
	}
	require.Len(c.t, entries, len(ids))
	for _, id := range ids {
		require.Contains(c.t, entries, id)
	}
	return ids
}

func TestHistoriesAreHiddenAndNothingIsErased(t *testing.T) {
	t.Parallel()
	c, other := newClient(t, "pro"), newClient(t, "pro")
	finish := func(c *client) string {
		id := c.submit(picture)
		c.await(id, "completed")
		return id
	}
	first, second, third, theirs := finish(c), finish(c), finish(c), finish(other)
	require.ElementsMatch(t, []string{first, second, third}, c.listed())

	require.Equal(t, http.StatusOK, c.do("POST", "/history", fmt.Sprintf(`{"delete":[%q,%q,"bogus"]}`, first, theirs)).status)
	require.ElementsMatch(t, []string{second, third}, c.listed())
	require.Equal(t, []string{theirs}, other.listed(), "nobody hides another's")
	require.JSONEq(t, `{}`, c.do("GET", "/history/"+first, "").body)
	require.Equal(t, http.StatusNotFound, c.do("GET", "/api/history_v2/"+first, "").status)
	require.Equal(t, http.StatusNotFound, c.do("GET", "/api/jobs/"+first, "").status)
	require.Equal(t, "completed", c.status(first), "the events stay")
	require.Equal(t, "succeeded", c.json("GET", "/api/v2/jobs/"+first, "")["status"])

	waiting := c.submit(slow)
	require.Equal(t, http.StatusOK, c.do("POST", "/api/history", `{"clear":true}`).status)
	require.Equal(t, []string{}, append([]string{}, c.finishedListed()...))
	c.do("POST", "/api/queue", fmt.Sprintf(`{"delete":[%q]}`, waiting))
	c.await(waiting, "cancelled")
	require.Equal(t, []string{waiting}, c.listed(), "what had not ended is shown when it has")
	fourth := finish(c)
	require.ElementsMatch(t, []string{waiting, fourth}, c.listed())
	require.Equal(t, http.StatusOK, c.do("POST", "/api/history", `{"clear":true}`).status)
	require.Empty(t, c.listed())
	require.Len(t, c.json("GET", "/api/v2/jobs", "")["jobs"], 5)

	s := start(t)
	require.Contains(t, s.Run(t, "views", "rebuild", "history_v1", "--check"), "history_v1")
}

// finishedListed returns the jobs in GET /history.
func (c *client) finishedListed() (ids []string) {
	c.t.Helper()
	for id := range c.json("GET", "/history", "") {
		ids = append(ids, id)
	}
	return ids
}

func TestJobLogsShowTheRun(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.submit(`{"1":{"class_type":"EmptyImage","inputs":{"width":40,"height":30,"batch_size":1,"color":0}},
		"2":{"class_type":"GetImageSize","inputs":{"image":["1",0]}},
		"5":{"class_type":"PreviewAny","inputs":{"source":["2",0]}},
		"9":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"log"}}}`)
	c.await(id, "completed")
	job := c.json("GET", "/api/v2/jobs/"+id, "")
	link, _ := job["urls"].(map[string]any)["logs"].(string)
	require.True(t, strings.HasSuffix(link, "/api/v2/jobs/"+id+"/logs"), link)
	log := c.json("GET", link, "")
	require.Equal(t, true, log["complete"])
	require.Equal(t, false, log["truncated"])
	text, _ := log["text"].(string)
	for _, line := range []string{
		`run 1: admitted`, `run 1: started, 4 nodes`, `node 1 \(EmptyImage\): started`, `node 1 \(EmptyImage\): finished in \d+ ms`,
		`node 2 \(GetImageSize\): width: 40, height: 30`, `node 5 \(PreviewAny\): 40`,
		`node 9 \(SaveImage\): saved log_00001_.png, \d+ bytes`, `run 1: succeeded`,
	} {
		require.Regexp(t, `(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO  `+line, text)
	}
	require.True(t, strings.HasSuffix(strings.TrimSpace(text), "run 1: succeeded"))

	failing := c.submit(`{"1":{"class_type":"RegexReplace","inputs":{"string":"a","regex_pattern":"(","replace":"","case_insensitive":false,` +
		`"multiline":false,"dotall":false,"count":0}},
		"5":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}`)
	c.await(failing, "failed")
	text, _ = c.json("GET", "/api/v2/jobs/"+failing+"/logs", "")["text"].(string)
	require.Regexp(t, regexp.MustCompile(`ERROR node 1 \(RegexReplace\): failed: ValidationError \(re\.error\): .+`), text)
	require.Contains(t, text, "ERROR run 1: failed")
}

func TestQueuedJobHasNoLogAndShowsItsGraph(t *testing.T) {
	t.Parallel()
	c := newClient(t, "standard")
	running := c.submit(slow)
	waiting := c.submit(picture)
	require.Equal(t, http.StatusNoContent, c.do("GET", "/api/v2/jobs/"+waiting+"/logs", "").status)
	queue := c.json("GET", "/queue", "")
	entry, _ := queue["queue_pending"].([]any)[0].([]any)
	require.Equal(t, waiting, entry[1])
	require.Equal(t, decode(t, picture), entry[2], "the graph as it was submitted")
	require.Contains(t, entry[3], "create_time")
	require.ElementsMatch(t, []any{"5", "9"}, entry[4])
	require.JSONEq(t, fmt.Sprintf(`{"deleted":[%q,%q],"cleared":false}`, running, waiting),
		sortedDeleted(t, c.do("POST", "/queue", fmt.Sprintf(`{"delete":[%q,%q]}`, running, waiting)).body, running, waiting))
}

// sortedDeleted puts the deleted ids of an answer into a known order.
func sortedDeleted(t *testing.T, body string, want ...any) string {
	t.Helper()
	require.ElementsMatch(t, want, decode(t, body)["deleted"])
	return fmt.Sprintf(`{"deleted":[%q,%q],"cleared":false}`, want...)
}
