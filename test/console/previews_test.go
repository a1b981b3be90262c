package console_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// startWith starts a service for the test.
func startWith(t *testing.T, more ...string) *service {
	t.Helper()
	startMu.Lock()
	require.NoError(t, os.Setenv(temporal.BinaryEnv, temporaltest.Binary(t)))
	require.NoError(t, os.Setenv("MILLRACE_WEBHOOK_ALLOW", "127.0.0.1:"+receiverPort(t)))
	startMu.Unlock()
	s := startService(more...)
	t.Cleanup(s.stop)
	require.NoError(t, s.err, s.log.String())
	return s
}

// painting is a class of servers that shows a picture repeatedly, until it receives the next one. It ends when there
// is no next picture.
func painting(pictures <-chan []byte) *node.Class {
	return &node.Class{
		Name: "TestPainting", DisplayName: "Painting", Category: "tests", Module: "custom_nodes.tests", OutputNode: true,
		Inputs: []node.Input{{Name: "seed", Type: node.Int}},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			var now []byte
			select {
			case <-ctx.Done():
				return node.Result{}, ctx.Err()
			case now = <-pictures:
			}
			for now != nil {
				call.Live.Preview("image/jpeg", now)
				select {
				case <-ctx.Done():
					return node.Result{}, ctx.Err()
				case now = <-pictures:
				case <-tick.C:
				}
			}
			return node.Result{}, nil
		},
	}
}

// photo is a JPEG of one colour.
func photo(t *testing.T, width int, of color.Color) []byte {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, width, width))
	draw.Draw(picture, picture.Bounds(), image.NewUniform(of), image.Point{}, draw.Src)
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, picture, nil))
	return b.Bytes()
}

func TestAJobsPageShowsWhatARunningNodeHasMade(t *testing.T) {
	t.Parallel()
	pictures := make(chan []byte, 1)
	m, err := comfyui.Start("127.0.0.1:0", comfyui.Options{Previews: true, Classes: []*node.Class{painting(pictures)}})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	s := startWith(t, "--comfyui", m.URL())
	p := s.newPerson(t)
	p.await("the class of the server", func() bool {
		return strings.Contains(p.send(http.MethodGet, "/api/object_info/TestPainting", "", "X-API-Key", p.key).body, "seed")
	})
	id := p.submit(`{"prompt":{"a<b":{"class_type":"TestPainting","inputs":{"seed":1}}}}`)
	page := "/console/jobs/" + id
	require.Equal(t, http.StatusNotFound, p.get(page+"/preview").status, "it has shown nothing yet")
	b := p.open()
	b.visit(page)
	red, blue := photo(t, 32, color.RGBA{R: 200, A: 255}), photo(t, 48, color.RGBA{B: 200, A: 255})
	pictures <- red
	b.await("the first picture", `(document.querySelector("#now img") || {}).naturalWidth === 32`)
	b.await("the picture on its node", `document.querySelector("#graph a image.preview")`)
	require.Contains(t, eval[string](b, `document.getElementById("now").innerText`), "Node a<b now")
	shown := p.get(page + "/preview")
	require.Equal(t, http.StatusOK, shown.status)
	require.Equal(t, string(red), shown.body)
	require.Equal(t, "image/jpeg", shown.header.Get("Content-Type"))
	require.Equal(t, "no-store", shown.header.Get("Cache-Control"))
	require.Regexp(t, `<img src="`+page+`/preview\?seen=\w+"`, p.page(page), "a browser without scripts has it in the page")
	require.NotContains(t, p.page(page+"?at=1"), "/preview?", "it was not there then")
	require.Equal(t, http.StatusNotFound, s.newPerson(t).get(page+"/preview").status, "another account's")
	require.Equal(t, http.StatusUnauthorized, (&person{t: t, s: s, withoutRedirect: p.withoutRedirect}).get(page+"/preview").status)
	operator := &person{t: t, s: s}
	operator.signIn(adminToken)
	of := regexp.MustCompile(`/console/accounts/([^"]+)">` + p.account).FindStringSubmatch(operator.page("/console/accounts"))[1]
	require.Equal(t, http.StatusOK, operator.get(page+"/preview?account="+of).status)
	require.Contains(t, operator.page(page+"?account="+of), "/preview?account="+of+"&amp;seen=")

	pictures <- blue
	b.await("the next picture", `(document.querySelector("#now img") || {}).naturalWidth === 48`)
	require.Equal(t, 1, eval[int](b, `performance.getEntriesByType("navigation").length`), "the page was not loaded again")
	b.picture("job-preview")
	b.size(390, 900)
	b.fits(page)
	b.clean()
	close(pictures)
	b.await("the end", `/succeeded/.test(document.querySelector("h1").innerText) && !document.getElementById("now")`)
	require.Equal(t, http.StatusNotFound, p.get(page+"/preview").status, "nothing runs")
}

// TestAJobsPageShowsWhatAPartnerNodeHasMade runs a node of a partner model for two prompts: while the second call is under
// way, the page shows the picture of the first.
func TestAJobsPageShowsWhatAPartnerNodeHasMade(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	b := p.open()
	id := p.submit(`{"prompt":{"1":{"class_type":"PrimitiveString","inputs":{"value":"a red square [sim:delay=30s]"}},
		"2":{"class_type":"PrimitiveString","inputs":{"value":"a blue square [sim:delay=10m]"}},
		"3":{"class_type":"CreateList","inputs":{"inputs.input0":["1",0],"inputs.input1":["2",0]}},
		"4":{"class_type":"Partner_sim_image","inputs":{"prompt":["3",0]}},
		"5":{"class_type":"SaveImage","inputs":{"images":["4",0],"filename_prefix":"both"}}},"extra_data":{"api_key_service":"` + p.key + `"}}`)
	page := "/console/jobs/" + id
	b.visit(page) // before the first call has ended: a preview goes to those who watch
	b.await("the picture of the first call", `(document.querySelector("#now img") || {}).naturalWidth > 1`)
	require.Contains(t, eval[string](b, `document.getElementById("now").innerText`), "Node 4 now")
	b.await("the picture on its node", `document.querySelector("#graph a image.preview")`)
	shown := p.get(page + "/preview")
	require.Equal(t, http.StatusOK, shown.status)
	require.Equal(t, "image/jpeg", shown.header.Get("Content-Type"))
	require.Equal(t, http.StatusNotFound, newPerson(t).get(page+"/preview").status, "another account's")
	b.clean()
	p.post(page+"/cancel", url.Values{"reason": {"seen"}})
	b.await("the end", `/canceled/.test(document.querySelector("h1").innerText) && !document.getElementById("now")`)
	b.clean()
}
