package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/asset"
	"github.com/millrace-dev/millrace/internal/outbox"
	"github.com/millrace-dev/millrace/worker"
)

// ingestEngine knows the status of ingestions.
type ingestEngine struct {
	client.Client
	status map[asset.ID]enums.WorkflowExecutionStatus
	broken asset.ID
}

func (e ingestEngine) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	of := asset.ID(strings.TrimPrefix(id, "ingest-"))
	if of == e.broken {
		return nil, errors.New("a history that cannot be read")
	}
	if status, ok := e.status[of]; ok {
		return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status}}, nil
	}
	return nil, serviceerror.NewNotFound("no such workflow")
}

// uploads are assets whose ingestion is not done, and those that were ingested again.
type uploads struct {
	waiting []asset.IngestRef
	again   []asset.ID
}

func (u *uploads) Uningested(_ context.Context, after asset.ID, _ time.Duration, limit int) ([]asset.IngestRef, error) {
	at := 0
	for after != "" && u.waiting[at].Asset != after {
		at++
	}
	if after != "" {
		at++
	}
	return u.waiting[at:min(len(u.waiting), at+limit)], nil
}

func (u *uploads) Reingest(_ context.Context, ref asset.IngestRef, actor, reason string) ([]outbox.Intent, error) {
	if actor == "" || reason == "" {
		return nil, errors.New("who, and why?")
	}
	u.again = append(u.again, ref.Asset)
	return []outbox.Intent{{WorkflowID: ref.Asset.WorkflowID()}}, nil
}

// However many uploads wait, each is looked at, and those that nothing looks into are ingested again.
func TestUploadsThatNothingLooksIntoAreIngestedAgain(t *testing.T) {
	t.Parallel()
	u := &uploads{}
	for range 450 {
		u.waiting = append(u.waiting, asset.IngestRef{Asset: asset.NewID(), Account: "a"})
	}
	engine := ingestEngine{broken: u.waiting[3].Asset, status: map[asset.ID]enums.WorkflowExecutionStatus{}}
	for i, ref := range u.waiting {
		engine.status[ref.Asset] = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		if i == 5 {
			engine.status[ref.Asset] = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
		}
	}
	lost := u.waiting[449].Asset
	delete(engine.status, lost)
	kicked := 0
	s := worker.IngestSweeper{Client: engine, Assets: u, Kick: func(in []outbox.Intent) { kicked += len(in) }, Log: slog.New(slog.DiscardHandler)}
	require.ErrorContains(t, s.Sweep(t.Context()), string(engine.broken), "one that cannot be looked after keeps no other waiting")
	require.Equal(t, []asset.ID{u.waiting[5].Asset, lost}, u.again)
	require.Equal(t, 2, kicked)
}
