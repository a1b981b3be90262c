package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// services are all that a Service depends on. It notes each call; one of them may fail.
type services struct {
	fails     string // the call that fails
	filled    job.Filled
	calls     []string
	jobs      []job.NewJob
	delivered []outbox.Intent
}

var errFails = errors.New("it is away")

func (s *services) call(name string) error {
	s.calls = append(s.calls, name)
	if name == s.fails {
		return errFails
	}
	return nil
}

// pinned are files of an account that name the assets which are read through them.
type pinned struct{ node.Files }

func (pinned) Pinned() []string                                         { return []string{"asset"} }
func (pinned) List(context.Context, node.Folder, int) ([]string, error) { return nil, nil }
func (s *services) ForAccount(string) node.Files                        { return pinned{} }
func (s *services) Check(context.Context, string, string) error         { return s.call("credential") }
func (s *services) CheckLabels(context.Context, string, []string) error { return s.call("labels") }
func (s *services) ResolveAssets(context.Context, string, *graph.Graph) error {
	return s.call("assets")
}
func (s *services) Seal(owner, secret string) []byte { return []byte(owner + "/" + secret) }

func (s *services) Bounds(context.Context, string) (job.Bounds, error) {
	return job.Bounds{Slots: 2, QueueDepth: 3}, s.call("bounds")
}

func (s *services) FillGraph(context.Context, job.Submission) (job.Filled, error) {
	return s.filled, s.call("deployments")
}

// ofServers are the servers and the blobs of services, whose methods have the names of other ones.
type ofServers struct{ *services }

func (s ofServers) Check(*graph.Accepted, []string) error { return s.call("servers") }

func (s ofServers) Price(_ *graph.Accepted, labels []string) int64 { return int64(100 * len(labels)) }

type ofBlobs struct {
	blob.Store
	*services
}

func (s ofBlobs) Create(ctx context.Context, d blob.Durability) (blob.Writer, error) {
	if err := s.call("blobs"); err != nil {
		return nil, err
	}
	return s.Store.Create(ctx, d)
}

type ofJobs struct {
	job.Store
	*services
}

func (s ofJobs) Submit(_ context.Context, n job.NewJob) (job.Admission, error) {
	if err := s.call("store"); err != nil {
		return job.Admission{}, err
	}
	s.jobs = append(s.jobs, n)
	return job.Admission{Job: job.Job{ID: n.ID, Account: n.Account}, Intents: []outbox.Intent{{ID: 7}}}, nil
}

// service returns a Service over the services, the classes Show and Ask, of which Ask calls a partner's model.
func (s *services) service(t *testing.T, graphs *job.Handover) *job.Service {
	t.Helper()
	text := []node.Input{{Name: "text", Type: node.String}}
	run := func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }
	classes, err := node.NewRegistry(
		&node.Class{Name: "Show", Module: "nodes", Inputs: text, OutputNode: true, Run: run},
		&node.Class{Name: "Ask", Module: "nodes", Inputs: text, OutputNode: true, Partner: true, Run: run},
	)
	require.NoError(t, err)
	return job.NewService(job.Deps{
		Store: ofJobs{nil, s}, Validator: &graph.Validator{Classes: classes}, Files: s, Assets: s, Blobs: ofBlobs{mem.New(), s}, Tiers: s,
		Sealer: s, Segments: ofServers{s}, Labels: s, Credentials: s, ForServers: true, Graphs: graphs, Price: job.Price{NodeSecond: 5},
		Notify:      func(intents []outbox.Intent) { s.delivered = append(s.delivered, intents...) },
		Deployments: s, Log: slog.New(slog.DiscardHandler),
	})
}

const twoNodes = `{"1":{"class_type":"Show","inputs":{"text":"x"}},"2":{"class_type":"Ask","inputs":{"text":"x"}}}`

// everything is a submission with a value in each field. Its graph is too large for an event.
func everything() job.Submission {
	number := 4.5
	return job.Submission{
		Account: "a", RequestID: "r", PublicID: "11111111-2222-4333-8444-555555555555", Surface: job.SurfaceV2, ClientID: "c",
		Prompt: json.RawMessage(twoNodes), Credential: "key", ComfyOrg: map[string]string{"api_key_comfy_org": "k"}, Number: &number, Front: true,
		ExtraData: map[string]json.RawMessage{
			"millrace": json.RawMessage(`{"labels":["b","a"]}`), "extra_pnginfo": json.RawMessage(`{"workflow":{"id":"w"}}`),
			"long": json.RawMessage(`"` + strings.Repeat("x", 16<<10) + `"`),
		},
		Targets: []string{"1", "2"}, Metadata: map[string]string{"k": "v"}, IdempotencyKey: "i", Origin: &job.Origin{Job: "o"},
		Actor: "operator:x", Reason: "because", Deployment: &job.Deployed{ID: "d"}, Asked: "digest", RouteKey: "route",
		Inputs: map[string]json.RawMessage{"in": json.RawMessage("1")},
	}
}

// A submission is recorded with all that it says, with its limits and its price.
func TestASubmissionIsRecordedWhole(t *testing.T) {
	t.Parallel()
	s, graphs := &services{}, graph.NewHandover[job.Fresh]()
	service, sub := s.service(t, graphs), everything()
	made, err := service.Submit(t.Context(), sub)
	require.NoError(t, err)
	require.Len(t, s.jobs, 1)
	n := s.jobs[0]
	require.Equal(t, job.IDOfChoice("a", sub.PublicID), n.ID)
	require.Equal(t, job.NewJob{
		ID: n.ID, Account: "a", Number: sub.Number, Front: true, Pins: []string{"asset"}, IdempotencyKey: "i", Operation: "jobs", RequestID: "r",
		Actor: "operator:x", Reason: "because", Bounds: job.Bounds{Slots: 2, QueueDepth: 3}, RouteKey: "route",
		Price:  job.Price{NodeSecond: 5, Server: 200, Partners: []string{"2"}},
		Sealed: []byte(string(n.ID) + "/" + job.Secrets{Credential: "key", ComfyOrg: sub.ComfyOrg}.Text()),
		Submitted: job.SubmittedV1{
			Surface: job.SurfaceV2, ClientID: "c", Document: n.Submitted.Document, Targets: []string{"1", "2"}, NodesTotal: 2,
			Metadata: sub.Metadata, Credential: true, Origin: sub.Origin, WorkflowID: "w", PublicID: sub.PublicID, Deployment: sub.Deployment,
		},
	}, n)
	require.Empty(t, n.Submitted.Document.Inline)
	src, err := n.Submitted.Document.Load(t.Context(), service.Blobs)
	require.NoError(t, err)
	require.Equal(t, job.Source{Prompt: sub.Prompt, ExtraData: sub.ExtraData, Inputs: sub.Inputs, Asked: "digest"}, src)
	require.Equal(t, job.Job{ID: n.ID, Account: "a"}, made.Job)
	require.Equal(t, []outbox.Intent{{ID: 7}}, s.delivered)
	g, fresh := graphs.Take(string(n.ID))
	require.Same(t, made.Accepted.Graph, g)
	require.Equal(t, n.Submitted.Document, fresh.Document)

	shadow := everything()
	shadow.Account, shadow.PublicID = account.Shadow("a"), ""
	_, err = service.Submit(t.Context(), shadow)
	require.NoError(t, err)
	require.NotEqual(t, job.IDOfChoice(shadow.Account, ""), s.jobs[1].ID, "a job without a choice has an id of its own")
	require.Empty(t, s.jobs[1].Pins, "files of another account are not kept for a job")
}

// Whatever a submission needs and is away, the submission is refused with that, and nothing is recorded or started.
func TestASubmissionIsRefusedIfACallFails(t *testing.T) {
	t.Parallel()
	all := &services{}
	_, err := all.service(t, nil).Submit(t.Context(), everything())
	require.NoError(t, err)
	require.Equal(t, []string{"deployments", "assets", "labels", "servers", "credential", "bounds", "blobs", "store"}, all.calls)
	for i, name := range all.calls {
		s, graphs := &services{fails: name}, graph.NewHandover[job.Fresh]()
		made, err := s.service(t, graphs).Submit(t.Context(), everything())
		require.ErrorIs(t, err, errFails, name)
		require.Equal(t, all.calls[:i+1], s.calls, "nothing follows the failure")
		require.Zero(t, made, name)
		require.Empty(t, s.jobs, name)
		require.Empty(t, s.delivered, name)
		g, _ := graphs.Take(string(job.IDOfChoice("a", everything().PublicID)))
		require.Nil(t, g, name)
	}
}

// A submission of 16 KiB is a part of its event. A larger one is a blob.
func TestASmallSubmissionIsAPartOfItsEvent(t *testing.T) {
	t.Parallel()
	sub := job.Submission{Account: "a", Prompt: json.RawMessage(twoNodes), ExtraData: map[string]json.RawMessage{"x": json.RawMessage(`""`)}}
	raw, err := json.Marshal(job.Source{Prompt: sub.Prompt, ExtraData: sub.ExtraData})
	require.NoError(t, err)
	for size, inline := range map[int]bool{16<<10 - 1: true, 16 << 10: true, 16<<10 + 1: false} {
		s := &services{}
		sub.ExtraData = map[string]json.RawMessage{"x": json.RawMessage(`"` + strings.Repeat("x", size-len(raw)) + `"`)}
		_, err := s.service(t, nil).Submit(t.Context(), sub)
		require.NoError(t, err)
		doc := s.jobs[0].Submitted.Document
		require.Equal(t, inline, len(doc.Inline) == size, "%d bytes", size)
		require.Equal(t, inline, doc.Blob == "", "%d bytes", size)
	}
}

// A graph whose nodes call deployments is validated and run as the graph that stands in its place, and refused in the words of the
// submitted graph.
func TestAGraphThatCallsDeploymentsIsFilled(t *testing.T) {
	t.Parallel()
	const submitted = `{"9":{"class_type":"Deployment.x","inputs":{}}}`
	calls := &job.Calls{Mark: ":", Nodes: map[string]string{"9": "Deployment.x"}}
	explained := 0
	fill := func(prompt string) job.Filled {
		return job.Filled{Prompt: json.RawMessage(prompt), Targets: []string{"9:1", "9:2"}, Calls: calls, Explain: func(e *graph.PromptError) {
			explained++
			own := e.NodeErrors
			e.NodeErrors = nil
			for _, n := range own {
				e.NodeErrors = append(e.NodeErrors, &graph.NodeError{Node: "explained " + n.Node})
			}
			e.Message = "explained"
		}}
	}
	const good, bad = `"9:1":{"class_type":"Show","inputs":{"text":"x"}}`, `"9:2":{"class_type":"Show","inputs":{}}`
	submit := func(s *services, sub job.Submission) (job.Submitted, error) {
		sub.Account, sub.Prompt = "a", json.RawMessage(submitted)
		return s.service(t, nil).Submit(t.Context(), sub)
	}

	s := &services{filled: fill(`{` + good + `}`)}
	_, err := submit(s, job.Submission{Targets: []string{"9"}})
	require.NoError(t, err)
	n := s.jobs[0].Submitted
	require.Equal(t, calls, n.Calls)
	require.Equal(t, []string{"9:1"}, n.Targets)
	src, err := n.Document.Load(t.Context(), nil)
	require.NoError(t, err)
	require.JSONEq(t, submitted, string(src.Prompt))
	require.JSONEq(t, `{`+good+`}`, string(src.Runs()))
	require.Equal(t, 1, explained)

	s = &services{filled: fill(`{` + good + `,` + bad + `}`)}
	made, err := submit(s, job.Submission{})
	require.NoError(t, err, "an output of two runs")
	require.Len(t, made.Accepted.NodeErrors, 1)
	require.Equal(t, "explained 9:2", made.Accepted.NodeErrors[0].Node)

	var refused *graph.PromptError
	_, err = submit(s, job.Submission{Deployment: &job.Deployed{ID: "d"}})
	require.ErrorAs(t, err, &refused, "a call has all outputs")
	require.Equal(t, "explained", refused.Message)
	_, err = submit(&services{filled: fill(`{` + bad + `}`)}, job.Submission{})
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "explained 9:2", refused.NodeErrors[0].Node)
	_, err = submit(&services{filled: fill(`{`)}, job.Submission{})
	require.ErrorContains(t, err, "the workflow is not valid JSON")
	s = &services{filled: fill(`{` + good + `}`), fails: "servers"}
	_, err = submit(s, job.Submission{})
	require.ErrorIs(t, err, errFails)
	_, err = submit(&services{}, job.Submission{})
	require.ErrorAs(t, err, &refused, "nobody knows the class of a node that no version fills")
	require.NotEqual(t, "explained", refused.Message)
}

// missing is an account without the asset that a graph names.
type missing struct{ *services }

func (missing) ResolveAssets(context.Context, string, *graph.Graph) error {
	return fault.New(fault.Invalid, fault.CodeMissingAsset, "asset 1234 does not exist")
}

// The files of a version are not named to those who may only call it.
func TestAMissingFileOfAVersionIsNotNamed(t *testing.T) {
	t.Parallel()
	for _, filled := range []bool{false, true} {
		s := &services{}
		if filled {
			s.filled = job.Filled{Prompt: json.RawMessage(twoNodes), Explain: func(*graph.PromptError) {}}
		}
		service := s.service(t, nil)
		service.Assets = missing{s}
		_, err := service.Submit(t.Context(), job.Submission{Account: "a", Prompt: json.RawMessage(twoNodes)})
		require.Equal(t, fault.CodeMissingAsset, fault.CodeOf(err))
		require.Equal(t, fault.Invalid, fault.KindOf(err))
		want := "asset 1234 does not exist"
		if filled {
			want = "a file that an input names does not exist"
		}
		var refused *fault.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, want, refused.Message)
	}
}

// A call of a deployment whose graph has a faulty output is refused. Another submission runs the rest.
func TestACallOfADeploymentHasAllOutputs(t *testing.T) {
	t.Parallel()
	const prompt = `{"1":{"class_type":"Show","inputs":{"text":"x"}},"2":{"class_type":"Show","inputs":{}}}`
	s := &services{}
	made, err := s.service(t, nil).Submit(t.Context(), job.Submission{Account: "a", Prompt: json.RawMessage(prompt)})
	require.NoError(t, err)
	require.Len(t, made.Accepted.NodeErrors, 1)
	_, err = s.service(t, nil).Submit(t.Context(), job.Submission{
		Account: "a", Prompt: json.RawMessage(prompt), Deployment: &job.Deployed{ID: "d"},
	})
	var refused *graph.PromptError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, made.Accepted.NodeErrors, refused.NodeErrors)
	require.Len(t, s.jobs, 1)
	_, err = s.service(t, nil).Submit(t.Context(), job.Submission{
		Account: "a", Prompt: json.RawMessage(twoNodes), Deployment: &job.Deployed{},
	})
	require.NoError(t, err)
	_, err = s.service(t, nil).Submit(t.Context(), job.Submission{Account: "a", Prompt: json.RawMessage(`{`)})
	require.ErrorContains(t, err, "the workflow is not valid JSON")
}

// Only an empty extra_data, or one with a list of labels, is accepted.
func TestLabelsOfASubmissionAreParsed(t *testing.T) {
	t.Parallel()
	for raw, c := range map[string]struct {
		want []string
		says string
	}{
		`{"labels":["b","a","b"]}`: {want: []string{"a", "b"}},
		`{}`:                       {want: []string{}},
		`{"labels":"a"}`:           {says: "extra_data.millrace must be an object"},
		`[]`:                       {says: "extra_data.millrace must be an object"},
		`{"labels":["a b"]}`:       {says: `extra_data.millrace.labels: "a b" is not a label`},
	} {
		src := job.Source{ExtraData: map[string]json.RawMessage{"millrace": json.RawMessage(raw)}}
		labels, err := src.ParseLabels()
		require.Equal(t, c.want, labels, raw)
		require.Equal(t, c.want, src.Labels(), raw)
		if c.says == "" {
			require.NoError(t, err, raw)
			continue
		}
		require.Equal(t, fault.Invalid, fault.KindOf(err), raw)
		require.ErrorContains(t, err, c.says)
		s := &services{}
		_, err = s.service(t, nil).Submit(t.Context(), job.Submission{Account: "a", Prompt: json.RawMessage(twoNodes), ExtraData: src.ExtraData})
		require.ErrorContains(t, err, c.says)
		require.NotContains(t, s.calls, "servers")
	}
	labels, err := job.Source{}.ParseLabels()
	require.NoError(t, err)
	require.Nil(t, labels)
}

func TestPreviewsAreTurnedOffByNone(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]bool{`"none"`: false, `"auto"`: true, `7`: true, ``: true} {
		require.Equal(t, want, job.Source{ExtraData: map[string]json.RawMessage{"preview_method": json.RawMessage(method)}}.Previews(), method)
	}
	require.True(t, job.Source{}.Previews())
}

// Without accounts no credential is checked, and without partner nodes none is needed.
func TestACredentialIsCheckedForPartnerNodesOnly(t *testing.T) {
	t.Parallel()
	const plain = `{"1":{"class_type":"Show","inputs":{"text":"x"}}}`
	for prompt, checked := range map[string]bool{plain: false, twoNodes: true} {
		s := &services{}
		_, err := s.service(t, nil).Submit(t.Context(), job.Submission{Account: "a", Prompt: json.RawMessage(prompt)})
		require.NoError(t, err)
		require.Equal(t, checked, strings.Contains(strings.Join(s.calls, " "), "credential"))
	}
	s := &services{fails: "credential"}
	service := s.service(t, nil)
	service.Credentials = nil
	_, err := service.Submit(t.Context(), job.Submission{Account: "a", Prompt: json.RawMessage(twoNodes)})
	require.NoError(t, err)
}

// A refused model names its source in words and in data, and says who can help.
func TestTheSourceOfARefusedModelIsComplete(t *testing.T) {
	t.Parallel()
	const drawing = `{"workflow":{"nodes":[{"properties":{"models":[
		{"name":"m.safetensors","url":"https://example.com/m","directory":%s},
		{"name":"m.safetensors","url":"https://example.com/another"}]}}]}}`
	for directory, belongs := range map[string]string{`"checkpoints"`: " and belongs in the folder checkpoints", `""`: ""} {
		p := newPast(t)
		_, err := p.Service.Submit(t.Context(), job.Submission{
			Account: "a", Prompt: json.RawMessage(`{"1":{"class_type":"Load","inputs":{"ckpt_name":"m.safetensors"}}}`),
			ExtraData: map[string]json.RawMessage{"extra_pnginfo": json.RawMessage(strings.Replace(drawing, "%s", directory, 1))},
		})
		var refused *graph.PromptError
		require.ErrorAs(t, err, &refused)
		e := refused.NodeErrors[0].Errors[0]
		require.True(t, strings.HasSuffix(e.Details, "; the workflow says that the file is at https://example.com/m"+belongs+
			"; an operator can put it there, or allow its address in MILLRACE_WEIGHT_SOURCES"), e.Details)
		source, ok := e.ExtraInfo["source"].(uiworkflow.Model)
		require.True(t, ok)
		require.Equal(t, "https://example.com/m", source.URL)
	}
}
