package deployment_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// noFiles are the files of an account that has none.
type noFiles struct{ node.Files }

func (noFiles) Stat(context.Context, string) (node.Info, error) {
	return node.Info{}, fault.New(fault.NotFound, "", "no file")
}

func (noFiles) List(context.Context, node.Folder, int) ([]string, error) { return nil, nil }

// kept is a store of deployments in memory that counts its lookups.
type kept struct {
	deployment.Store
	all   []deployment.Deployment
	found int
	pages atomic.Int64 // of all deployments
	away  error

	recent  *deployment.Deployment // what this process remembers
	others  int                    // changes of somebody else that come before ours
	commits int                    // tried
	last    deployment.Change
}

func (k *kept) Find(_ context.Context, account, name string) (deployment.Deployment, error) {
	k.found++
	for _, d := range k.all {
		if d.Account == account && (d.Name == name || string(d.ID) == name) {
			return d, nil
		}
	}
	return deployment.Deployment{}, deployment.ErrNone(name)
}

func (k *kept) List(_ context.Context, account string) (all []deployment.Deployment, _ error) {
	for _, d := range k.all {
		if d.Account == account {
			all = append(all, d)
		}
	}
	return all, nil
}

func (k *kept) Commit(_ context.Context, c deployment.Change) error {
	k.commits++
	if k.others > 0 {
		k.others--
		return eventlog.ErrVersion
	}
	k.last = c
	c.After.Revision = c.Expected + int64(len(c.Events))
	for i := range k.all {
		if k.all[i].ID == c.After.ID {
			if c.After.State == deployment.Deleted {
				k.all = slices.Delete(k.all, i, i+1)
				return nil
			}
			k.all[i] = c.After
			return nil
		}
	}
	k.all = append(k.all, c.After)
	return nil
}

// filling is a service over deployments in memory.
type filling struct {
	*deployment.Service
	t     *testing.T
	store *kept
	blobs blob.Store
}

func newFilling(t *testing.T, limits graph.Limits) filling {
	t.Helper()
	classes, err := standard.Registry(nil)
	require.NoError(t, err)
	store, blobs := &kept{}, mem.New()
	return filling{deployment.NewService(deployment.Deps{
		Store: store, Blobs: blobs, Validator: &graph.Validator{Classes: classes}, Limits: limits,
	}), t, store, blobs}
}

func (f filling) tryDeploy(name, graph string, inputs ...string) error {
	f.t.Helper()
	made, err := f.Derive(f.t.Context(), "acme", deployment.Source{
		Document: []byte(graph), Named: callable.Named{Inputs: inputs, Outputs: []string{"picture=9"}},
	})
	require.NoError(f.t, err, name)
	_, err = f.Add(f.t.Context(), "acme", name, made.Content, eventlog.By{Actor: "ada"})
	return err
}

func (f filling) deploy(name, graph string, inputs ...string) {
	f.t.Helper()
	require.NoError(f.t, f.tryDeploy(name, graph, inputs...), name)
}

func (f filling) fill(graph string) (job.Filled, error) {
	return f.FillGraph(f.t.Context(), job.Submission{Account: "acme", Prompt: json.RawMessage(graph)})
}

const (
	plainPicture = `{"1":{"class_type":"EmptyImage","inputs":{"width":16,"height":8,"batch_size":1,"color":0}},
		"9":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"p"}}}`
	outerPicture = `{"1":{"class_type":"Deployment.plain","inputs":{"width":16}},
		"9":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"o"}}}`
	inverted = `{"1":{"class_type":"LoadImage","inputs":{"image":"a.png"}},"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
		"9":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"i"}}}`
)

func (f filling) deployAll() {
	f.deploy("plain", plainPicture, "width=1.width")
	f.deploy("outer", outerPicture, "width=1.width")
	f.deploy("invert", inverted, "image=1.image")
	f.deploy("both", `{"1":{"class_type":"LoadImage","inputs":{"image":"a.png"}},
		"2":{"class_type":"Deployment.invert","inputs":{"image":["1",0]}},
		"9":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"i"}}}`, "image=1.image")
}

func TestVersionsStandInThePlaceOfTheNodesThatCallThem(t *testing.T) {
	t.Parallel()
	f := newFilling(t, graph.Limits{})
	f.deployAll()
	picture := func(width string) string {
		return `{"class_type":"EmptyImage","inputs":{"width":` + width + `,"height":8,"batch_size":1,"color":0}}`
	}
	const save = `"3":{"class_type":"SaveImage","inputs":{"images":%s,"filename_prefix":"s"}}`
	number := `"1":{"class_type":"PrimitiveInt","inputs":{"value":24}}`
	for name, test := range map[string]struct{ graph, want string }{
		"a value": {
			`"2":{"class_type":"Deployment.plain","inputs":{"width":24}},` + fmt.Sprintf(save, `["2",0]`),
			`"2:1":` + picture("24") + `,` + fmt.Sprintf(save, `["2:1",0]`),
		},
		"no value": {
			`"2":{"class_type":"Deployment.plain","inputs":{}},` + fmt.Sprintf(save, `["2",0]`),
			`"2:1":` + picture("16") + `,` + fmt.Sprintf(save, `["2:1",0]`),
		},
		"a link to a node whose id the version has too": {
			number + `,"2":{"class_type":"Deployment.plain","inputs":{"width":["1",0]}},` + fmt.Sprintf(save, `["2",0]`),
			number + `,"2:1":` + picture(`["1",0]`) + `,` + fmt.Sprintf(save, `["2:1",0]`),
		},
		"a value for a version that another one calls": {
			`"2":{"class_type":"Deployment.outer","inputs":{"width":40}},` + fmt.Sprintf(save, `["2",0]`),
			`"2:1:1":` + picture("40") + `,` + fmt.Sprintf(save, `["2:1:1",0]`),
		},
		"a link for a version that another one calls": {
			number + `,"2":{"class_type":"Deployment.outer","inputs":{"width":["1",0]}},` + fmt.Sprintf(save, `["2",0]`),
			number + `,"2:1:1":` + picture(`["1",0]`) + `,` + fmt.Sprintf(save, `["2:1:1",0]`),
		},
		"ids that could be mistaken": {
			`"2:1":{"class_type":"PrimitiveInt","inputs":{"value":24}},
				"2":{"class_type":"Deployment.plain","inputs":{"width":["2:1",0]}},` + fmt.Sprintf(save, `["2",0]`),
			`"2:1":{"class_type":"PrimitiveInt","inputs":{"value":24}},"2:.1":` + picture(`["2:1",0]`) + `,` + fmt.Sprintf(save, `["2:.1",0]`),
		},
		"a linked picture": {
			`"1":` + picture("24") + `,"2":{"class_type":"Deployment.invert","inputs":{"image":["1",0]}},` + fmt.Sprintf(save, `["2",0]`),
			`"1":` + picture("24") + `,"2:2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},` + fmt.Sprintf(save, `["2:2",0]`),
		},
		"a linked picture for a version that another one calls": {
			`"1":` + picture("24") + `,"2":{"class_type":"Deployment.both","inputs":{"image":["1",0]}},` + fmt.Sprintf(save, `["2",0]`),
			`"1":` + picture("24") + `,"2:2:2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},` + fmt.Sprintf(save, `["2:2:2",0]`),
		},
		"a file": {
			`"2":{"class_type":"Deployment.both","inputs":{"image":"b.png"}},` + fmt.Sprintf(save, `["2",0]`),
			`"2:1":{"class_type":"LoadImage","inputs":{"image":"b.png"}},
				"2:2:2":{"class_type":"ImageInvert","inputs":{"image":["2:1",0]}},` + fmt.Sprintf(save, `["2:2:2",0]`),
		},
		"nodes that nobody reads": {
			`"1":` + picture("24") + `,"2":{"class_type":"Deployment.plain","inputs":{}},` + fmt.Sprintf(save, `["1",0]`),
			`"1":` + picture("24") + `,` + fmt.Sprintf(save, `["1",0]`),
		},
	} {
		f.store.found = 0
		got, err := f.fill("{" + test.graph + "}")
		require.NoError(t, err, name)
		require.JSONEq(t, "{"+test.want+"}", string(got.Prompt), name)
		require.Equal(t, []string{"3"}, got.Targets, name)
		require.Contains(t, got.Calls.Nodes["2"], "Deployment.", name)
	}
	three := `{"1":{"class_type":"Deployment.plain","inputs":{}},"2":{"class_type":"Deployment.plain","inputs":{}},` +
		`"4":{"class_type":"Deployment.plain","inputs":{}},` + fmt.Sprintf(save, `["1",0]`) + `}`
	f.store.found = 0
	_, err := f.fill(three)
	require.NoError(t, err)
	require.Equal(t, 1, f.store.found, "each deployment is looked up once for a graph")

	for _, graph := range []string{
		`{"1":{"class_type":"PrimitiveString","inputs":{"value":"Deployment.plain"},"_meta":{"colour":"red"}}}`,
		`{"1":{"class_type":"Deployment.other","inputs":{}}}`,
	} {
		got, err := f.fill(graph)
		require.NoError(t, err)
		require.Nil(t, got.Prompt, graph)
	}
	got, err := f.FillGraph(t.Context(), job.Submission{Account: "globex", Prompt: json.RawMessage(three)})
	require.NoError(t, err)
	require.Nil(t, got.Prompt, "the deployments of another account do not exist")
}

func TestErrorsNameTheNodeThatCallsAndItsInput(t *testing.T) {
	t.Parallel()
	f := newFilling(t, graph.Limits{})
	f.deployAll()
	check := func(graphOf string) *graph.PromptError {
		filled, err := f.fill(graphOf)
		if err == nil {
			g, parseErr := graph.Parse(filled.Prompt, graph.Limits{})
			require.NoError(t, parseErr)
			_, err = f.Validator.Validate(t.Context(), g, noFiles{}, filled.Targets)
		}
		var refused *graph.PromptError
		require.ErrorAs(t, err, &refused, graphOf)
		if filled.Explain != nil {
			filled.Explain(refused)
		}
		return refused
	}
	const end = `,"3":{"class_type":"SaveImage","inputs":{"images":["7",0],"filename_prefix":"s"}}}`
	for name, test := range map[string]struct{ graph, input string }{
		"a value that the input does not accept": {`{"7":{"class_type":"Deployment.outer","inputs":{"width":"wide"}}` + end, "width"},
		"an unknown input":                       {`{"7":{"class_type":"Deployment.outer","inputs":{"depth":1}}` + end, "depth"},
		"a link of another type": {
			`{"1":{"class_type":"EmptyImage","inputs":{"width":8,"height":8,"batch_size":1,"color":0}},
				"7":{"class_type":"Deployment.outer","inputs":{"width":["1",0]}}` + end, "width",
		},
		"a file that does not exist": {`{"7":{"class_type":"Deployment.both","inputs":{"image":"none.png"}}` + end, "image"},
		"a file that the graph brings": {
			`{"7":{"class_type":"Deployment.invert","inputs":{"image":"https://example.com/a.png"}}` + end, "image",
		},
		"a circle of links": {
			`{"7":{"class_type":"Deployment.invert","inputs":{"image":["8",0]}},
				"8":{"class_type":"Deployment.invert","inputs":{"image":["7",0]}}` + end, "",
		},
	} {
		refused := check(test.graph)
		require.NotEmpty(t, refused.NodeErrors, name)
		require.Contains(t, []string{"7", "8"}, refused.NodeErrors[0].Node, name)
		require.Contains(t, refused.NodeErrors[0].Class, "Deployment.", name)
		if test.input != "" {
			require.Equal(t, test.input, refused.NodeErrors[0].Errors[0].ExtraInfo["input_name"], name)
		}
		shown, err := json.Marshal(refused)
		require.NoError(t, err)
		require.NotRegexp(t, `[78]:`, string(shown), "%s: an id of a node of a version", name)
	}
}

func TestGraphsThatCallTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 101 {
		fmt.Fprintf(&many, `"%d":{"class_type":"Deployment.plain","inputs":{}},`, i+10)
	}
	one := `{"1":{"class_type":"Deployment.plain","inputs":{}},"2":{"class_type":"Deployment.plain","inputs":{}}}`
	for name, test := range map[string]struct {
		limits      graph.Limits
		graph, says string
	}{
		"nodes that call": {graph.Limits{}, "{" + strings.TrimSuffix(many.String(), ",") + "}", "more than 100 nodes that call deployments"},
		"levels":          {graph.Limits{}, `{"1":{"class_type":"Deployment.level-17","inputs":{}}}`, "more than 16 levels"},
		"nodes":           {graph.Limits{MaxNodes: 4}, one, "more than 4 nodes"},
		"bytes":           {graph.Limits{MaxBytes: len(plainPicture) + 50}, one, "bytes"},
		"a circle":        {graph.Limits{}, `{"1":{"class_type":"Deployment.round","inputs":{}}}`, "the deployment round would call itself"},
	} {
		f := newFilling(t, test.limits)
		f.deploy("plain", plainPicture, "width=1.width")
		f.deploy("level-0", outerPicture, "width=1.width")
		if name == "levels" {
			for i := range 17 {
				f.deploy(fmt.Sprintf("level-%d", i+1), strings.Replace(outerPicture, "plain", fmt.Sprintf("level-%d", i), 1), "width=1.width")
			}
		}
		f.put("round", `{"1":{"class_type":"Deployment.round","inputs":{}}}`, callable.Schema{})
		_, err := f.fill(test.graph)
		require.Equal(t, fault.Invalid, fault.KindOf(err), name)
		require.ErrorContains(t, err, test.says, name)
	}
}

// put records a deployment without the checks of Add.
func (f filling) put(name, graphOf string, schema callable.Schema) deployment.ID {
	f.t.Helper()
	content := deployment.Content{Graph: json.RawMessage(graphOf), Schema: schema}
	var err error
	content.Classes, err = callable.Digests(content.Graph, f.Validator.Classes)
	require.NoError(f.t, err)
	raw, err := json.Marshal(content)
	require.NoError(f.t, err)
	digest, err := blob.PutBytes(f.t.Context(), f.blobs, raw)
	require.NoError(f.t, err)
	d := deployment.Deployment{
		Routing: deployment.Routing{State: deployment.Ready, Live: 1}, ID: deployment.ID(uuid.NewString()), Account: "acme", Name: name,
		Versions: []deployment.Version{{Number: 1, Digest: digest}},
	}
	f.store.all = append(f.store.all, d)
	return d.ID
}

func TestADeploymentThatWouldCallItselfIsRefused(t *testing.T) {
	t.Parallel()
	f := newFilling(t, graph.Limits{})
	f.deployAll()
	plain, err := f.Find(t.Context(), "acme", "plain")
	require.NoError(t, err)
	f.put("early", `{"1":{"class_type":"Deployment.late","inputs":{}}}`, callable.Schema{})
	for name, test := range map[string]struct{ deployed, calls string }{
		"itself":                       {"new", "new"},
		"itself by its id":             {"plain", string(plain.ID)},
		"a caller":                     {"plain", "outer"},
		"a caller from before it was":  {"late", "early"},
		"by a name that is one of two": {"outer", "outer"},
	} {
		err := f.tryDeploy(test.deployed, strings.Replace(outerPicture, "Deployment.plain", "Deployment."+test.calls, 1))
		require.Equal(t, fault.CodeInvalidDeployment, fault.CodeOf(err), name)
		require.ErrorContains(t, err, "would call itself", name)
	}
	f.put("round", `{"1":{"class_type":"Deployment.round","inputs":{}}}`, callable.Schema{})
	require.NoError(t, f.tryDeploy("new", strings.Replace(outerPicture, "Deployment.plain", "Deployment.round", 1)), "a circle of others")
}
