package tutorials_test

import (
	"context"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	comfysim "github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

var update = flag.Bool("update", false, "write the outputs into the pages")

const (
	patience  = 3 * time.Minute
	asProgram = "MILLRACE_TEST_AS_PROGRAM" // makes the test binary the program millrace
	documents = "http://127.0.0.1:8188"    // address of the service in the pages
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	cmd := cli.Command(os.Stdout, os.Stderr, os.LookupEnv)
	cmd.SetArgs(os.Args[1:])
	if err := cmd.ExecuteContext(context.Background()); err != nil {
		_, _ = io.WriteString(os.Stderr, "millrace: "+err.Error()+"\n")
		os.Exit(1)
	}
}

// service is a running service with the directory in which the examples run.
type service struct {
	*served.Service
	work         string
	env          []string
	names, pages *strings.Replacer // replace addresses of the pages by those of this run, and back
	says         served.Log        // output of the service
}

// start starts a service without accounts and two simulated ComfyUI servers, and makes the files that the pages
// assume: a photograph, and the program millrace in the search path.
func start(t *testing.T) *service {
	t.Helper()
	s := &service{work: t.TempDir()}
	var names []string
	for _, machine := range []string{"http://gpu-1:8188", "http://gpu-2:8188", "http://10.0.0.7:8188"} {
		at, err := ports.Address()
		require.NoError(t, err)
		gpu, err := comfysim.Start(at, comfysim.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { gpu.Close() })
		names = append(names, machine, "http://"+at)
	}
	var log served.Log
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String())
		}
	})
	hooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(hooks.Close)
	// else messages do not go to this machine
	require.NoError(t, os.Setenv("MILLRACE_WEBHOOK_ALLOW", strings.TrimPrefix(hooks.URL, "http://")))
	s.Service = served.Start(t, served.Options{
		Name: "mr-tutorials", Args: []string{"--temporal-ui-addr", "127.0.0.1:0"}, Out: &s.says,
		Log: &log, Patience: patience,
	})
	names = append([]string{documents, s.Base, "https://example.com", hooks.URL}, names...)
	s.names = strings.NewReplacer(names...)
	slices.Reverse(names)
	s.pages = strings.NewReplacer(names...)
	s.prepare(t)
	return s
}

func (s *service) prepare(t *testing.T) {
	t.Helper()
	photo, err := os.Create(filepath.Join(s.work, "photo.jpg"))
	require.NoError(t, err)
	require.NoError(t, jpeg.Encode(photo, gradient(), nil))
	require.NoError(t, photo.Close())
	bin, self := t.TempDir(), os.Args[0]
	if self, err = filepath.Abs(self); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(bin, "millrace"), []byte("#!/bin/sh\n"+asProgram+"=1 exec '"+self+"' \"$@\"\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "a-job"), []byte(s.names.Replace(oneJob)), 0o755))
	s.env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "MILLRACE_DATA="+s.Data, "NO_COLOR=1", "KEY=",
		"BASE="+s.Base)
	require.NoError(t, os.WriteFile(filepath.Join(s.work, "graph.json"),
		[]byte(`{"prompt":{"1":{"class_type":"PrimitiveInt","inputs":{"value":1}},"2":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}}`),
		0o600))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "a-call"), []byte(s.names.Replace(oneCall)), 0o755))
}

// oneJob is a program with which pages prepare their examples: it runs a picture of the side that is named, and with a key
// as a second word for its account, and prints the id of the job when that has ended.
const oneJob = `#!/bin/bash
set -euo pipefail
id=$(curl -sf http://127.0.0.1:8188/api/prompt -H 'Content-Type: application/json' -H "X-API-Key: ${2:-}" -d '{"prompt":{
	"1":{"class_type":"EmptyImage","inputs":{"width":'$1',"height":'$1',"batch_size":1,"color":255}},
	"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":8,"sigma":2}},
	"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"hello"}}}}' | grep -o '"prompt_id": *"[^"]*"' | cut -d'"' -f4)
until millrace jobs show "$id" | grep -Eq '^state +(succeeded|failed)'; do sleep 0.2; done
echo "$id"
`

// oneCall calls a model and prints the id of the call when that has ended.
const oneCall = `#!/bin/bash
set -euo pipefail
curl -sf http://127.0.0.1:8188/v2/models/sim/echo -H 'Content-Type: application/json' -d '{"prompt":"hello"}' >/dev/null
until id=$(millrace calls list --json | grep -o '"id": *"[^"]*"' | head -1 | cut -d'"' -f4) && [ -n "$id" ]; do sleep 0.2; done
echo "$id"
`

// gradient is the photograph.
func gradient() image.Image {
	p := image.NewRGBA(image.Rect(0, 0, 1200, 800))
	for y := range 800 {
		for x := range 1200 {
			p.SetRGBA(x, y, color.RGBA{uint8(x / 5), uint8(y / 4), 128, 255})
		}
	}
	return p
}

// run runs one example and returns its output.
func (s *service) run(t *testing.T, language, text string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := []string{"bash", "-euo", "pipefail", "-c", text}
	switch language {
	case "python":
		command = []string{"python3", "-c", text}
	case "ts": // the example has no types, and Node runs it as it stands
		command = []string{"node", "--input-type=module", "-e", text}
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = s.work, s.env
	out, err := cmd.CombinedOutput()
	return strings.ReplaceAll(string(out), "\r", ""), err
}

var assignment = regexp.MustCompile(`(?m)^([A-Z_]+)=`)

// keeping returns the text of a shell example that begins with the variables of the examples before it on its page, and
// writes those that it sets into the same file. That is the reader's shell, in which a page's examples follow one another.
func keeping(file, text string) string {
	var b strings.Builder
	b.WriteString("touch " + file + "; . ./" + file + "\n" + strings.TrimRight(text, "\n") + "\n")
	for _, set := range assignment.FindAllStringSubmatch(text, -1) {
		b.WriteString("declare -p " + set[1] + " >>" + file + " 2>/dev/null || true\n") // unless it was set for one command
	}
	return b.String()
}

// forOutput returns how long an example is run again while its output differs from the page. With -update, it usually stays different.
func forOutput() time.Duration {
	if *update {
		return 30 * time.Second
	}
	return patience
}

// example runs a block until its output matches the page, because earlier work may not have finished.
func (s *service) example(t *testing.T, b block) string {
	t.Helper()
	asks := b.language == "sh" && !strings.Contains(b.text, " -d ") && !strings.Contains(b.text, " -F ")
	deadline, tick := time.Now().Add(forOutput()), time.NewTicker(200*time.Millisecond)
	defer tick.Stop()
	for {
		out, err := s.run(t, b.language, b.text)
		if err == nil && (b.output == "" || shape(out) == shape(s.names.Replace(b.output))) {
			return out
		}
		if !asks || time.Now().After(deadline) {
			require.NoError(t, err, "%s\n%s", b.text, out)
			return out
		}
		<-tick.C
	}
}

// page runs the examples of a page and compares their outputs or, with -update, writes them.
func (s *service) page(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	page := string(raw)
	all, ran := blocks(page), 0
	fresh, written := []string{}, page
	variables := strings.TrimSuffix(filepath.Base(file), ".md") + ".sh"
	for _, b := range all {
		if b.skipped != "" {
			continue
		}
		ran++
		b.text = strings.NewReplacer(fresh...).Replace(s.names.Replace(b.text))
		if b.language == "sh" {
			b.text = keeping(variables, b.text)
		}
		out := s.example(t, b)
		old, now := uuids.FindAllString(b.output, -1), uuids.FindAllString(out, -1)
		for i := range min(len(old), len(now)) {
			fresh = append(fresh, old[i], now[i])
		}
		if *update {
			if b.output != "" && shape(out) != shape(s.names.Replace(b.output)) {
				written = strings.Replace(written, b.output, wrapped(strings.TrimRight(s.pages.Replace(out), "\n")+"\n"), 1)
			}
			continue
		}
		if b.output != "" {
			require.Equal(t, shape(s.names.Replace(b.output)), shape(out),
				"%s: what this prints; write it anew with go -C test test ./tutorials -update\n%s", file, b.text)
		}
	}
	require.Positive(t, ran, "%s has no example that is run", file)
	if *update && written != page {
		require.NoError(t, os.WriteFile(file, []byte(written), 0o644))
	}
}

// The pages share one service, as for a reader who follows them in this order.
func TestExamplesDoWhatThePagesSay(t *testing.T) {
	for _, program := range []string{"bash", "curl", "python3", "node"} {
		if _, err := exec.LookPath(program); errors.Is(err, exec.ErrNotFound) {
			t.Skipf("SKIPPED: %s is not installed", program)
		}
	}
	s := start(t)
	root := filepath.Join("..", "..")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	banner := regexp.MustCompile("```\n(Millrace is ready.\n(?s:.*?))```").FindSubmatch(readme)
	require.NotNil(t, banner)
	require.Equal(t, shape(string(banner[1])), shape(s.says.String()), "what the service prints when it is ready")
	for _, file := range []string{
		"README.md", "docs/tutorials/app.md", "docs/tutorials/providers.md", "docs/tutorials/gpus.md",
		"docs/tutorials/moving.md",
	} {
		t.Run(file, func(t *testing.T) { s.page(t, filepath.Join(root, filepath.FromSlash(file))) })
	}
}
