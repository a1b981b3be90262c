package catalog_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// load returns the embedded catalog with the given files added, and with a simulator.
func load(t *testing.T, files map[string]string) (*catalog.Catalog, error) {
	t.Helper()
	return catalog.Load(catalog.Options{Dirs: []string{write(t, t.TempDir(), files)}, Simulator: "http://127.0.0.1:9"})
}

func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

const header = `provider: acme
base: https://api.acme.test
auth: {kind: header, header: x-key, env: [ACME_KEY]}
models:
`

func TestABrokenEntryIsReportedWithFileLineAndField(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ content, want string }{
		"unknown field": {
			header + "  - model: a\n    protocoll: sync\n",
			"a.yaml:6: models[0].protocoll: has no field protocoll (is it protocol?)",
		},
		"a word that is not allowed": {
			header + "  - model: a\n    protocol: rest\n",
			`a.yaml:6: models[0].protocol: "rest" is not allowed; it takes one of sync, submit-poll, bytes`,
		},
		"segment": {header + "  - model: Big_Model\n", `a.yaml:5: models[0].model: "Big_Model" does not match`},
		"expression": {
			header + "  - model: a\n    submit: {url: /a}\n    message: body.(\n",
			`a.yaml:7: models[0].message: the expression "body.(" does not compile`,
		},
		"unknown name": {header + "  - model: a\n    submit: {url: /a}\n    message: answer.text\n", "unknown name answer"},
		"duration": {
			header + "  - model: a\n    limits: {total: 0s}\n",
			"a.yaml:6: models[0].limits.total: takes a positive duration",
		},
		"missing part": {header + "  - model: a\n    protocol: submit-poll\n    submit: {url: /a}\n    price: {exact: \"1\", " +
			"as_of: 2026-01-01}\n", "a.yaml:5: models[0]: protocol submit-poll needs handle, poll.url and done"},
		"hosting too long": {header + "  - model: a\n    submit: {url: /a}\n    price: {exact: \"1\", as_of: 2026-01-01}\n    " +
			"hosting: {assets: [/url], lifetime: 25h}\n", "hosting.lifetime is at most 24h"},
		"bad schema": {header + "  - model: a\n    submit: {url: /a}\n    price: {exact: \"1\", as_of: 2026-01-01}\n    " +
			"input: {type: objekt}\n", "a.yaml:8: models[0].input: the schema does not compile"},
		"bad example": {
			header + "  - model: a\n    submit: {url: /a}\n    price: {exact: \"1\", as_of: 2026-01-01}\n    " +
				"input: {type: object, required: [prompt], properties: {prompt: {type: string}}}\n    example: {prompt: 3}\n",
			"models[0].example.prompt: the example does not match the entry's own input schema at prompt: Input should be a valid string",
		},
		"not YAML": {"provider: [", "a.yaml: yaml: line 1"},
		"empty":    {"", "a.yaml: the file is empty"},
		"reserved word": {
			header + "  - model: requests\n    submit: {url: /a}\n    price: {exact: \"1\", as_of: 2026-01-01}\n",
			`"requests" is a route of the API`,
		},
		"endless anchor": {"schemas: &a {x: *a}\n" + header + "  - model: a\n", "contains itself"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, map[string]string{"a.yaml": tc.content})
			require.ErrorContains(t, err, tc.want)
		})
	}
}

const acme = header + `  - model: thing-1
    submit: {url: /run}
    price: {exact: "0.01 * (input.n ?? 1)", as_of: 2026-01-01}
    charges_on_policy_rejection: no
    input:
      type: object
      required: [prompt]
      properties:
        prompt: {type: string, minLength: 1, maxLength: 10}
        n: {type: integer, minimum: 1, maximum: 4}
        size: {enum: [small, large]}
        strength: {type: [number, "null"], exclusiveMinimum: 0, maximum: 1}
        images: {type: array, maxItems: 2, items: {type: object, required: [url], properties: {url: {type: string}}}}
    rules:
      - {refuse: input.size == "small" && input.n > 2, loc: [n], msg: "Value error, small ones come in pairs at most"}
`

func acmeModel(t *testing.T) *catalog.Model {
	t.Helper()
	c, err := load(t, map[string]string{"a.yaml": acme})
	require.NoError(t, err)
	m, ok := c.Snapshot().Find("acme/thing-1")
	require.True(t, ok)
	return m
}

func TestValidateSpeaksTheValidationShape(t *testing.T) {
	t.Parallel()
	m := acmeModel(t)
	cases := map[string]struct{ body, want string }{
		"accepted": {`{"prompt":"x","n":2,"strength":null}`, `null`},
		"missing":  {`{"n":1}`, `[{"loc":["body","prompt"],"msg":"Field required","type":"missing","input":{"n":1}}]`},
		"type":     {`{"prompt":7}`, `[{"loc":["body","prompt"],"msg":"Input should be a valid string","type":"string_type","input":7}]`},
		"bound": {`{"prompt":"x","n":0}`, `[{"loc":["body","n"],"msg":"Input should be greater than or equal to 1","type":"greater_than_equal",` +
			`"ctx":{"ge":1},"input":0}]`},
		"exclusive": {`{"prompt":"x","strength":0.0}`, `[{"loc":["body","strength"],"msg":"Input should be greater than 0",` +
			`"type":"greater_than","ctx":{"gt":0},"input":0.0}]`},
		"too long": {`{"prompt":"01234567890"}`, `[{"loc":["body","prompt"],"msg":"String should have at most 10 characters",` +
			`"type":"string_too_long","ctx":{"max_length":10},"input":"01234567890"}]`},
		"enum": {`{"prompt":"x","size":"huge"}`, `[{"loc":["body","size"],"msg":"Input should be 'small' or 'large'","type":"enum",` +
			`"ctx":{"expected":"'small' or 'large'"},"input":"huge"}]`},
		"in an array": {
			`{"prompt":"x","images":[{"url":"a"},{}]}`,
			`[{"loc":["body","images",1,"url"],"msg":"Field required","type":"missing","input":{}}]`,
		},
		"rule": {
			`{"prompt":"x","size":"small","n":3}`,
			`[{"loc":["body","n"],"msg":"Value error, small ones come in pairs at most","type":"value_error","input":3}]`,
		},
		"two fields": {`{"prompt":"","n":9}`, `[{"loc":["body","n"],"msg":"Input should be less than or equal to 4","type":"less_than_equal",` +
			`"ctx":{"le":4},"input":9},{"loc":["body","prompt"],"msg":"String should have at least 1 character","type":"string_too_short",` +
			`"ctx":{"min_length":1},"input":""}]`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(m.Validate([]byte(tc.body)))
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(got))
		})
	}
}

func TestUnknownFieldsNamesOnlyUndeclaredTopLevelMembers(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(acmeModel(t).UnknownFields([]byte(`{"prompt":"x","seed":{"a":1},"images":[{"extra":1}]}`)))
	require.NoError(t, err)
	require.JSONEq(t, `[{"loc":["body","seed"],"msg":"Extra inputs are not permitted","type":"extra_forbidden","input":{"a":1}}]`, string(got))
}

func TestPriceIsInMillionthsAndRoundedUp(t *testing.T) {
	t.Parallel()
	m := acmeModel(t)
	require.Equal(t, catalog.Estimate{Source: catalog.PriceExact, Min: 30_000, Max: 30_000, AsOf: "2026-01-01"}, m.Price([]byte(`{"n":3}`)))
	require.EqualValues(t, 10_000, m.Settled(catalog.Answer{Body: []byte(`{}`)}))
	require.Equal(t, catalog.PriceUnknown, m.Price([]byte(`{"n":"x"}`)).Source)
}

func TestReloadSwapsTheSnapshotAndKeepsItOnErrors(t *testing.T) {
	t.Parallel()
	dir := write(t, t.TempDir(), map[string]string{"a.yaml": acme})
	c, err := catalog.Load(catalog.Options{Dirs: []string{dir}})
	require.NoError(t, err)
	before := c.Snapshot()
	changed, err := c.Reload()
	require.NoError(t, err)
	require.False(t, changed)

	write(t, dir, map[string]string{"a.yaml": acme + "    typo: 1\n"})
	_, err = c.Reload()
	require.ErrorContains(t, err, "typo")
	require.Same(t, before, c.Snapshot())

	write(t, dir, map[string]string{"a.yaml": acme + "  - model: thing-2\n    submit: {url: /b}\n    price: {exact: \"1\", as_of: " +
		"2026-01-01}\n"})
	changed, err = c.Reload()
	require.NoError(t, err)
	require.True(t, changed)
	_, ok := c.Snapshot().Find("acme/thing-2")
	require.True(t, ok)
	require.NotEqual(t, before.Hash(), c.Snapshot().Hash())
	_, ok = before.Find("acme/thing-2")
	require.False(t, ok, "a snapshot that was handed out does not change")
}

func TestAModelWithoutItsKeyIsNotEnabled(t *testing.T) {
	t.Parallel()
	m := acmeModel(t)
	require.False(t, m.Enabled(func(string) (string, bool) { return "", false }))
	require.False(t, m.Enabled(func(string) (string, bool) { return "", true }))
	require.True(t, m.Enabled(func(name string) (string, bool) { return "secret", name == "ACME_KEY" }))
	require.Equal(t, []string{"ACME_KEY"}, m.Missing(func(string) (string, bool) { return "", false }))
}

func writeFile(tb testing.TB, dir, content string) {
	tb.Helper()
	require.NoError(tb, os.WriteFile(filepath.Join(dir, "many.yaml"), []byte(content), 0o600))
}

func TestWatchReloadsChangesAndReportsEachMistakeOnce(t *testing.T) {
	t.Parallel()
	dir := write(t, t.TempDir(), map[string]string{"a.yaml": acme})
	c, err := catalog.Load(catalog.Options{Dirs: []string{dir}})
	require.NoError(t, err)
	reports := make(chan error, 100)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Watch(ctx, time.Millisecond, func(_ *catalog.Snapshot, err error) { reports <- err })
	}()
	write(t, dir, map[string]string{"a.yaml": strings.Replace(acme, "thing-1", "thing-2", 1)})
	for {
		if _, found := c.Snapshot().Find("acme/thing-2"); found {
			break
		}
		if err := <-reports; err != nil { // half a file
			require.ErrorContains(t, err, "a.yaml")
		}
	}
	stop()
	<-done
}

func FuzzEntryFile(f *testing.F) {
	f.Add(acme)
	f.Add(header + "  - &a {model: x, <<: *a}\n")
	f.Add("a: &a [*a]\n")
	f.Fuzz(func(t *testing.T, content string) {
		if len(content) > 1<<14 {
			return
		}
		if err := catalog.ParseFile([]byte(content)); err != nil {
			require.Contains(t, err.Error(), "fuzz.yaml")
		}
	})
}

func TestFindReturnsTheModelThatACallWasAcceptedWith(t *testing.T) {
	t.Parallel()
	const entry = header + "  - {model: a, title: %s, submit: {url: /a}, price: {exact: \"1\", as_of: 2026-01-01}}\n"
	dir := write(t, t.TempDir(), map[string]string{"a.yaml": strings.Replace(entry, "%s", "One", 1)})
	c, err := catalog.Load(catalog.Options{Dirs: []string{dir}})
	require.NoError(t, err)
	first := c.Snapshot()
	m, ok := first.Find("acme/a")
	require.True(t, ok)
	require.Equal(t, first.Hash(), m.State)
	replace := func(content string) *catalog.Snapshot {
		write(t, dir, map[string]string{"a.yaml": content})
		changed, err := c.Reload()
		require.NoError(t, err)
		require.True(t, changed)
		return c.Snapshot()
	}
	second := replace(strings.Replace(entry, "%s", "Two", 1))
	replace(header + "  - {model: b, submit: {url: /b}, price: {exact: \"1\", as_of: 2026-01-01}}\n")
	require.Same(t, first, c.At(first.Hash()))
	require.Same(t, c.Snapshot(), c.At("a snapshot of another process"))
	for state, want := range map[string]string{first.Hash(): "One", second.Hash(): "Two", "": "Two", "of another process": "Two"} {
		m, ok := c.Find("acme/a", state)
		require.True(t, ok)
		require.Equal(t, want, m.Title, "the former snapshot, or the latest one")
	}
	_, ok = c.Find("acme/none", first.Hash())
	require.False(t, ok)
	for i := range 20 {
		replace(header + "  - {model: b, title: T" + strings.Repeat("x", i) + ", submit: {url: /b}, price: {exact: \"1\", as_of: 2026-01-01}}\n")
	}
	require.Same(t, c.Snapshot(), c.At(first.Hash()), "the number of former snapshots is bounded")
}
