package job_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// of records the submission of a graph that has ended, and returns its job.
func (p past) of(t *testing.T, submitted job.SubmittedV1, prompt string) job.ID {
	t.Helper()
	raw, err := json.Marshal(map[string]json.RawMessage{"prompt": json.RawMessage(prompt)})
	require.NoError(t, err)
	submitted.Document = job.Document{Inline: string(raw)}
	of := job.NewID()
	p.append(t, of, job.TypeSubmitted, submitted)
	p.append(t, of, job.TypeFailed, job.FailedV1{})
	return of
}

// A changed input is one that the graph or the class has. What else is wrong with a graph is found before a retry, too.
func TestRetriesThatChangeInputs(t *testing.T) {
	t.Parallel()
	const (
		show  = `{"1":{"class_type":"Show","inputs":{"text":"x","sizes":"y","own":1}}}`
		part  = `{"1":{"class_type":"Show","inputs":{"text":"x"}}}`
		gone  = `{"1":{"class_type":"Gone","inputs":{}}}`
		empty = `{"1":{"inputs":{}}}`
	)
	for name, c := range map[string]struct {
		prompt, target string
		limits         graph.Limits
		want           fault.Code
	}{
		"an input that the class has":                 {part, "1.sizes", graph.Limits{}, ""},
		"an input that only the graph has":            {show, "1.own", graph.Limits{}, ""},
		"a part of an input":                          {show, "1.sizes.first", graph.Limits{}, ""},
		"a part of none":                              {show, "1.size.first", graph.Limits{}, fault.CodeInvalidAssignment},
		"an input of a class that is gone":            {gone, "1.text", graph.Limits{}, fault.CodeInvalidWorkflow},
		"a graph without a class":                     {empty, "1.text", graph.Limits{}, fault.CodeInvalidWorkflow},
		"nothing, of a graph without a class":         {empty, "", graph.Limits{}, fault.CodeInvalidWorkflow},
		"a graph that is too large today":             {show, "1.text", graph.Limits{MaxBytes: 10}, fault.CodeInvalidWorkflow},
		"nothing, of a graph that is too large today": {show, "", graph.Limits{MaxBytes: 10}, fault.CodeInvalidWorkflow},
	} {
		p := newPast(t)
		p.Service.Limits = c.limits
		r := job.Retry{Of: p.of(t, job.SubmittedV1{Targets: []string{"1"}}, c.prompt), Actor: "x"}
		if c.target != "" {
			r.Set = []job.Assignment{{Target: c.target, Value: json.RawMessage(`"z"`)}}
		}
		require.Equal(t, c.want, fault.CodeOf(p.Check(t.Context(), r)), name)
		_, err := p.Retry(t.Context(), r)
		require.Equal(t, c.want, fault.CodeOf(err), name)
		if c.want != "" {
			require.Empty(t, p.store.jobs, name)
			if _, broken := graph.Parse(json.RawMessage(c.prompt), c.limits); broken != nil {
				require.EqualError(t, err, broken.Error(), name)
			}
			continue
		}
		require.Len(t, p.store.jobs, 1, name)
		require.Equal(t, []string{c.target}, p.store.jobs[0].Submitted.Origin.Set, name)
	}
}

// A retry needs a credential if the original had one.
func TestARetryNeedsACredentialAsTheOriginalDid(t *testing.T) {
	t.Parallel()
	const ask = `{"1":{"class_type":"Ask","inputs":{"text":"x","sizes":"y"}}}`
	for _, c := range []struct {
		had  bool
		key  string
		want fault.Code
	}{{false, "", ""}, {false, "key", ""}, {true, "", fault.CodeCredentialRequired}, {true, "key", ""}} {
		p := newPast(t)
		p.Service.Sealer = sealer{}
		_, err := p.Retry(t.Context(), job.Retry{
			Of: p.of(t, job.SubmittedV1{Targets: []string{"1"}, Credential: c.had}, ask), Actor: "x", Credential: c.key,
		})
		require.Equal(t, c.want, fault.CodeOf(err), "%+v", c)
		if c.want == "" {
			require.Equal(t, c.key != "", p.store.jobs[0].Submitted.Credential)
		}
	}
}

// A retry has all that the original submission said, and names itself.
func TestARetryIsTheWholeSubmission(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	first := job.SubmittedV1{
		Surface: job.SurfaceOpenAI, ClientID: "c", Targets: []string{"1"}, Metadata: map[string]string{"k": "v"},
		Deployment: &job.Deployed{ID: "d", Version: 2}, PublicID: "11111111-2222-4333-8444-555555555555",
	}
	const source = `{"asked":"q",
		"prompt":{"1":{"class_type":"Show","inputs":{"text":"x","sizes":"y"}}},"extra_data":{"e":1},"inputs":{"in":2}}`
	first.Document.Inline = source
	of := job.NewID()
	p.append(t, of, job.TypeSubmitted, first)
	p.append(t, of, job.TypeSucceeded, job.SucceededV1{})
	made, err := p.Retry(t.Context(), job.Retry{Of: of, Account: "a", FromNode: "1", Actor: "a", Reason: "because", RequestID: "r"})
	require.NoError(t, err)
	n := p.store.jobs[0]
	require.Equal(t, made.Job.ID, n.ID)
	require.JSONEq(t, source, n.Submitted.Document.Inline)
	first.Document, first.PublicID, first.NodesTotal = n.Submitted.Document, "", 1
	first.Origin = &job.Origin{Job: of, Chosen: "11111111-2222-4333-8444-555555555555", FromNode: "1"}
	require.Equal(t, job.NewJob{
		ID: n.ID, Account: "a", Submitted: first, Operation: "jobs", RequestID: "r", Actor: "a", Reason: "because",
	}, n)
}

// A log that cannot be read or decoded is an error for whoever reads a submission.
func TestASubmissionOfALogThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.Sources.Events = away{}
	_, err := p.Retry(t.Context(), job.Retry{Of: id, Actor: "x"})
	require.ErrorIs(t, err, errAway)
	_, err = p.Sources.Load(t.Context(), "a", id)
	require.ErrorIs(t, err, errAway)
	_, whole, err := p.Sources.LoadWithin(t.Context(), "a", id, 1)
	require.ErrorIs(t, err, errAway)
	require.False(t, whole)
	p.Sources.Events = &got{recorded: []eventlog.Recorded{{Version: 1, Account: "a", Type: job.TypeSubmitted, Data: json.RawMessage(`[]`)}}}
	_, err = p.Sources.Load(t.Context(), "a", id)
	require.ErrorContains(t, err, job.TypeSubmitted)
	_, _, err = p.Sources.Read(t.Context(), id)
	require.Error(t, err)
}

// What names no node and no input changes nothing.
func TestAnAssignmentThatFitsNoNodeIsRefused(t *testing.T) {
	t.Parallel()
	const nodes = `{"1":{"inputs":{"b":1}},"":{"inputs":{}},"1.2":{"inputs":{}}}`
	for _, c := range []struct {
		prompt, target, value string
		want                  fault.Code
		says                  string
	}{
		{nodes, "1.", `7`, fault.CodeUnknownNode, `no node for "1."`},
		{nodes, "1", `7`, fault.CodeUnknownNode, `no node for "1"`},
		{nodes, ".a", `7`, fault.CodeUnknownNode, `no node for ".a"`},
		{nodes, "1ab", `7`, fault.CodeUnknownNode, `no node for "1ab"`},
		{nodes, "1.a", `{`, fault.CodeInvalidAssignment, "the value for 1.a is not JSON"},
		{`[]`, "1.a", `7`, fault.CodeInvalidAssignment, "the graph is not an object of objects"},
		{`{"1":{}}`, "1.a", `7`, fault.CodeInvalidAssignment, "the graph has no inputs at the path"},
		{`{"1":`, "1.a", `7`, "", "read a member"},
	} {
		_, changed, err := job.Assign(json.RawMessage(c.prompt), []job.Assignment{{Target: c.target, Value: json.RawMessage(c.value)}})
		require.Error(t, err, c.target)
		require.Nil(t, changed)
		require.ErrorContains(t, err, c.says)
		require.Equal(t, c.want, fault.CodeOf(err), c.target)
	}
	raw, changed, err := job.Assign(json.RawMessage(nodes), []job.Assignment{
		{Target: "1.2.b", Value: json.RawMessage(`7`)}, {Target: "1.a", Value: json.RawMessage(`8`)},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"1.2.b", "1.a"}, changed)
	require.Equal(t, `{"1":{"inputs":{"b":1,"a":8}},"":{"inputs":{}},"1.2":{"inputs":{"b":7}}}`, string(raw), "in the order of before")
}

// A run that is not free reserves its price, the reserve and a minute on a server.
func TestTheReservationOfAPrice(t *testing.T) {
	t.Parallel()
	for price, want := range map[[4]int64]int64{
		{}: 0, {0, 0, 9, 0}: 0, {1, 0, 9, 0}: 10, {0, 1, 9, 0}: 9, {1, 0, 9, 2}: 130, {0, 0, 0, 1}: 60,
		{credit.MaxAmount, 0, 1, 0}: credit.MaxAmount,
	} {
		p := job.Price{Run: price[0], NodeSecond: price[1], Reserve: price[2], Server: price[3]}
		require.Equal(t, want, p.Hold(), "%+v", p)
		require.Equal(t, price[0]+price[1]+price[3] == 0, p.Free(), "%+v", p)
	}
	most := job.Bill{Price: job.Price{Server: credit.MaxAmount}}
	for range 2 {
		most.Add(1, job.SegmentEndedV1{Run: 1, Millis: 1 << 40, Price: credit.MaxAmount, Outcome: job.SegmentDone})
		require.EqualValues(t, credit.MaxAmount, most.Server)
	}
	most.Price.Run = 1
	require.EqualValues(t, credit.MaxAmount, most.Total(job.TypeSucceeded))
	one := job.Bill{Price: job.Price{NodeSecond: 1000}, Millis: 3}
	require.EqualValues(t, 3, one.Total(job.TypeFailed), "by the millisecond")
}

// closing is a blob store that counts its open readers.
type closing struct {
	blob.Store
	open int
}

type closingReader struct {
	blob.Reader
	of *closing
}

func (c *closing) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	r, err := c.Store.Open(ctx, ref)
	if err == nil {
		c.open++
	}
	return closingReader{r, c}, err
}

func (r closingReader) Close() error {
	r.of.open--
	return r.Reader.Close()
}

func TestAnArchiveIsClosedWhenItIsRead(t *testing.T) {
	t.Parallel()
	blobs := &closing{Store: mem.New()}
	var archive bytes.Buffer
	require.NoError(t, job.WriteArchive(&archive, events("job-x", "a")))
	for _, content := range [][]byte{archive.Bytes(), []byte("no archive")} {
		ref, err := blob.PutBytes(t.Context(), blobs, content)
		require.NoError(t, err)
		_, _ = job.OpenArchive(t.Context(), blobs, ref.String())
		require.Zero(t, blobs.open)
	}
}

// A registry takes each event type once.
func TestTheEventTypesOfJobsAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	require.Error(t, job.Register(types))
}

// few are files of which the list is a part of a longer one.
type few struct {
	surroundings
	all []string
}

func (f few) ForAccount(string) node.Files                             { return f }
func (f few) List(context.Context, node.Folder, int) ([]string, error) { return f.all[:1], nil }

// The list of an account's files stays as it is when models are added to it.
func TestModelsThatAreFetchedLeaveTheListOfFilesAsItIs(t *testing.T) {
	t.Parallel()
	classes, err := node.NewRegistry(&node.Class{
		Name: "Weight", OutputNode: true, Remote: true, Run: func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil },
		Inputs: []node.Input{{Name: "file", Type: node.Combo, Weights: "checkpoints"}},
	})
	require.NoError(t, err)
	p := newPast(t)
	files := few{all: []string{"checkpoints/a.safetensors", "of somebody else"}}
	p.Service.Validator, p.Service.Files = &graph.Validator{Classes: classes}, files
	p.Service.Fetchable = func(map[string]json.RawMessage) []uiworkflow.Model {
		return []uiworkflow.Model{{Name: "m.safetensors", Folder: "checkpoints"}}
	}
	for _, file := range []string{"a", "m"} {
		_, err := p.Service.Submit(t.Context(), job.Submission{
			Account: "a", Prompt: json.RawMessage(`{"1":{"class_type":"Weight","inputs":{"file":"` + file + `.safetensors"}}}`),
		})
		require.NoError(t, err, file)
	}
	require.Equal(t, []string{"checkpoints/a.safetensors", "of somebody else"}, files.all)
}
