package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// submit records a submission as a job. If the first request with its key got no answer, or an internal failure, and
// made a job of the same submission, that job is the answer. If the key is in use otherwise and the workflow is invalid too,
// the refusal names the key.
func (s *Surface) submit(c *gin.Context, sub job.Submission) (job.Job, error) {
	done, err := s.record(c, sub)
	if err == nil || sub.IdempotencyKey == "" || s.Keys == nil {
		return done, err
	}
	switch fault.CodeOf(err) {
	case fault.CodeWorkflowFormatUI, fault.CodeSubscriptionInactive: // refused before the key is checked
		return job.Job{}, err
	}
	reused := s.Keys.Check(c.Request.Context(), sub.Account, job.KeyOperation, sub.IdempotencyKey)
	if !fault.Is(reused, fault.Conflict) {
		return job.Job{}, err
	}
	made, ok, err := s.made(c.Request.Context(), sub)
	if err == nil && !ok {
		err = reused
	}
	return made, err
}

// record records a submission. Below the path of a deployment, values of inputs are a call of it.
func (s *Surface) record(c *gin.Context, sub job.Submission) (job.Job, error) {
	m := edge.Mount(c)
	if m == nil || s.Calls == nil {
		done, err := s.Jobs.Submit(c.Request.Context(), sub)
		return done.Job, err
	}
	if len(sub.Prompt) > 0 {
		d, err := s.Edge.Deployments.Find(c.Request.Context(), sub.Account, m.Asked)
		if err != nil {
			return job.Job{}, err
		}
		m.Deployment, sub.Deployment = d, &job.Deployed{ID: string(d.ID), Name: d.Name}
		done, err := s.Jobs.Submit(c.Request.Context(), sub)
		return done.Job, err
	}
	called, err := s.Calls.Call(c.Request.Context(), deployment.Call{
		Deployment: m.Asked, Version: m.Pinned, OnlySent: edge.Caller(c).Limited(), Submission: sub,
	})
	if err == nil {
		m.Deployment = called.Deployment
		edge.NameVersion(c, called.Deployment.Name, called.Version)
	}
	return called.Job, err
}

// made returns the job that an unanswered request with the same key and submission made.
func (s *Surface) made(ctx context.Context, sub job.Submission) (made job.Job, ok bool, err error) {
	id, ok, err := s.Keys.Unanswered(ctx, sub.Account, job.KeyOperation, sub.IdempotencyKey)
	if err != nil || !ok {
		return job.Job{}, false, err
	}
	made, err = s.Reader.Job(ctx, sub.Account, job.ID(id.String()))
	if fault.Is(err, fault.NotFound) {
		return job.Job{}, false, nil // the key was claimed for another operation
	}
	if err != nil {
		return job.Job{}, false, err
	}
	src, err := s.Sources.Load(ctx, sub.Account, made.ID)
	if err != nil {
		return job.Job{}, false, err
	}
	if len(sub.Prompt) == 0 { // a call: its values decide, not the version that answered
		return made, src.Asked == deployment.Digest(sub.Inputs), nil
	}
	same, err := sameSubmission(made, src, sub)
	return made, same, err
}

// sameSubmission reports whether a job was made of a submission.
func sameSubmission(made job.Job, src job.Source, sub job.Submission) (bool, error) {
	asked := job.Source{Prompt: sub.Prompt, ExtraData: sub.ExtraData}
	src.Filled = nil
	old, err := canonical(src)
	if err != nil {
		return false, err
	}
	now, err := canonical(asked)
	if err != nil {
		return false, err
	}
	priority := 0
	if sub.Number != nil {
		priority = int(-*sub.Number / priorityStep)
	}
	return bytes.Equal(old, now) && maps.Equal(made.Metadata, sub.Metadata) && priorityOf(made) == priority, nil
}

// canonical renders a submission in the form in which it is recorded.
func canonical(src job.Source) ([]byte, error) {
	if len(src.ExtraData) == 0 {
		src.ExtraData = nil
	}
	return json.Marshal(src)
}

// writeCreated answers 201 with a job that was recorded. Details that cannot be read now are left out, because the
// submission has succeeded. After the answer, the key is refused.
func (s *Surface) writeCreated(c *gin.Context, sub job.Submission, made job.Job) error {
	body, err := s.renderJob(c, made)
	if err != nil {
		s.Edge.Logger.Warn("job answered without its queue position and progress", "request_id", edge.RequestID(c), "job_id", made.ID, "error",
			err)
	}
	c.Header("Location", body.URLs.Self)
	delivered, err := edge.Deliver(c, http.StatusCreated, body)
	if delivered && sub.IdempotencyKey != "" && s.Keys != nil { // otherwise its key is answered once more
		s.markAnswered(c, sub, made.ID)
	}
	return err
}

// markTimeout bounds the time to record that a key was answered.
const markTimeout = 5 * time.Second

func (s *Surface) markAnswered(c *gin.Context, sub job.Submission, id job.ID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), markTimeout)
	defer cancel()
	made, err := uuid.Parse(string(id))
	if err == nil {
		err = s.Keys.Answered(ctx, sub.Account, job.KeyOperation, sub.IdempotencyKey, made)
	}
	if err != nil {
		s.Edge.Logger.Warn("idempotency key not marked as answered; a repeated request gets the same answer once more", "request_id",
			edge.RequestID(c), "job_id", id, "error", err)
	}
}
