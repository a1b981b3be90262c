package activities

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
)

// segmentFailure is the failure of a node on a server, in the form that clients read.
type segmentFailure struct {
	job.Failure
	cause error
}

// Error implements error.
func (f *segmentFailure) Error() string { return f.Message }

const (
	// maxInterrupted bounds how often a prompt is sent again after it was interrupted on its server.
	maxInterrupted = 3
	// maxRefused bounds how often a prompt is sent again after its server refused it.
	maxRefused = 3
)

// failed decides what follows a failed attempt.
func (s *segmentRun) failed(ctx context.Context, l server.Lease, row *server.Server, srv comfyui.Server, recorder *segmentRecorder,
	cause error,
) ([]string, *retry, error) {
	var node *driving.NodeError
	var refusal *comfyui.Refusal
	switch {
	case errors.Is(context.Cause(ctx), errStopped):
		return nil, nil, s.canceled(ctx, l, row, srv, recorder)
	case s.firstSegment && ctx.Err() == nil: // RunSegment gets the same error; it counts the failures and decides what follows
		return nil, nil, errFirstSegmentTime
	case ctx.Err() != nil || errors.Is(cause, errTakenOver):
		return nil, nil, cause // the next driver finds the prompt by its id
	case errors.As(cause, &node):
		return s.nodeFailed(ctx, l, row, srv, recorder, node)
	case errors.As(cause, &refusal):
		return s.promptRefused(ctx, l, row, recorder, refusal)
	}
	switch fault.CodeOf(cause) {
	case fault.CodeServerGivenUp:
		return s.giveUp(ctx, l, row, recorder, cause)
	case fault.CodeServerInterrupted:
		if s.interrupted++; s.interrupted <= maxInterrupted {
			return s.requestRetry(ctx, l, row, recorder, cause, func(w *server.Wait) { w.Cause = "it was interrupted on its server" })
		}
		return s.over(ctx, l, row, recorder, s.failure("ServiceError", "the prompt was interrupted on its server too often", cause))
	case fault.CodeServerFileNotFound: // a file that the server's cache names is missing
		if s.refused++; s.refused <= maxRefused {
			if err := srv.Free(ctx); err != nil {
				return s.giveUp(ctx, l, row, recorder, err)
			}
			return s.requestRetry(ctx, l, row, recorder, cause, func(w *server.Wait) { w.Cause = "a file that the server named is missing" })
		}
	}
	if attempt.IsOutage(cause) || fault.KindOf(cause) == fault.Internal {
		return nil, nil, cause // an internal error: the next attempt continues from here
	}
	return s.over(ctx, l, row, recorder, s.failure(exceptionType(cause), publicMessage(cause), cause))
}

// failure returns a failure for which no node is known. It names the first node of the segment.
func (s *segmentRun) failure(kind, message string, cause error) *segmentFailure {
	n := &s.pn.Segment.Nodes[0]
	if s.current != nil {
		return newFailure(s.current.Node, s.current.Class, kind, message, nil, cause)
	}
	return newFailure(n.ID, n.Class, kind, message, nil, cause)
}

func newFailure(id, class, kind, message string, traceback []string, cause error) *segmentFailure {
	if traceback == nil {
		traceback = []string{fmt.Sprintf("node %s (%s)\n", id, class), kind + ": " + message + "\n"}
	}
	return &segmentFailure{cause: cause, Failure: job.Failure{
		Code: fault.CodeNodeExecutionError, Message: message, Node: id, Class: class, ExceptionType: kind, Traceback: traceback,
	}}
}

// over ends a segment with a failure. It stores the failure before it reports it, so that no other driver starts
// again.
func (s *segmentRun) over(ctx context.Context, l server.Lease, row *server.Server, recorder *segmentRecorder,
	f *segmentFailure,
) ([]string, *retry, error) {
	recorder.end(ctx, l, row, job.SegmentFailed, f.cause)
	raw, err := segmentResult{Failure: &f.Failure}.encode()
	if err == nil {
		err = s.release(ctx, l, raw)
	}
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, f
}

// requestRetry ends an attempt whose prompt has ended, and requests another attempt.
func (s *segmentRun) requestRetry(ctx context.Context, l server.Lease, row *server.Server, recorder *segmentRecorder, cause error,
	change func(*server.Wait),
) ([]string, *retry, error) {
	recorder.end(ctx, l, row, job.SegmentGivenUp, cause)
	return nil, &retry{lease: l, change: change}, s.events.flush(ctx)
}

// giveUp moves the segment to another server. The prompt on the lost server is canceled when the server returns.
func (s *segmentRun) giveUp(ctx context.Context, l server.Lease, row *server.Server, recorder *segmentRecorder,
	cause error,
) ([]string, *retry, error) {
	if err := s.Pool.Store().MarkAway(ctx, l.Server, publicMessage(cause)); err != nil {
		return nil, nil, err
	}
	_, again, err := s.requestRetry(ctx, l, row, recorder, cause, func(w *server.Wait) {
		w.Avoid, w.Only = append(w.Avoid, l.Server), ""
		w.Cause = "server " + row.URL + " was lost"
	})
	again.lost = true
	return nil, again, err
}

// canceled cancels the prompt of a canceled job on its server.
func (s *segmentRun) canceled(ctx context.Context, l server.Lease, row *server.Server, srv comfyui.Server,
	recorder *segmentRecorder,
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	err := s.Driver.Cancel(ctx, srv, comfyui.NewPromptID(l.Prompt(l.Attempt)))
	recorder.end(ctx, l, row, job.SegmentCanceled, err)
	if err := s.events.flush(ctx); errors.Is(err, errTakenOver) {
		s.events.pending, s.events.lease = nil, nil // the driver with the lease records the end
		return errStopped
	} else if err != nil {
		s.g.Log.Warn("end of a canceled segment not recorded", "job_id", l.Job, "error", err)
	}
	end := s.Pool.Store().Drop
	if err != nil {
		end = s.Pool.Store().GiveUp
	}
	if err := end(ctx, l); err != nil {
		s.g.Log.Warn("lease of a canceled segment not released; it will expire", "job_id", l.Job, "error", err)
	}
	s.events.lease = nil
	s.Pool.Freed()
	return errStopped
}

// nodeFailed handles the failure of a node. An out-of-memory error is retried; every other failure is final.
func (s *segmentRun) nodeFailed(ctx context.Context, l server.Lease, row *server.Server, srv comfyui.Server, recorder *segmentRecorder,
	e *driving.NodeError,
) ([]string, *retry, error) {
	kind := e.Type
	switch {
	case e.OutOfMemory():
		kind = "OOMError"
		if s.memory++; s.memory == 1 {
			if err := srv.Free(ctx); err != nil {
				return s.giveUp(ctx, l, row, recorder, err)
			}
			return s.requestRetry(ctx, l, row, recorder, e, func(w *server.Wait) { w.Only, w.Cause = l.Server, "its memory was freed" })
		}
		if _, total := row.Memory(); s.Pool.MoreMemory(s.wait, total) {
			s.memory = 0
			return s.requestRetry(ctx, l, row, recorder, e, func(w *server.Wait) {
				w.Only, w.Memory, w.Cause = "", total, "server "+row.URL+" has too little memory"
			})
		}
	case e.MissingFile():
		kind = "ModelDownloadError"
	}
	traceback := make([]string, 0, len(e.Traceback))
	for _, line := range e.Traceback {
		traceback = append(traceback, withoutPaths(line))
	}
	return s.over(ctx, l, row, recorder, newFailure(e.Node, e.Class, kind, withoutPaths(strings.TrimSpace(e.Message)), traceback, e))
}

// promptRefused handles a prompt that the server refused. Its classes may have changed since they were read, or files
// that it received may be missing, so the prompt is sent again, possibly to another server.
func (s *segmentRun) promptRefused(ctx context.Context, l server.Lease, row *server.Server, recorder *segmentRecorder,
	r *comfyui.Refusal,
) ([]string, *retry, error) {
	s.Driver.Forget(string(row.ID))
	if s.refused++; s.refused == 1 {
		return s.requestRetry(ctx, l, row, recorder, r, func(w *server.Wait) { w.Only, w.Cause = l.Server, "the server refused it" })
	}
	s.wait.Refused = append(s.wait.Refused, l.Server)
	if s.refused <= maxRefused && s.Pool.MoreMemory(s.wait, -1) {
		return s.requestRetry(ctx, l, row, recorder, r, func(w *server.Wait) { w.Only, w.Cause = "", "server "+row.URL+" refused it" })
	}
	id, message := s.pn.Segment.Nodes[0].ID, r.Err.Message
	for at, e := range r.Nodes {
		if len(e.Errors) > 0 {
			id, message = at, e.Errors[0].Message+": "+e.Errors[0].Details
		}
	}
	class := ""
	for i := range s.pn.Segment.Nodes {
		if s.pn.Segment.Nodes[i].ID == id {
			class = s.pn.Segment.Nodes[i].Class
		}
	}
	return s.over(ctx, l, row, recorder, newFailure(id, class, "ValidationError", withoutPaths(message), nil, r))
}

// path matches the file paths of a server in a text; its last group is the name of the file.
var path = regexp.MustCompile(`(?:[A-Za-z]:\\|\\\\|/)(?:[^\s"'<>|:*?\n/\\]+[/\\])+([^\s"'<>|:*?\n/\\]*)`)

// withoutPaths replaces file paths in a text by file names.
func withoutPaths(text string) string { return path.ReplaceAllString(text, "$1") }
