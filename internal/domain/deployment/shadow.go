package deployment

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The metadata of a job that runs recorded inputs through a version: the run that it is a part of, and the call that it repeats.
const (
	ShadowRun = "shadow"
	ShadowOf  = "of"
)

// Recorded is a call that has ended, with what its caller gave.
type Recorded struct {
	Job       job.ID
	Inputs    map[string]json.RawMessage
	ExtraData map[string]json.RawMessage
}

// Repeat submits a recorded call to a version, as a job of the hidden account of the deployment's account: it is billed to nobody and
// in no list of the account. The same call in the same run is the same job. A value that the version does not accept is invalid_input;
// a version that calls partner models is refused, because their providers would be paid again.
func (s *Service) Repeat(ctx context.Context, d Deployment, number int, run string, call Recorded, by eventlog.By) error {
	version, err := s.callee(ctx, d, number)
	if err == nil {
		err = s.checkFree(ctx, d, number, version)
	}
	if err != nil {
		return err
	}
	sub := job.Submission{
		Account: account.Shadow(d.Account), Surface: job.SurfaceV2, ExtraData: call.ExtraData, Inputs: call.Inputs,
		PublicID: job.PublicID(uuid.NewSHA1(uuid.NameSpaceURL, []byte(run+"\x00"+string(call.Job))).String()),
		Metadata: map[string]string{ShadowRun: run, ShadowOf: string(call.Job)}, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
	}
	if err := s.bind(ctx, version, &sub, false, map[string]storedFile{}); err != nil {
		return err
	}
	sub.Deployment = &job.Deployed{ID: string(d.ID), Name: d.Name, Version: number, Outputs: version.names()}
	_, err = s.Jobs.Submit(ctx, sub)
	if fault.CodeOf(err) == fault.CodeDuplicateJob {
		return nil
	}
	if err != nil {
		return s.explain(ctx, d, number, version, err)
	}
	return nil
}

// checkFree refuses a version that calls partner models.
func (s *Service) checkFree(ctx context.Context, d Deployment, number int, version *callee) error {
	g, _, err := s.flat(ctx, d, version)
	if err != nil {
		return err
	}
	for _, n := range g.Nodes {
		if class, ok := s.Validator.Classes.Lookup(n.Class); ok && class.Partner {
			return fault.New(fault.Conflict, fault.CodeInvalidDeployment,
				"%s@%d calls partner models (%s), which would be paid again", d.Name, number,
				n.Class)
		}
	}
	return nil
}
