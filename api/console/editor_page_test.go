package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
)

// The sign-in to keep and the job to open are both there after somebody gave a key.
func TestSignInContinuesToTheRequestedJob(t *testing.T) {
	t.Parallel()
	h := apitest.StartEditor(t, apitest.Options{PublicURL: "https://example.org/mr"})
	const id = "5c1482e9-cb7d-449b-9d73-e019565028fb"
	require.Equal(t, "/mr/editor?millrace_job="+id, h.Do(t, "GET", "/mr/?millrace_job="+id, "").Header.Get("Location"))
	require.Contains(t, h.Do(t, "GET", "/mr/editor?millrace_job="+id, "").Body, `name="millrace_job" value="`+id+`"`)
	require.NotContains(t, h.Do(t, "GET", `/mr/editor?millrace_job=%22%3E%3Cscript%3E`, "").Body, `name="millrace_job"`)
	in := func(form string) string {
		return h.Do(t, "POST", "/mr/editor/signin", form, "Content-Type", apitest.FormType, "Origin",
			"https://example.org").Header.Get("Location")
	}
	require.Equal(t, "/mr/?millrace_job="+id, in("key=key-a&millrace_job="+id))
	require.Equal(t, "/mr/", in("key=key-a&millrace_job=//evil.example"))
}
