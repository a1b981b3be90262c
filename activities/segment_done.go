package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// segmentResult is the stored result of an ended segment, for a later driver.
type segmentResult struct {
	Values  []string     `json:"values,omitempty"`
	Failure *job.Failure `json:"failure,omitempty"`
}

func (r segmentResult) encode() (json.RawMessage, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the result of a segment: %w", err)
	}
	return raw, nil
}

// storedResult returns the result that an earlier driver stored.
func (s *segmentRun) storedResult(l server.Lease) ([]string, error) {
	res, err := readSegmentResult(l.Result)
	if err != nil {
		return nil, err
	}
	if res.Failure != nil {
		return nil, &segmentFailure{Failure: *res.Failure}
	}
	return res.Values, nil
}

// readSegmentResult decodes a stored result. A newer version stored a result that cannot be decoded: the segment has
// run and must not run and be paid again, so the attempt fails until a worker of that version runs one.
func readSegmentResult(raw json.RawMessage) (res segmentResult, err error) {
	if err := json.Unmarshal(raw, &res); err != nil {
		return segmentResult{}, fmt.Errorf("read the result of a segment: %w", err)
	}
	return res, nil
}

// doneSegment is a segment that has run. Its lease ends in one transaction with the pending events and, if the
// segment is the last one, with the end of the run.
type doneSegment struct {
	run    *segmentRun
	lease  server.Lease
	result json.RawMessage

	attempt *segmentAttempt
}

// release ends the lease of the segment that has run, if there is one.
func (c *chain) release(ctx context.Context) error {
	d := c.done
	if d == nil {
		return nil
	}
	c.done = nil
	err := d.run.release(ctx, d.lease, d.result)
	if err == nil {
		d.attempt.removeFiles(ctx)
	}
	return err
}

// end returns the end of the lease for the transaction that ends the run, or nil.
func (c *chain) end() *job.LeaseEnd {
	if c.done == nil {
		return nil
	}
	return &job.LeaseEnd{Segment: c.done.lease.Unit, Fence: c.done.lease.Fence, Result: c.done.result}
}

// finish ends a run that has succeeded with this chain, in one transaction with the pending events and the end of the
// lease.
func (c *chain) finish(ctx context.Context, p FinishParams) error {
	applied, err := c.g.finish(ctx, p, c.events, c.end())
	if err != nil || c.done == nil {
		return err
	}
	d := c.done
	c.done, c.events.lease = nil, nil
	if !applied { // the run was ended before, by a cancellation
		err = d.run.Pool.Store().Drop(ctx, d.lease)
	}
	d.run.Pool.Freed()
	if err == nil {
		d.attempt.removeFiles(ctx)
	}
	return err
}

// removeWithin bounds the removal of the files of a prompt.
const removeWithin = 2 * time.Second

// removeFiles removes files of the prompt from its server, if the server has the node pack. The end of the segment, with the
// names of the copies, is recorded: no driver needs the files any more. If it fails, the files stay.
func (s *segmentAttempt) removeFiles(ctx context.Context) {
	offers := s.Pool.Offers(s.row.ID)
	if len(s.made) == 0 || offers == nil || !offers(losslessSaver) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	err := s.srv.Remove(ctx, comfyui.NewPromptID(s.lease.Prompt(s.lease.Attempt)), s.made)
	switch {
	case fault.Is(err, fault.NotFound):
		s.g.Log.Debug("node pack too old to remove files", "server", s.row.URL)
	case err != nil:
		s.g.Log.Warn("files not removed from a server", "server", s.row.URL, "job_id", s.key.Job, "error", err)
	}
}

// losslessSaver is a class of the node pack that removes files.
const losslessSaver = "LosslessSaveImage"

// release stores the result of the segment and ends the lease, in one transaction with the pending events.
func (s *segmentRun) release(ctx context.Context, l server.Lease, raw json.RawMessage) error {
	recorded, err := s.record(ctx, l, s.events.appendOf(s.events.pending), raw)
	if errors.Is(err, eventlog.ErrDuplicate) { // an earlier attempt recorded some of the events
		if err = s.events.flush(ctx); err == nil {
			recorded, err = s.record(ctx, l, eventlog.Append{}, raw)
		}
	}
	if err != nil {
		return err
	}
	if len(recorded) > 0 {
		s.events.removeRecorded(recorded)
	}
	s.events.lease = nil
	s.Pool.Freed()
	return s.events.flush(ctx)
}

// record records events of the segment under its lease.
func (s *segmentRun) record(ctx context.Context, l server.Lease, a eventlog.Append, result json.RawMessage) ([]eventlog.Recorded, error) {
	recorded, err := s.Pool.Store().Record(ctx, l, a, result)
	if fault.CodeOf(err) == fault.CodeSegmentLeaseLost {
		return nil, errTakenOver
	}
	return recorded, err
}
