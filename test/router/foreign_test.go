package router_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A synchronous model may answer with a document other than its entry expects. The caller gets it unchanged, and
// again under its key. An error page of a proxy is not an answer of a model.
func TestAnswerOfAnotherTypePassesByteForByte(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for how, contentType := range map[string]string{"wave": "audio/wav", "note": "text/plain; charset=utf-8"} {
		for _, model := range []string{"probe/json", "probe/typed"} {
			body := `{"how":"` + how + "-" + model + `"}`
			first := c.do("POST", "/v2/models/"+model, body, "Idempotency-Key", how+model)
			again := c.do("POST", "/v2/models/"+model, body, "Idempotency-Key", how+model)
			for _, r := range []reply{first, again} {
				require.Equal(t, []any{200, foreignAnswer, contentType}, []any{r.status, r.body, r.header.Get("Content-Type")}, how)
				require.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"))
			}
			require.Equal(t, []string{"", "true"}, []string{first.header.Get("Idempotent-Replayed"), again.header.Get("Idempotent-Replayed")})
			require.Equal(t, 1, c.probe.count(how+"-"+model))
		}
	}
	c.do("POST", "/v2/models/probe/json", `{"how":"page"}`).failed(t, 502, "provider_error")
}
