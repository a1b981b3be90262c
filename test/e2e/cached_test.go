package e2e_test

import (
	"bytes"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dear is a graph whose node "2" takes long enough for its image to be cached.
const dear = `{
	"1":{"class_type":"EmptyImage","inputs":{"width":2048,"height":1536,"batch_size":1,"color":3368601}},
	"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":31,"sigma":3.0}},
	"9":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"kept"}}}`

// got lists the lifecycle messages of a job as "type node", and the nodes in execution_cached. Late frames of an
// earlier job are ignored.
func got(id string, frames []frame) (messages []string, cached []any) {
	for _, f := range frames {
		if f.Data["prompt_id"] != id {
			continue
		}
		node, _ := f.Data["node"].(string)
		switch f.Type {
		case "execution_cached":
			cached, _ = f.Data["nodes"].([]any)
			messages = append(messages, f.Type)
		case "executing", "executed", "execution_start", "execution_success":
			messages = append(messages, strings.TrimSpace(f.Type+" "+node))
		}
	}
	return messages, cached
}

func TestARepeatedJobIsAnsweredFromTheCache(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	first := c.submit(dear)
	c.await(first, "completed")
	before := c.json("GET", "/api/v2/jobs/"+first, "")
	require.Equal(t, false, before["outputs_reused"])

	socket := c.dial("")
	id := c.submit(strings.NewReplacer(`"9":`, `"7":`).Replace(dear)) // ids of nodes make no difference
	messages, cached := got(id, socket.until(over(id)))
	require.Equal(t, []string{"execution_start", "execution_cached", "executed 7", "execution_success", "executing"}, messages)
	require.Equal(t, []any{"1", "2", "7"}, cached)
	after := c.json("GET", "/api/v2/jobs/"+id, "")
	require.Equal(t, true, after["outputs_reused"])
	require.Equal(t, names(before), names(after), "the same files, none new")
	require.Len(t, c.json("GET", "/api/jobs/"+id, "")["outputs"], 1)
}

func TestOnlyWhatChangedRunsAgain(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.await(c.submit(dear), "completed")
	socket := c.dial("")
	id := c.submit(strings.ReplaceAll(dear, `"kept"`, `"renamed"`))
	messages, cached := got(id, socket.until(over(id)))
	require.Equal(t, []string{"execution_start", "execution_cached", "executing 9", "executed 9", "execution_success", "executing"}, messages)
	require.Equal(t, []any{"1", "2"}, cached)
	after := c.json("GET", "/api/v2/jobs/"+id, "")
	require.Equal(t, false, after["outputs_reused"])
	require.Equal(t, []string{"renamed_00001_.png"}, names(after))
}

func TestNodeCacheIsPerAccount(t *testing.T) {
	t.Parallel()
	mine, theirs := newClient(t, "pro"), newClient(t, "pro")
	mine.await(mine.submit(dear), "completed")
	socket := theirs.dial("")
	id := theirs.submit(dear)
	_, cached := got(id, socket.until(over(id)))
	require.Empty(t, cached)
	require.Equal(t, []string{"kept_00001_.png"}, names(theirs.json("GET", "/api/v2/jobs/"+id, "")))
}

func TestAnOutputThatWasDeletedIsMadeAgain(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	first := c.submit(picture)
	c.await(first, "completed")
	output, _ := c.json("GET", "/api/v2/jobs/"+first, "")["outputs"].([]any)[0].(map[string]any)
	asset, _ := output["id"].(string)
	require.Equal(t, 204, c.do("DELETE", "/api/v2/assets/"+asset, "").status)
	socket := c.dial("")
	id := c.submit(picture)
	messages, cached := got(id, socket.until(over(id)))
	require.Subset(t, cached, []any{"5", "6"}, "the text is still there") // on a busy machine, node 1 or 2 takes long enough to be cached
	require.NotContains(t, cached, "9")
	require.Contains(t, messages, "executing 9")
	require.NotContains(t, messages, "executing 5")
	require.Contains(t, messages, "executed 5")
	require.Len(t, names(c.json("GET", "/api/v2/jobs/"+id, "")), 1)
}

// names returns the filenames of a v2 job's outputs.
func names(job map[string]any) []string {
	outputs, _ := job["outputs"].([]any)
	var all []string
	for _, o := range outputs {
		output, _ := o.(map[string]any)
		name, _ := output["name"].(string)
		all = append(all, name)
	}
	return all
}

// A loaded file is identified by its content, not by its name.
func TestAFileOfTheSameNameWithOtherContentIsLoadedAgain(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	const loading = `{
		"1":{"class_type":"LoadImage","inputs":{"image":"same.png"}},
		"9":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"loaded"}}}`
	require.Equal(t, 200, c.overwrite("same.png", colored(t, 10)).status)
	c.await(c.submit(loading), "completed")
	socket := c.dial("")
	same := c.submit(loading)
	_, cached := got(same, socket.until(over(same)))
	require.Equal(t, []any{"1", "9"}, cached)
	require.Equal(t, 200, c.overwrite("same.png", colored(t, 200)).status)
	other := c.submit(loading)
	messages, cached := got(other, socket.until(over(other)))
	require.Empty(t, cached)
	require.Equal(t, []string{
		"execution_start", "execution_cached", "executing 1", "executing 9", "executed 9", "execution_success", "executing",
	}, messages)
	require.Equal(t, []string{"loaded_00002_.png"}, names(c.json("GET", "/api/v2/jobs/"+other, "")))
}

func colored(t *testing.T, grey uint8) []byte {
	t.Helper()
	im := image.NewGray(image.Rect(0, 0, 4, 3))
	for i := range im.Pix {
		im.Pix[i] = grey
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, im))
	return b.Bytes()
}

// overwrite uploads an input file in place of the one of its name.
func (c *client) overwrite(name string, data []byte) reply {
	c.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("image", name)
	require.NoError(c.t, err)
	_, err = part.Write(data)
	require.NoError(c.t, err)
	require.NoError(c.t, form.WriteField("overwrite", "true"))
	require.NoError(c.t, form.Close())
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.base+"/api/upload/image", &body)
	require.NoError(c.t, err)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("X-API-Key", c.key)
	return c.send(req)
}

// A retry from a node runs that node and its readers again, whatever the cache contains.
func TestARetryFromANodeRunsItAnew(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.submit(dear)
	c.await(id, "completed")
	socket := c.dial("")
	status, made := c.admin("POST", "/jobs/"+id+"/retry", `{"actor":"kim","reason":"look again","from_node":"2"}`)
	require.Less(t, status, 300, made)
	var again string
	frames := socket.until(func(f frame) bool {
		if f.Type == "execution_start" {
			again, _ = f.Data["prompt_id"].(string)
		}
		return again != "" && over(again)(f)
	})
	messages, cached := got(again, frames)
	require.NotContains(t, cached, "2")
	require.NotContains(t, cached, "9")
	require.Contains(t, messages, "executing 2")
	require.Contains(t, messages, "executing 9")
	require.Equal(t, []string{"kept_00002_.png"}, names(c.json("GET", "/api/v2/jobs/"+again, "")))
}

// If another node controls a switch, the branch that is not chosen never runs, and is not reported as cached.
func TestTheBranchThatIsNotChosenNeverRuns(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	socket := c.dial("")
	id := c.submit(`{
		"1":{"class_type":"PrimitiveString","inputs":{"value":"yes"}},
		"2":{"class_type":"PrimitiveString","inputs":{"value":"no"}},
		"3":{"class_type":"PrimitiveBoolean","inputs":{"value":true}},
		"4":{"class_type":"ComfySwitchNode","inputs":{"switch":["3",0],"on_true":["1",0],"on_false":["2",0]}},
		"9":{"class_type":"PreviewAny","inputs":{"source":["4",0]}}}`)
	messages, cached := got(id, socket.until(over(id)))
	require.Empty(t, cached)
	require.Equal(t, []string{
		"execution_start", "execution_cached", "executing 3", "executing 1", "executing 4", "executing 9", "executed 9", "execution_success",
		"executing",
	}, messages)
	require.Equal(t, "yes", c.shownText(id))
}
