package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi/openapitest"
)

// namedInExamples are the ids in the bodies of examples, which stand for what an account has.
var namedInExamples = map[string]string{
	"0f1e2d3c-4b5a-4968-8776-655443322110":                                    "JOB",
	"blake3:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef": "HASH",
	"https://example.com/":                                                    "NOWHERE",
}

// refusedExamples are refused, for reasons that are not in the request.
var refusedExamples = map[string]int{
	"modelPreview": 404, "globalSubgraph": 404, // there are none
	"models": 404, "experimentModels": 404, "listCheckpointInfo": 404, "listModelInfo": 404, // no server has models
	"makeAsset": 400, "remoteMetadata": 400, // nobody answers at the address
	"replayWebhookDelivery": 404,                                                               // it has not ended
	"cancelModelRequest":    409,                                                               // it has
	"getModelV1OfVariant":   404, "runModelV1OfVariant": 404, "getModelSchemaV1OfVariant": 404, // the model has no variant
	"getModelOfVariant": 404, "runModelOfVariant": 404, "estimateModelOfVariant": 404, "getModelSchemaOfVariant": 404,
	"queueModelOfVariant":     404,
	"getModelResultOfVariant": 404, "cancelModelRequestOfVariant": 404, "getModelRequestOfVariant": 404,
}

// variable matches a variable of a shell.
var variable = regexp.MustCompile(`\$([A-Z_]+)`)

// example is one command of /docs.
type example struct{ operation, method, path, command string }

// examples reads the commands that the service shows.
func (c *client) examples() (all []example) {
	c.t.Helper()
	page := html.UnescapeString(c.do("GET", "/docs", "").body)
	const form = `(?s)<details id="([^"]+)">\n<summary><span class="method">([A-Z]+)</span> <code>([^<]+)</code>.*?` +
		`<p>Example</p><pre>(curl .*?)</pre>`
	for _, found := range regexp.MustCompile(form).FindAllStringSubmatch(page, -1) {
		all = append(all, example{found[1], found[2], found[3], found[4]})
	}
	return all
}

// shell runs a command of /docs and returns its answer, which is as the document says.
func (c *client) shell(dir string, e example, variables []string) reply {
	c.t.Helper()
	files := c.t.TempDir()
	head, body := filepath.Join(files, "head"), filepath.Join(files, "body")
	longest := patience
	if strings.HasSuffix(e.path, "/ws") { // which stays open
		longest = 20 * time.Second
	}
	cmd := exec.CommandContext(c.t.Context(), "sh", "-c",
		fmt.Sprintf(`%s --max-time %.0f -D "$HEAD" -o "$BODY" -w '%%{http_code} %%{url_effective}'`, e.command, longest.Seconds()))
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), variables...), "MILLRACE="+c.base, "KEY="+c.key, "HEAD="+head, "BODY="+body)
	out, err := cmd.Output() // an open socket ends with an error
	code, address, ok := strings.Cut(string(out), " ")
	require.True(c.t, ok, "%s: %v: %s", e.command, err, out)
	status, err := strconv.Atoi(code)
	require.NoError(c.t, err)
	at, err := url.Parse(address)
	require.NoError(c.t, err)
	raw, err := os.ReadFile(head)
	require.NoError(c.t, err)
	blocks := bytes.Split(bytes.TrimSuffix(raw, []byte("\r\n\r\n")), []byte("\r\n\r\n"))
	r := textproto.NewReader(bufio.NewReader(io.MultiReader(bytes.NewReader(blocks[len(blocks)-1]), strings.NewReader("\r\n\r\n"))))
	_, err = r.ReadLine()
	require.NoError(c.t, err)
	header, err := r.ReadMIMEHeader()
	require.NoError(c.t, err)
	answer, _ := os.ReadFile(body) // there is none without a body
	doc, err := openapitest.Load()
	require.NoError(c.t, err)
	assert.NoError(c.t, doc.Check(openapitest.Answer{
		Method: e.method, Path: at.EscapedPath(), Status: status, Header: http.Header(header), Body: answer,
	}), e.command)
	return reply{status, http.Header(header), string(answer)}
}

// TestTheExamplesOfTheDocumentationRun runs the command of each operation in a shell, with the ids of things that the
// account has. Those that take something away come last.
func TestTheExamplesOfTheDocumentationRun(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	things := belongingsOf(t, c)
	c.deploy("portrait", 16, "")
	status, answer := c.tryDeploy("invert", editedGraph, `"inputs":["image=9001.image"],"outputs":["picture=9003"]`)
	require.Equal(t, http.StatusOK, status, answer)
	dir, file := t.TempDir(), tinyPNG(t)
	for _, name := range []string{"picture.png", "FILE"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), file, 0o600))
	}
	link, err := url.Parse(c.json("GET", "/api/v2/assets/"+things.theirs["THEASSET"], "")["url"].(string))
	require.NoError(t, err)
	var signature []string
	for name, value := range link.Query() {
		signature = append(signature, strings.ToUpper(name)+"="+url.QueryEscape(value[0]))
	}
	token := newToken(t, start(t), c.account)
	things.theirs["NOWHERE"] = "https://nowhere.invalid/"
	require.Equal(t, http.StatusOK, c.do("POST", "/userdata/moving.json", "{}").status)
	require.Equal(t, http.StatusCreated, c.do("PUT", "/api/etn/image/sent", string(file)).status)
	uploaded, _ := decode(t, c.upload("other.png", file).body)["asset"].(map[string]any)
	things.theirs["THEOTHER"], _ = uploaded["id"].(string)
	begun := c.do("POST", "/uploads", "", "Tus-Resumable", "1.0.0", "Upload-Length", itoa(len(file)))
	things.theirs["THEUPLOAD"] = path.Base(begun.header.Get("Location"))
	things.theirs["THEREQUEST"], _ = c.json("POST", "/v2/models/sim/echo/requests", `{"prompt":"hello"}`)["request_id"].(string)
	all := c.examples()
	require.Greater(t, len(all), 120)
	for _, last := range []bool{false, true} {
		for _, e := range all {
			if takes := e.method == http.MethodDelete && e.operation != "removeTags" || e.operation == "changeHistory"; takes != last {
				continue
			}
			for text, kind := range namedInExamples {
				if strings.Contains(e.command, "asset_ids") && kind == "JOB" {
					kind = "THEASSET"
				}
				e.command = strings.ReplaceAll(e.command, text, things.theirs[kind])
			}
			set := append([]string{"TOKEN=" + token}, signature...)
			for _, name := range variable.FindAllStringSubmatch(e.command, -1) {
				if value := things.valueOf(e, name[1], len(file)); value != "" {
					set = append(set, name[1]+"="+value)
				}
			}
			got := c.shell(dir, e, set)
			if got.status >= 400 && refusedExamples[e.operation] != got.status {
				t.Errorf("%s: %d: %s\n%v\n%s", e.operation, got.status, e.command, set, got.body)
			}
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// valueOf returns the value of a variable in the command of an operation.
func (b belongings) valueOf(e example, variable string, size int) string {
	values := map[string]string{
		"UPLOAD_LENGTH": itoa(size), "UPLOAD_OFFSET": "0", "INDEX": "0", "PROVIDER": "sim", "MODEL": "echo", "VARIANT": "none",
		"DEPLOYMENT": "portrait", "URL": b.theirs["NOWHERE"], "ASSET": b.theirs["THEASSET"], "FILENAME": b.theirs["OUTPUT"],
		"DIR": b.theirs["DIRECTORY"],
	}
	switch {
	case e.operation == "maskLayers":
		values["FILENAME"] = b.theirs["INPUT"]
	case e.operation == "moveUserdata":
		values["FILE"] = "moving.json"
	case e.operation == "getOpenAIModel":
		values["MODEL"] = "portrait"
	case strings.HasPrefix(e.path, "/uploads/"):
		values["ID"] = b.theirs["THEUPLOAD"]
	case strings.HasPrefix(e.path, "/api/etn/image/"):
		values["ID"] = "sent"
	case strings.HasPrefix(e.path, "/assets/"):
		values["ID"] = b.theirs["THEOTHER"]
	case strings.Contains(e.path, "/requests/"):
		values["ID"] = b.theirs["THEREQUEST"]
	}
	if value, ok := values[variable]; ok {
		return value
	}
	value := parameterOf(e.path, strings.ToLower(variable))
	if thing, ok := b.theirs[value]; ok {
		return url.PathEscape(thing)
	}
	return value
}
