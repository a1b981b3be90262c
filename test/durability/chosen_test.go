package durability_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/test/served"
)

// Two accounts choose the same job id. Their workers are killed while both jobs run. Other workers finish each
// account's job under that id, with its own output.
func TestJobsOfTheSameChosenIDOutliveTheirWorkers(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	c := serveOn(t, startStack(t, dir), dir)
	c.env = append(c.env, "MILLRACE_AUTH=keys")
	c.startRoles()
	id := uuid.NewString()
	owners := map[string]string{} // by key: the prefix of the files of the account's job
	for _, name := range []string{"one", "other"} {
		c.command("accounts", "create", name, "--tier", "pro")
		key := served.LastLine(c.command("keys", "create", "--account", name))
		owners[key] = "chosen-" + name
		status, body := c.asAccount(key, "POST", "/api/prompt",
			strings.Replace(long("chosen-"+name), "{", fmt.Sprintf(`{"prompt_id":%q,`, id), 1))
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, id)
	}
	word := func(key string) string {
		status, body := c.asAccount(key, "GET", "/api/job/"+id+"/status", "")
		require.NotEqual(t, http.StatusNotFound, status, body)
		var answer struct{ Status string }
		if status == http.StatusOK {
			require.NoError(t, json.Unmarshal([]byte(body), &answer))
		}
		return answer.Status
	}
	for key := range owners {
		c.until("the job runs", func() bool { return word(key) == "in_progress" || word(key) == "completed" })
	}
	for _, w := range c.workers {
		w.kill()
	}
	for _, w := range c.workers {
		w.start()
	}
	for key, prefix := range owners {
		c.until("the job is completed", func() bool {
			require.NotContains(t, []string{"failed", "cancelled"}, word(key))
			return word(key) == "completed"
		})
		status, body := c.asAccount(key, "GET", "/api/v2/jobs/"+id, "")
		require.Equal(t, http.StatusOK, status, body)
		var job struct {
			ID      string
			Outputs []struct{ Name string }
		}
		require.NoError(t, json.Unmarshal([]byte(body), &job))
		require.Equal(t, id, job.ID)
		require.Len(t, job.Outputs, 1)
		require.Equal(t, prefix+"_00001_.png", job.Outputs[0].Name)
	}
	c.command("views", "rebuild", "--check") // fails if a view differs from the fold of the log
	c.checkLanes()
}

// asAccount sends a request with the key of an account.
func (s *service) asAccount(key, method, path, body string) (int, string) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, string(raw)
}
