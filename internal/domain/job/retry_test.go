package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// made is a store that notes the jobs that are submitted.
type made struct {
	job.Store
	jobs []job.NewJob
}

func (m *made) Submit(_ context.Context, n job.NewJob) (job.Admission, error) {
	m.jobs = append(m.jobs, n)
	return job.Admission{Job: job.Job{ID: n.ID, Account: n.Account}}, nil
}

// past is a log with submissions of an account, and the service that takes retries of them.
type past struct {
	job.Retrier
	store *made
	log   *eventlogtest.Memory
}

func newPast(t *testing.T) past {
	t.Helper()
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	run := func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }
	text := []node.Input{{Name: "text", Type: node.String}, {Name: "sizes", Type: node.String}}
	classes, err := node.NewRegistry(
		&node.Class{Name: "Show", Module: "nodes", Inputs: text, OutputNode: true, Run: run},
		&node.Class{Name: "Ask", Module: "nodes", Inputs: text, OutputNode: true, Partner: true, Run: run},
		&node.Class{Name: "Load", Module: "nodes", OutputNode: true, Run: run, Inputs: []node.Input{
			{Name: "ckpt_name", Type: node.Combo, Options: []string{"there.safetensors"}},
		}},
	)
	require.NoError(t, err)
	p := past{store: &made{}, log: eventlogtest.NewMemory(types)}
	blobs := mem.New()
	p.Sources = job.Sources{Events: p.log, Registry: types, Blobs: blobs}
	p.Service = job.NewService(job.Deps{
		Store: p.store, Validator: &graph.Validator{Classes: classes}, Files: surroundings{}, Assets: surroundings{}, Tiers: surroundings{},
		Blobs: blobs, Notify: func([]outbox.Intent) {}, Log: slog.New(slog.DiscardHandler),
	})
	return p
}

func (p past) append(t *testing.T, id job.ID, eventType string, data any) {
	t.Helper()
	_, err := p.log.Append(t.Context(), eventlog.Append{
		Stream: id.Stream(), Account: "a", Expected: eventlog.AnyVersion, Events: []eventlog.Event{{ID: uuid.New(), Type: eventType, Data: data}},
	})
	require.NoError(t, err)
}

// submitted records the submission of a graph of one node, inline or as a blob.
func (p past) submitted(t *testing.T, class string, asBlob bool) (id job.ID, size int64) {
	t.Helper()
	raw, err := json.Marshal(job.Source{Prompt: json.RawMessage(`{"1":{"class_type":"` + class + `","inputs":{"text":"x","sizes":"y"}}}`)})
	require.NoError(t, err)
	id = job.NewID()
	doc := job.Document{Inline: string(raw)}
	if asBlob {
		ref, err := blob.PutBytes(t.Context(), p.Sources.Blobs, raw)
		require.NoError(t, err)
		doc = job.Document{Blob: ref.String()}
	}
	p.append(t, id, job.TypeSubmitted, job.SubmittedV1{
		Document: doc, Targets: []string{"1"}, Credential: true, ClientID: "c", PublicID: "chosen",
	})
	return id, int64(len(raw))
}

// A submission is read by its account only, whole or not at all.
func TestASubmissionIsReadByItsAccount(t *testing.T) {
	t.Parallel()
	for _, asBlob := range []bool{false, true} {
		p := newPast(t)
		id, size := p.submitted(t, "Show", asBlob)
		_, err := p.Sources.Load(t.Context(), "a", id)
		require.NoError(t, err)
		for most, fits := range map[int64]bool{size - 1: false, size: true, size + 1: true} {
			src, whole, err := p.Sources.LoadWithin(t.Context(), "a", id, most)
			require.NoError(t, err)
			require.Equal(t, fits, whole, "%d of %d bytes", most, size)
			require.Equal(t, fits, len(src.Prompt) > 0)
		}
		for name, load := range map[string]func() error{
			"another account": func() error { _, err := p.Sources.Load(t.Context(), "b", id); return err },
			"another account, within": func() error {
				_, _, err := p.Sources.LoadWithin(t.Context(), "b", id, size)
				return err
			},
			"an unknown job": func() error { _, err := p.Sources.Load(t.Context(), "a", job.NewID()); return err },
		} {
			require.True(t, fault.Is(load(), fault.NotFound), name)
		}
	}
}

// A submission that cannot be read is an error, and no empty graph.
func TestAnUnreadableSubmissionIsAnError(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	begun := job.NewID()
	p.append(t, begun, job.TypeAdmitted, job.AdmittedV1{Run: 1})
	_, err := p.Sources.Load(t.Context(), "a", begun)
	require.ErrorContains(t, err, "begins with "+job.TypeAdmitted)
	for name, doc := range map[string]job.Document{
		"no blob":        {Blob: blob.Ref{1}.String()},
		"no name":        {Blob: "x"},
		"no JSON":        {Inline: "{"},
		"nothing at all": {},
	} {
		id := job.NewID()
		p.append(t, id, job.TypeSubmitted, job.SubmittedV1{Document: doc})
		_, err := p.Sources.Load(t.Context(), "a", id)
		require.Error(t, err, name)
		_, whole, err := p.Sources.LoadWithin(t.Context(), "a", id, 1<<20)
		require.Error(t, err, name)
		require.False(t, whole, name)
	}
}

// A retry is a new job with the submission of an ended one. Whatever it lacks is refused before anything is recorded.
func TestRetriesOfEndedJobs(t *testing.T) {
	t.Parallel()
	set := func(target string) []job.Assignment {
		return []job.Assignment{{Target: target, Value: json.RawMessage(`"z"`)}}
	}
	for name, c := range map[string]struct {
		class string
		runs  bool // it has not ended
		retry job.Retry
		want  fault.Code // "" = it is accepted
		names string     // part of the error
	}{
		"as it was":                    {},
		"by its account":               {retry: job.Retry{Account: "a"}},
		"by another account":           {retry: job.Retry{Account: "b"}, want: fault.CodeJobNotFound},
		"of a job that runs":           {runs: true, want: fault.CodeJobNotFinished, names: " is running: cancel it first"},
		"of a job that runs, by owner": {runs: true, retry: job.Retry{Account: "a"}, want: fault.CodeJobNotFinished, names: "job chosen is"},
		"without an actor":             {retry: job.Retry{Actor: "-"}, want: fault.CodeInvalidRequest},
		"with a long reason":           {retry: job.Retry{Reason: strings.Repeat("r", 1000)}},
		"with a longer reason":         {retry: job.Retry{Reason: strings.Repeat("r", 1001)}, want: fault.CodeInvalidRequest},
		"from a node":                  {retry: job.Retry{FromNode: "1"}},
		"from a node that is absent":   {retry: job.Retry{FromNode: "2"}, want: fault.CodeUnknownNode},
		"with another input":           {retry: job.Retry{Set: set("1.text")}},
		"with an input that no class declares": {
			retry: job.Retry{Set: set("1.tixt")}, want: fault.CodeInvalidAssignment, names: `has no input "tixt"; it has: text, sizes`,
		},
		"with an input that is not the only one": {
			class: "Load", retry: job.Retry{Set: set("1.tixt")}, want: fault.CodeInvalidAssignment, names: "it has: ckpt_name",
		},
		"with a node that is absent":    {retry: job.Retry{Set: set("2.text")}, want: fault.CodeUnknownNode},
		"of a partner, without its key": {class: "Ask", want: fault.CodeCredentialRequired},
		"of a partner, without any key": {class: "Ask", retry: job.Retry{NoCredential: true}},
		"of a partner, by its account": {
			class: "Ask", retry: job.Retry{Account: "a"}, want: fault.CodeCredentialRequired, names: "job chosen calls",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPast(t)
			class := "Show"
			if c.class != "" {
				class = c.class
			}
			of, _ := p.submitted(t, class, false)
			p.append(t, of, job.TypeAdmitted, job.AdmittedV1{Run: 1})
			if !c.runs {
				p.append(t, of, job.TypeFailed, job.FailedV1{Run: 1})
			}
			r := c.retry
			r.Of = of
			switch r.Actor {
			case "":
				r.Actor = "operator:x"
			case "-":
				r.Actor = ""
			}
			checked := p.Check(t.Context(), r)
			_, err := p.Retry(t.Context(), r)
			require.Equal(t, c.want, fault.CodeOf(err), "%v", err)
			require.Equal(t, c.want, fault.CodeOf(checked), "%v", checked)
			if c.want != "" {
				require.ErrorContains(t, err, c.names)
				require.Empty(t, p.store.jobs)
				return
			}
			require.NoError(t, err)
			require.Len(t, p.store.jobs, 1, "a check makes no job")
			n := p.store.jobs[0]
			require.Equal(t, "a", n.Account)
			require.Equal(t, of, n.Submitted.Origin.Job)
			require.Equal(t, job.PublicID("chosen"), n.Submitted.Origin.PublicID())
			require.Equal(t, r.FromNode, n.Submitted.Origin.FromNode)
			require.Len(t, n.Submitted.Origin.Set, len(r.Set))
			require.Equal(t, "c", n.Submitted.ClientID)
			require.Equal(t, len(r.Set) > 0, strings.Contains(n.Submitted.Document.Inline, `"z"`))
		})
	}
	p := newPast(t)
	require.Equal(t, fault.CodeJobNotFound, fault.CodeOf(p.Check(t.Context(), job.Retry{Of: job.NewID(), Actor: "x"})))
	lost := job.NewID()
	p.append(t, lost, job.TypeSubmitted, job.SubmittedV1{Document: job.Document{Blob: blob.Ref{1}.String()}})
	p.append(t, lost, job.TypeFailed, job.FailedV1{Run: 1})
	err := p.Check(t.Context(), job.Retry{Of: lost, Actor: "x"})
	require.ErrorContains(t, err, blob.Ref{1}.String(), "its submission is lost")
}

// Only what ran for this run on our machines or on servers is charged.
func TestABillHasTheTimeOfItsRunOnly(t *testing.T) {
	t.Parallel()
	b := job.Bill{}
	for _, data := range []any{
		job.SubmittedV1{},
		job.SubmittedV1{Price: &job.Price{Run: 7, NodeSecond: 1000, Server: 50, Partners: []string{"p"}}},
		job.NodeExecutedV1{Run: 1, Node: "1", Millis: 2000},
		job.NodeExecutedV1{Run: 1, Node: "2", Millis: 9000, Cached: true},
		job.NodeExecutedV1{Run: 2, Node: "3", Millis: 9000},
		job.NodeExecutedV1{Run: 1, Node: "p", Millis: 9000},
		job.NodeExecutedV1{Run: 1, Node: "4", Millis: -5},
		job.SegmentEndedV1{Run: 1, Millis: 4000, Price: 30, Outcome: job.SegmentDone},
		job.SegmentEndedV1{Run: 2, Millis: 4000, Price: 30, Outcome: job.SegmentDone},
		job.SegmentEndedV1{Run: 1, Millis: 4000, Price: 30, Outcome: job.SegmentGivenUp},
		job.SegmentEndedV1{Run: 1, Millis: 1000, Price: 90, Outcome: job.SegmentFailed},
	} {
		b.Add(1, data)
	}
	require.EqualValues(t, 2000, b.Millis)
	require.EqualValues(t, 120+50, b.Server)
	require.EqualValues(t, 2000+170+7, b.Total(job.TypeSucceeded))
	require.EqualValues(t, 2000+170, b.Total(job.TypeFailed))
	b.Millis, b.Price.NodeSecond = 1<<62, 1<<62
	require.EqualValues(t, credit.MaxAmount, b.Total(job.TypeFailed))
}

// Nodes of a run that failed do not run any more, whether or not an expansion contains them.
func TestAFailedNodeDoesNotRunAnyMore(t *testing.T) {
	t.Parallel()
	var j job.Job
	fold := func(data any) {
		j = job.Fold(j, eventlog.Recorded{Stream: "job-" + uuid.NewString(), Version: j.Version + 1, RecordedAt: time.Now()}, data)
	}
	fold(job.SubmittedV1{})
	fold(job.AdmittedV1{Run: 1})
	for n := range 3 {
		fold(job.NodeStartedV1{Run: 1, Node: fmt.Sprint(n), Class: "A"})
	}
	require.Len(t, j.Running, 3)
	fold(job.NodeFailedV1{Run: 1, Failure: job.Failure{Node: "0"}, Inner: "1"})
	require.Len(t, j.Running, 1)
	require.Contains(t, j.Running, "2")
}

// canceling is a store of running jobs that notes which are canceled together.
type canceling struct {
	job.Store
	running []job.ID
	groups  [][]job.ID
	most    int // groups that are canceled before the database is away
}

func (c *canceling) WithSlot(context.Context, string) ([]job.ID, error) { return c.running, nil }

func (c *canceling) Waiting(context.Context, string) ([]job.ID, error) { return c.running, nil }

func (c *canceling) Cancel(_ context.Context, r job.CancelRequest) ([]job.ID, error) {
	if len(c.groups) == c.most {
		return nil, fault.New(fault.Unavailable, "", "the database is away")
	}
	c.groups = append(c.groups, r.IDs)
	return r.IDs, nil
}

// One transaction cancels a limited number of jobs, and an interruption of one job leaves the others.
func TestJobsAreCanceledInGroups(t *testing.T) {
	t.Parallel()
	var ids []job.ID
	for range 600 {
		ids = append(ids, job.NewID())
	}
	for name, c := range map[string]struct {
		only   job.ID
		most   int
		groups []int
		fails  bool
	}{
		"all":                      {most: 9, groups: []int{250, 250, 100}},
		"all, until a failure":     {most: 2, groups: []int{250, 250}, fails: true},
		"one":                      {only: ids[300], most: 9, groups: []int{1}},
		"one that does not run":    {only: job.NewID(), most: 9},
		"one, and the store fails": {only: ids[0], fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &canceling{running: ids, most: c.most}
			s := job.NewService(job.Deps{Store: store})
			done, err := s.Interrupt(t.Context(), "a", c.only, "r")
			require.Equal(t, c.fails, err != nil, "%v", err)
			var groups []int
			n := 0
			for _, g := range store.groups {
				groups, n = append(groups, len(g)), n+len(g)
			}
			require.Equal(t, c.groups, groups)
			require.Len(t, done, n, "those that were canceled are named, even after a failure")
			if c.only != "" && n > 0 {
				require.Equal(t, []job.ID{c.only}, done)
			}
		})
	}
	alone := job.NewService(job.Deps{Store: &canceling{most: 1}})
	active, err := alone.Cancel(t.Context(), "a", ids[0], "r")
	require.NoError(t, err)
	require.True(t, active)
	_, err = alone.Cancel(t.Context(), "a", ids[0], "r")
	require.True(t, fault.Is(err, fault.Unavailable))
	store := &canceling{most: 9}
	done, err := job.NewService(job.Deps{Store: store}).ClearPending(t.Context(), "a", "r")
	require.NoError(t, err)
	require.Empty(t, done)
	require.Empty(t, store.groups, "nothing waits")
}

// A job waits for what its segments of the present run wait for, until they have it.
func TestWaitsOfSegmentsEndWithTheirCause(t *testing.T) {
	t.Parallel()
	var j job.Job
	fold := func(data any) {
		j = job.Fold(j, eventlog.Recorded{Stream: "job-" + uuid.NewString(), Version: j.Version + 1, RecordedAt: time.Now()}, data)
	}
	waits := func() (of []int) {
		for _, w := range j.Waiting {
			of = append(of, w.Segment)
		}
		return of
	}
	fold(job.SubmittedV1{})
	fold(job.AdmittedV1{Run: 1})
	fold(job.StartedV1{Run: 1, Execution: "x"})
	fold(job.RequeuedV1{Run: 2})
	require.Equal(t, "x", j.Execution, "of another run")
	for segment, slot := range []bool{false, true, false, true} {
		fold(job.SegmentWaitingV1{Run: 1, Segment: segment, Slot: slot})
	}
	fold(job.SegmentWaitingV1{Run: 2, Segment: 9})
	require.Equal(t, []int{0, 1, 2, 3}, waits())
	fold(job.SegmentWaitingV1{Run: 1, Segment: 0, Reason: "another"})
	require.Equal(t, []int{1, 2, 3, 0}, waits(), "once")
	fold(job.SegmentPlacedV1{Run: 2, Segment: 2})
	fold(job.SlotTakenV1{Run: 2})
	require.Equal(t, []int{1, 2, 3, 0}, waits(), "of another run")
	fold(job.SegmentPlacedV1{Run: 1, Segment: 2})
	require.Equal(t, []int{1, 3, 0}, waits())
	fold(job.SlotTakenV1{Run: 1})
	require.Equal(t, []int{0}, waits())
	fold(job.SegmentPlacedV1{Run: 1, Segment: 0})
	require.Nil(t, j.Waiting)
	fold(job.RequeuedV1{Run: 1})
	require.Empty(t, j.Execution, "another execution may begin the run")
}

// The blob of a submission is found by the first event alone.
func TestBlobOfASubmissionIsInItsFirstEvent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`{"document":{"blob":"x"}}`: "x", `{"document":{"inline":"{}"}}`: "", `{}`: ""} {
		got, err := job.DocumentBlob(eventlog.Recorded{Data: json.RawMessage(text)})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := job.DocumentBlob(eventlog.Recorded{Stream: "job-x", Data: json.RawMessage(`{`)})
	require.ErrorContains(t, err, "first event of job-x")
}
