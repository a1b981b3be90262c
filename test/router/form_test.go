package router_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// If a provider accepts forms, its model accepts a form from the caller and passes it on unchanged: with its
// boundary, its order, its spacing and the content of its files.
func TestAFormPassesByteForByte(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	const path, kind = "/v2/models/probe/form", `multipart/form-data; charset=utf-8; boundary="-- odd (1)"`
	part := func(head, content string) string {
		return "---- odd (1)\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + content + "\r\n"
	}
	end := "---- odd (1)--\r\n"
	file := part(`name="image"; filename="a.png"`+"\r\nContent-Type: image/png", "\x89PNG\r\n\x00\xff"+strings.Repeat("x", 20<<10))
	form := "preamble\r\n" + part(`name="n"`, "3") + part(`name="prompt"`, "caf\u00e9\r\n--") + file + end + "epilogue"
	first := c.do("POST", path, form, "Content-Type", kind, "Idempotency-Key", "form")
	require.Equal(t, 200, first.status, first.body)
	require.Equal(t, kind+"\n"+form, first.body)
	require.Equal(t, "6.33", first.header.Get("X-Comfy-Credits-Used"), "priced by its fields: three cents")
	again := c.do("POST", path, form, "Content-Type", kind, "Idempotency-Key", "form")
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	require.Equal(t, first.body, again.body)
	require.Equal(t, 409, c.do("POST", path, form+"\r\n", "Content-Type", kind, "Idempotency-Key", "form").status)
	estimate := c.do("POST", path+"/estimate", form, "Content-Type", kind)
	require.Equal(t, "0.03", fmt.Sprint(decode(t, estimate.body)["amount"]), estimate.body)

	for name, tc := range map[string]struct {
		body   string
		status int
	}{
		"a field that is missing":   {part(`name="n"`, "1") + end, 422},
		"a number that is too high": {part(`name="prompt"`, "x") + part(`name="n"`, "5") + end, 422},
		"a number that is none":     {part(`name="prompt"`, "x") + part(`name="n"`, "many") + end, 422},
		"a field twice":             {part(`name="prompt"`, "x") + part(`name="prompt"`, "y") + end, 422},
		"no end":                    {part(`name="prompt"`, "x"), 400},
		"a part without a name":     {part(`filename="a"`, "x") + end, 400},
		"too many parts":            {strings.Repeat(part(`name="n"`, "1"), 300) + end, 400},
		"no form":                   {`{"prompt":"x"}`, 400},
		"nothing":                   {"", 400},
	} {
		r := c.do("POST", path, tc.body, "Content-Type", kind)
		require.Equal(t, tc.status, r.status, "%s: %s", name, r.body)
		require.Equal(t, "invalid_input", r.header.Get("X-Service-Error-Type"), name)
	}
	c.do("POST", path, form, "Content-Type", "multipart/form-data").failed(t, 400, "invalid_input")
	c.do("POST", "/v2/models/probe/json", form, "Content-Type", kind).failed(t, 400, "invalid_input")
	require.Equal(t, 200, c.do("POST", path, `{"prompt":"x","n":1}`).status, "an object still becomes a form")
	large := part(`name="prompt"`, strings.Repeat("x", maxBody)) + end
	c.do("POST", path, large, "Content-Type", kind).failed(t, 413, "invalid_input")

	document := c.do("GET", path+"/openapi.json", "").body
	require.Contains(t, document, `"multipart/form-data"`)
	require.NotContains(t, c.do("GET", "/v2/models/sim/echo/openapi.json", "").body, "multipart")
}
