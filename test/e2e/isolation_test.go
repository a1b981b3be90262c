package e2e_test

import (
	"bytes"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi/openapitest"
)

const absentID = "00000000-0000-4000-8000-000000000000"

// belongings are what the account of a test has, by what stands for it in a request; absent is what
// nobody has.
type belongings struct{ theirs, absent map[string]string }

// belongingsOf makes things of an account that requests can name, for every operation of the document.
func belongingsOf(t *testing.T, c *client) belongings {
	t.Helper()
	id := c.submit(strings.ReplaceAll(picture, `"e2e"`, `"private"`))
	c.await(id, "completed")
	output, _ := c.json("GET", "/api/v2/jobs/"+id, "")["outputs"].([]any)[0].(map[string]any)
	asset, _ := output["id"].(string)
	hash, _ := output["hash"].(string)
	require.Equal(t, http.StatusOK, c.upload("clipspace-mask-private.png", tinyPNG(t)).status)
	require.Equal(t, http.StatusOK, c.do("POST", "/userdata/drawer%2Fx.json", "{}").status)
	require.NotEmpty(t, hash)
	hook, _ := c.json("POST", "/api/v2/webhooks", `{"url":"https://hooks.invalid/private"}`)["id"].(string)
	delivery, _ := c.json("POST", "/api/v2/webhooks/"+hook+"/test", "")["id"].(string)
	require.NotEmpty(t, delivery)
	task, archive := c.exported(`{"asset_ids":["` + asset + `"]}`)
	return belongings{
		theirs: map[string]string{
			"JOB": id, "THEASSET": asset, "HASH": hash, "OUTPUT": "private_00001_.png", "INPUT": "clipspace-mask-private.png",
			"FILE": "drawer/x.json", "DIRECTORY": "drawer",
			"THEHOOK": hook, "THEDELIVERY": delivery, "THETASK": task, "THEARCHIVE": archive,
		},
		absent: map[string]string{
			"JOB": absentID, "THEASSET": absentID, "HASH": "blake3:" + strings.Repeat("1", 64), "OUTPUT": "absent_00001_.png",
			"INPUT": "clipspace-mask-absent.png", "FILE": "closet/x.json", "DIRECTORY": "closet",
			"THEHOOK": absentID, "THEDELIVERY": absentID, "THETASK": absentID, "THEARCHIVE": "export-20260304-120000-" + absentID + ".zip",
		},
	}
}

// requests say how an operation names a thing beside its path. Those that are not listed name nothing
// but what stands in their path.
var requests = map[string]struct{ query, body string }{ // a table of the test
	"GET /view":                     {query: "?filename=OUTPUT&type=output"},
	"HEAD /view":                    {query: "?filename=OUTPUT&type=output"},
	"GET /files/mask-layers":        {query: "?filename=INPUT"},
	"GET /userdata":                 {query: "?dir=DIRECTORY&recurse=true"},
	"GET /v2/userdata":              {query: "?path=DIRECTORY"},
	"POST /queue":                   {body: `{"delete":["JOB"]}`},
	"POST /history":                 {body: `{"delete":["JOB"]}`},
	"POST /interrupt":               {body: `{"prompt_id":"JOB"}`},
	"POST /jobs/cancel":             {body: `{"job_ids":["JOB"]}`},
	"POST /api/v2/assets/from-hash": {body: `{"hash":"HASH","file_path":"x.png"}`},
	"POST /prompt": {body: `{"prompt":{"1":{"class_type":"LoadImage","inputs":{"image":"INPUT"}},` +
		`"9":{"class_type":"PreviewImage","inputs":{"images":["1",0]}}}}`},
	"POST /api/v2/jobs": {body: `{"workflow":{"1":{"class_type":"LoadImage","inputs":{"image":{"__type":"core/ASSET",` +
		`"info":{"id":"THEASSET"}}}},"9":{"class_type":"PreviewImage","inputs":{"images":["1",0]}}}}`},
	"GET /api/v2/assets":          {query: "?name=OUTPUT"},
	"GET /assets":                 {query: "?name_contains=OUTPUT&hash=HASH"},
	"POST /assets":                {body: `{"url":"https://files.invalid/x","preview_id":"THEASSET"}`},
	"POST /assets/from-hash":      {body: `{"hash":"HASH","name":"x.png","tags":["mine"]}`},
	"POST /assets/export":         {body: `{"job_ids":["JOB"],"asset_ids":["THEASSET"]}`},
	"PUT /assets/{id}":            {body: `{"name":"mine","user_metadata":{"mine":true}}`},
	"POST /assets/{id}/tags":      {body: `{"tags":["mine"]}`},
	"DELETE /assets/{id}/tags":    {body: `{"tags":["output"]}`},
	"GET /assets/tags/refine":     {query: "?name_contains=OUTPUT"},
	"GET /assets/remote-metadata": {query: "?url=THEASSET"},
	"POST /userdata/{file}":       {query: "?overwrite=true", body: "mine now"},
}

// parameterOf returns the name in belongings that stands for a parameter of a path. A parameter that is missing here fails
// the test: add what another account's is.
func parameterOf(path, name string) string {
	switch {
	case name == "id" && (strings.HasPrefix(path, "/api/v2/assets/") || strings.HasPrefix(path, "/assets/")):
		return "THEASSET"
	case name == "id" && strings.HasPrefix(path, "/api/v2/webhooks/"):
		return "THEHOOK"
	case path == "/tasks/{id}":
		return "THETASK"
	case name == "id":
		return "JOB"
	}
	return map[string]string{
		"hash": "HASH", "file": "FILE", "dest": "moved.json", "class": "SaveImage", "delivery": "THEDELIVERY",
		"folder": "input", "name": "THEARCHIVE",
	}[name]
}

var braces = regexp.MustCompile(`\{([a-z_]+)\}`)

// TestAnotherAccountsThingsAreAbsentOnEveryRoute asks every operation of the OpenAPI document for things
// of another account, and for things that do not exist: the answers are the same, and say nothing.
func TestAnotherAccountsThingsAreAbsentOnEveryRoute(t *testing.T) {
	t.Parallel()
	owner, stranger := newClient(t, "pro"), newClient(t, "pro")
	things := belongingsOf(t, owner)
	before := owner.do("GET", "/api/v2/jobs/"+things.theirs["JOB"], "").body
	doc, err := openapitest.Load()
	require.NoError(t, err)
	asked := 0
	for _, op := range doc.Operations() {
		if op.Public || op.Path == "/ws" || strings.HasPrefix(op.Path, "/upload/") ||
			(op.Method == http.MethodPost && op.Path == "/api/v2/assets") || op.Path == "/free" {
			continue // nothing is named, or a multipart body that names only what it brings; a socket hears of its own account
		}
		if !strings.HasPrefix(op.Path, "/api/v2/") && op.Routes[0] == op.Path {
			continue // of another surface: it has tests of its own
		}
		extra := requests[op.Method+" "+op.Path]
		for _, route := range op.Routes {
			path := braces.ReplaceAllStringFunc(route, func(name string) string {
				value := parameterOf(op.Path, strings.Trim(name, "{}"))
				require.NotEmpty(t, value, "%s: what stands for the parameter %s of another account?", op.Path, name)
				return value
			})
			got, want := ask(stranger, op.Method, path+extra.query, extra.body, things.theirs),
				ask(stranger, op.Method, path+extra.query, extra.body, things.absent)
			require.Equal(t, want.status, got.status, "%s %s: %s", op.Method, path, got.body)
			require.Equal(t, neutral(want.body, things.absent), neutral(got.body, things.theirs), "%s %s", op.Method, path)
			if op.Method == http.MethodGet {
				for kind, theirs := range things.theirs {
					ofBoth := kind == "DIRECTORY" || kind == "FILE"                          // the stranger has written a file of that name above
					if named := strings.Contains(path+extra.query, kind) || ofBoth; !named { // a refusal repeats what was asked for
						require.NotContains(t, got.body, theirs, "%s %s shows a %s", op.Method, path, kind)
					}
				}
			}
			asked++
		}
	}
	require.Greater(t, asked, 60)
	require.Equal(t, stripMoving(before), stripMoving(owner.do("GET", "/api/v2/jobs/"+things.theirs["JOB"], "").body), "nothing has changed")
	require.Equal(t, "{}", owner.do("GET", "/userdata/drawer%2Fx.json", "").body)
	require.Contains(t, owner.json("GET", "/history", ""), things.theirs["JOB"])
}

func ask(c *client, method, path, body string, things map[string]string) reply {
	c.t.Helper()
	for kind, value := range things {
		path, body = strings.ReplaceAll(path, kind, url.PathEscape(value)), strings.ReplaceAll(body, kind, value)
	}
	if strings.HasPrefix(body, "{") {
		return c.do(method, path, body, "Content-Type", "application/json")
	}
	return c.do(method, path, body)
}

// changing matches what differs between two answers of the same kind: times, new ids.
var changing = regexp.MustCompile(`"(prompt_id)":("[^"]*"|\d+)|"(url|url_expires_at|number|modified|created)":("[^"]*"|[\d.]+)`)

func stripMoving(body string) string { return changing.ReplaceAllString(body, "") }

// neutral takes the names of things out of an answer.
func neutral(body string, things map[string]string) string {
	kinds := slices.SortedFunc(maps.Keys(things), func(a, b string) int { return len(things[b]) - len(things[a]) }) // a name may begin another
	for _, kind := range kinds {
		body = strings.ReplaceAll(body, things[kind], kind)
	}
	return stripMoving(body)
}

func TestAnotherAccountsImageIsNoOriginalOfAMask(t *testing.T) {
	t.Parallel()
	owner, stranger := newClient(t, "pro"), newClient(t, "pro")
	require.Equal(t, http.StatusOK, owner.upload("secret-original.png", tinyPNG(t)).status)
	body, kind := maskForm(t, "secret-original.png")
	got := stranger.do("POST", "/upload/mask", body, "Content-Type", kind)
	require.Equal(t, http.StatusBadRequest, got.status, got.body)
	absent, kind := maskForm(t, "absent-original.png")
	require.Equal(t, strings.ReplaceAll(stranger.do("POST", "/upload/mask", absent, "Content-Type", kind).body, "absent", "secret"), got.body)
}

// maskForm is the body of a mask upload for an original.
func maskForm(t *testing.T, original string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("image", "mask.png")
	require.NoError(t, err)
	_, err = part.Write(tinyPNG(t))
	require.NoError(t, err)
	require.NoError(t, form.WriteField("type", "input"))
	require.NoError(t, form.WriteField("original_ref", `{"filename":"`+original+`","type":"input"}`))
	require.NoError(t, form.Close())
	return b.String(), form.FormDataContentType()
}
