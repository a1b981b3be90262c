package cloud_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
)

// validating submits to memory what real parsing and validation accept.
type validating struct {
	*apitest.MemoryJobs
	validator *graph.Validator
	files     *apitest.Inputs
}

func (v validating) Submit(ctx context.Context, sub job.Submission) (job.Submitted, error) {
	g, err := graph.Parse(sub.Prompt, graph.Limits{})
	if err != nil {
		return job.Submitted{}, err
	}
	if _, refused := v.validator.Validate(ctx, g, apitest.NoFiles{Files: v.files.ForAccount(sub.Account)}, sub.Targets); refused != nil {
		return job.Submitted{}, refused
	}
	return job.Submitted{Job: job.Job{ID: job.NewID(), State: job.Queued, SubmittedAt: apitest.Then}}, nil // and forgotten
}

// FuzzSubmission sends any body to both surfaces: each is accepted, or refused in the
// contract's envelope, and never a failure of ours.
func FuzzSubmission(f *testing.F) {
	for _, seed := range []string{
		`{"prompt":{"1":{"class_type":"EmptyImage","inputs":{"width":8,"height":8,"batch_size":1,"color":0}},"2":{"class_type":"SaveImage",` +
			`"inputs":{"images":["1",0],"filename_prefix":"x"}}}}`,
		`{"prompt":{"1":{"class_type":"LoadImage","inputs":{"image":"../x"}}},"number":"1e999","prompt_id":7,"extra_data":[]}`,
		`{"workflow":{"1":{"class_type":"ComfySwitchNode","inputs":{"switch":true,"on_false":["2",0],"on_true":["1",0]}}},` +
			`"metadata":{"a":null},"priority":1.5}`,
		`{"prompt":{"nodes":[],"links":[]},"workflow":{"nodes":[],"links":[]}}`, `{"prompt":null}`, `[]`, `{`, "\x00",
		`{"prompt":{"":{"class_type":"","inputs":null}}}`,
	} {
		f.Add(seed)
	}
	classes, err := standard.Registry(nil)
	require.NoError(f, err)
	handler := http.Handler(nil)
	apitest.StartWith(f, apitest.Options{}, func(d *apitest.Deps) {
		memory, _ := d.Jobs.(*apitest.MemoryJobs)
		d.Jobs = validating{memory, &graph.Validator{Classes: classes}, &apitest.Inputs{Names: map[string][]string{}}}
		deps := *d
		handler, err = apitest.New(deps, apitest.Options{})
		require.NoError(f, err)
	})
	f.Fuzz(func(t *testing.T, body string) {
		for path, parts := range map[string][]string{"/api/prompt": {"error", "node_errors"}, "/api/v2/jobs": {"error"}} {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
			r.Host = "localhost"
			handler.ServeHTTP(w, r)
			require.Less(t, w.Code, 500, "%s: %s", path, w.Body)
			var answer map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
			if w.Code >= 400 {
				for _, part := range parts {
					require.Contains(t, answer, part)
				}
			}
		}
	})
}
