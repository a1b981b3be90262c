// Package drawings_test derives inputs and outputs from the official drawings of ComfyUI, which it downloads from PyPI, with
// the class definitions of a server of version 0.33. MILLRACE_TEST_OBJECT_INFO names a file with the server's answer to
// GET /object_info; without it, the test is skipped. The table under testdata has a line for each drawing.
package drawings_test

import (
	"archive/zip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/engine/ordered"
)

var update = flag.Bool("update", false, "write the table")

const (
	pinned = "comfyui-workflow-templates-json==0.1.123"
	table  = "testdata/drawings.tsv"
)

// captioner is the class of a node pack that one of the drawings with App Mode uses, and that the drawing does not describe.
const captioner = `{"input":{"required":{"model_name":[["Qwen3-VL-4B-Instruct"]],"quantization":[["None (FP16)"]],
	"attention_mode":[["auto"]],
	"preset_prompt":[["🖼️ Detailed Description"]],"custom_prompt":["STRING",{"default":""}],"max_tokens":["INT",{"default":512}],
	"keep_model_loaded":["BOOLEAN",{"default":true}],"seed":["INT",{"default":1}]},"optional":{"image":["IMAGE"],"video":["IMAGE"]}},
	"output":["STRING"]}`

func TestTheOfficialDrawings(t *testing.T) {
	definitions := os.Getenv("MILLRACE_TEST_OBJECT_INFO")
	if definitions == "" {
		t.Skip("MILLRACE_TEST_OBJECT_INFO names no file with the class definitions of a ComfyUI server")
	}
	raw, err := os.ReadFile(definitions)
	require.NoError(t, err)
	server := registry(t, raw, "")
	packed := registry(t, raw, captioner)
	drawings := download(t)
	require.Len(t, drawings, 644)
	lines := []string{"drawing\tinputs from\tinputs\toutputs\tleft out\tnames of the inputs of App Mode, or the reason"}
	derived, apps := 0, 0
	for _, name := range slices.Sorted(maps.Keys(drawings)) {
		app := appInputs(t, drawings[name])
		d, err := derive(drawings[name], server)
		if err != nil && app > 0 {
			d, err = derive(drawings[name], packed)
		}
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s\t-\t\t\t\t%.200s", name, strings.ReplaceAll(err.Error(), "\n", " ")))
			continue
		}
		derived++
		names := ""
		if app > 0 {
			apps++
			require.Equal(t, callable.FromApp, d.Source, name)
			require.Equal(t, app, len(d.Schema.Inputs)+leftOut(d), "%s: %q", name, d.Warnings)
			names = namesOf(d.Schema)
		}
		requireUsable(t, name, d)
		lines = append(lines, fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%s", name, d.Source, len(d.Schema.Inputs), len(d.Schema.Outputs),
			len(d.Warnings), names))
	}
	t.Logf("%d of %d drawings have a schema, %d of them from App Mode", derived, len(drawings), apps)
	require.Equal(t, 26, apps)
	require.GreaterOrEqual(t, derived*100, len(drawings)*95)
	text := strings.Join(lines, "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(table, []byte(text), 0o600))
	}
	want, err := os.ReadFile(table)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "run the test with -update and review the difference")
}

// equalOutputs is the message of outputs that only the command can name apart.
var equalOutputs = regexp.MustCompile(`^(.+) would all be called .*--output`)

// derive derives a drawing as a person would: if the drawing shows no inputs, the command names its first texts or numbers; if
// outputs are equal, the command names them as the message says.
func derive(drawing []byte, classes *node.Registry) (*callable.Derived, error) {
	var named callable.Named
	for range 3 {
		d, err := callable.Derive(drawing, graph.Limits{}, classes, named)
		if err == nil {
			return d, nil
		}
		if equal := equalOutputs.FindStringSubmatch(err.Error()); equal != nil {
			for i, id := range strings.Split(equal[1], ", ") {
				named.Outputs = append(named.Outputs, fmt.Sprintf("output %d=%s", i+1, id))
			}
			continue
		}
		if named.Inputs != nil || !strings.HasPrefix(err.Error(), "The drawing shows no inputs") {
			return nil, err
		}
		all, _, cerr := callable.Candidates(drawing, graph.Limits{}, classes)
		if cerr != nil || len(all) == 0 {
			return nil, err
		}
		for i, c := range all[:min(3, len(all))] {
			named.Inputs = append(named.Inputs, fmt.Sprintf("input %d=%s.%s", i+1, c.Node, c.Input))
		}
	}
	return nil, fmt.Errorf("the names that the message asks for do not suffice")
}

// requireUsable requires that the defaults of a schema are accepted by it and give the drawing's own graph.
func requireUsable(t *testing.T, name string, d *callable.Derived) {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(d.Schema.JSONSchema())))
	require.NoError(t, err, name)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", document), name)
	compiled, err := c.Compile("schema.json")
	require.NoError(t, err, name)
	template, err := callable.Prepare(d.Graph, d.Schema)
	require.NoError(t, err, name)
	defaults := map[string]json.RawMessage{}
	for _, in := range d.Schema.Inputs {
		if defaults[in.Name] = in.Default; in.Required() {
			defaults[in.Name] = json.RawMessage(`"x"`)
		}
	}
	body, err := json.Marshal(defaults)
	require.NoError(t, err, name)
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
	require.NoError(t, err, name)
	_, err = template.Check(defaults, nil)
	require.NoError(t, err, name)
	require.NoError(t, compiled.Validate(instance), name)
	require.True(t, json.Valid(template.Fill(defaults, nil)), name)
}

func leftOut(d *callable.Derived) (n int) {
	for _, w := range d.Warnings {
		if strings.HasPrefix(w, "Input ") {
			n++
		}
	}
	return n
}

func namesOf(s *callable.Schema) string {
	var names []string
	for _, in := range s.Inputs {
		names = append(names, in.Name+":"+string(in.Kind))
	}
	return strings.Join(names, " ")
}

// appInputs returns the number of inputs that a drawing has in App Mode.
func appInputs(t *testing.T, drawing []byte) int {
	t.Helper()
	var d struct {
		Extra struct {
			LinearData struct {
				Inputs []json.RawMessage `json:"inputs"`
			} `json:"linearData"`
		} `json:"extra"`
	}
	require.NoError(t, json.Unmarshal(drawing, &d))
	return len(d.Extra.LinearData.Inputs)
}

func registry(t *testing.T, definitions []byte, more string) *node.Registry {
	t.Helper()
	members, err := ordered.Members(definitions)
	require.NoError(t, err)
	if more != "" {
		members = append(members, ordered.Member{Name: "AILab_QwenVL", Raw: json.RawMessage(more)})
	}
	var names []string
	byName := map[string]json.RawMessage{}
	for _, m := range members {
		names, byName[m.Name] = append(names, m.Name), m.Raw
	}
	document := remote.ParseDocument("0.33", names, byName)
	require.Empty(t, document.LeftOut)
	classes, err := remote.Merge([]*remote.Document{document})
	require.NoError(t, err)
	r, err := node.NewRegistry(classes...)
	require.NoError(t, err)
	return r
}

// download returns the official drawings by name. A package that was downloaded before is used again.
func download(t *testing.T) map[string][]byte {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "millrace-official-drawings")
	wheels, err := filepath.Glob(filepath.Join(dir, "*-"+strings.Split(pinned, "==")[1]+"-*.whl"))
	require.NoError(t, err)
	if len(wheels) == 0 {
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("the official drawings need python3, which is not installed")
		}
		out, err := exec.CommandContext(t.Context(), python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
			"--dest", dir, pinned).CombinedOutput()
		if err != nil {
			t.Skipf("the official drawings need a package registry, which does not give them: %s", out)
		}
		wheels, err = filepath.Glob(filepath.Join(dir, "*.whl"))
		require.NoError(t, err)
	}
	wheel, err := zip.OpenReader(wheels[0])
	require.NoError(t, err)
	defer wheel.Close()
	all := map[string][]byte{}
	for _, f := range wheel.File {
		if path.Ext(f.Name) != ".json" {
			continue
		}
		r, err := f.Open()
		require.NoError(t, err)
		raw, err := io.ReadAll(r)
		require.NoError(t, err)
		var top struct {
			Nodes json.RawMessage `json:"nodes"`
		}
		if json.Unmarshal(raw, &top) == nil && len(top.Nodes) > 0 {
			all[path.Base(f.Name)] = raw
		}
	}
	return all
}
