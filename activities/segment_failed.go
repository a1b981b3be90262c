package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

// segmentFailure is the failure of a node on a server, in the form that clients read.
type segmentFailure struct {
	job.Failure
	cause error
}

// Error implements error.
func (f *segmentFailure) Error() string { return f.Message }

// Bounds of the attempts of one segment, whoever drives them: the earlier ones are read from the log.
const (
	maxInterrupted = 3              // after interruptions on the servers
	maxRefused     = 3              // after refusals of the prompt, and files that are missing
	maxAttempts    = 10             // for all reasons
	maxOnServers   = 24 * time.Hour // on servers, in attempts that were given up
)

// verdict is what follows a failed attempt.
type verdict struct {
	why     job.Cause
	again   bool               // another attempt follows
	runs    bool               // the server may still run the prompt
	suspect bool               // the server may be the reason
	disk    bool               // a disk of the server certainly is
	free    bool               // the attempt does not count
	change  func(*server.Wait) // of the requirements, for the next attempt
	failure *segmentFailure    // of the segment, if no attempt follows
}

// failed decides what follows a failed attempt. ran is the node that ran, or "".
func (s *segmentAttempt) failed(ctx context.Context, ran string, cause error) ([]string, *retry, error) {
	switch {
	case errors.Is(context.Cause(ctx), errStopped):
		return nil, nil, s.canceled(ctx)
	case s.firstSegment && ctx.Err() == nil: // RunSegment gets the same error and decides what follows
		return nil, nil, errFirstSegmentTime
	case ctx.Err() != nil || errors.Is(cause, errTakenOver):
		return nil, nil, cause // the next driver finds the prompt by its id
	}
	v, err := s.judge(ctx, ran, cause)
	if err != nil {
		return nil, nil, err
	}
	if v.suspect {
		o := server.Outcome{Job: s.lease.Job, Problem: s.problem(cause), Machine: v.disk}
		if err := s.Pool.Store().RecordOutcome(ctx, s.lease.Server, o); err != nil && !attempt.IsOutage(err) {
			s.g.Log.Warn("outcome on a server not recorded", "server", s.row.URL, "error", err)
		} else if err != nil {
			return nil, nil, err
		}
	}
	if v.runs {
		err = errors.Join(err, s.Pool.Orphan(ctx, s.lease))
	}
	if err != nil {
		return nil, nil, err
	}
	onServers, attempts := time.Since(s.lease.Since), s.lease.Attempt-s.count(job.NotBegun)
	for _, p := range s.past {
		if p.Cause != job.NotBegun {
			onServers += time.Duration(p.Millis) * time.Millisecond
		}
	}
	if v.again && !v.free && (attempts >= maxAttempts || onServers > maxOnServers) {
		v.again, v.failure = false, s.failureOf(ran, "ServiceError",
			fmt.Sprintf("given up after %d attempts on servers; the last one: %s", attempts, publicMessage(cause)), cause)
	}
	if v.again {
		s.end(job.SegmentGivenUp, v.why, ran, cause)
		return nil, &retry{lease: s.lease, change: v.change}, s.events.flush(ctx)
	}
	return nil, nil, s.over(ctx, v.failure)
}

// judge returns what follows a failed attempt, or the error itself if the next attempt of the activity continues from here.
func (s *segmentAttempt) judge(ctx context.Context, ran string, cause error) (verdict, error) {
	var node *driving.NodeError
	var refusal *comfyui.Refusal
	switch {
	case errors.As(cause, &node):
		return s.nodeFailed(ctx, node)
	case errors.As(cause, &refusal):
		return s.promptRefused(refusal), nil
	}
	if errors.Is(cause, driving.ErrNotBegun) {
		return verdict{
			why: job.NotBegun, again: true, free: true, runs: true, change: s.avoid("server " + s.row.URL + " did not begin the prompt"),
		}, nil
	}
	switch fault.CodeOf(cause) {
	case fault.CodeServerGivenUp:
		if !s.freedAt.IsZero() { // the prompt has ended: ran is the node whose output was copied
			ran = ""
		}
		return s.serverLost(ctx, ran, cause)
	case fault.CodeNodeTimeout:
		return s.onceElsewhere(job.NodeHung, ran, "it sent no sign of progress on server "+s.row.URL, cause), nil
	case fault.CodeUnsafeName:
		return s.onceElsewhere(job.OutputRefused, ran, "an output on server "+s.row.URL+" has an unusable name", cause), nil
	case fault.CodeServerInterrupted:
		return verdict{
			why: job.Interrupted, again: s.count(job.Interrupted) < maxInterrupted,
			change:  func(w *server.Wait) { w.Cause = "it was interrupted on its server" },
			failure: s.failureOf(ran, "ServiceError", "the prompt was interrupted on its server too often", cause),
		}, nil
	case fault.CodePicturesMissed:
		return verdict{
			why: job.FileMissing, again: s.count(job.PromptRefused, job.FileMissing) < maxRefused,
			change:  func(w *server.Wait) { w.Cause = "pictures that a node sent were missed" },
			failure: s.failureOf(ran, "ServiceError", publicMessage(cause), cause),
		}, nil
	case fault.CodeServerFileNotFound: // a file that the server's cache names is missing
		if err := s.srv.Free(ctx); err != nil {
			return s.serverLost(ctx, "", err)
		}
		return verdict{
			why: job.FileMissing, again: s.count(job.PromptRefused, job.FileMissing) < maxRefused,
			change:  func(w *server.Wait) { w.Cause = "a file that the server named is missing" },
			failure: s.failureOf(ran, exceptionType(cause), publicMessage(cause), cause),
		}, nil
	}
	if attempt.IsOutage(cause) || fault.KindOf(cause) == fault.Internal {
		return verdict{}, cause
	}
	return verdict{failure: s.failureOf(ran, exceptionType(cause), publicMessage(cause), cause)}, nil
}

// count returns the number of earlier attempts that were given up for one of the causes.
func (s *segmentAttempt) count(causes ...job.Cause) (n int) {
	for _, p := range s.past {
		if slices.Contains(causes, p.Cause) {
			n++
		}
	}
	return n
}

// avoid prefers other servers for the next attempt.
func (s *segmentAttempt) avoid(why string) func(*server.Wait) {
	return func(w *server.Wait) { w.Avoid, w.Only, w.Cause = append(w.Avoid, s.lease.Server), "", why }
}

// refuse excludes the server from the next attempts.
func (s *segmentAttempt) refuse(why string) func(*server.Wait) {
	return func(w *server.Wait) { w.Refused, w.Only, w.Cause = append(w.Refused, s.lease.Server), "", why }
}

// another reports whether a server could run the segment after a change of its requirements.
func (s *segmentAttempt) another(change func(*server.Wait)) bool {
	w := s.wait
	w.Refused = slices.Clone(w.Refused)
	change(&w)
	return s.Pool.CanRun(w)
}

// serverLost moves the segment to another server. A segment that lost two servers while the same node ran has failed, because the
// node may have ended them. A server that still knows the prompt of its attempt was only out of reach.
func (s *segmentAttempt) serverLost(ctx context.Context, ran string, cause error) (verdict, error) {
	lostBefore := func(p job.SegmentEndedV1) bool {
		return p.Cause == job.ServerLost && p.Ran == ran && !s.remembers(ctx, p)
	}
	return verdict{
		why: job.ServerLost, again: ran == "" || !slices.ContainsFunc(s.past, lostBefore), runs: true, suspect: true,
		change:  s.avoid("server " + s.row.URL + " was lost"),
		failure: s.failureOf(ran, "ServiceError", "two servers were lost while this node ran; the last time: "+publicMessage(cause), cause),
	}, s.Pool.Store().MarkAway(ctx, s.lease.Server, publicMessage(cause))
}

// rememberWithin bounds the time to ask a server for an earlier prompt.
const rememberWithin = 2 * time.Second

// remembers reports whether the server of an earlier attempt still knows the prompt, so that it was not restarted.
func (s *segmentAttempt) remembers(ctx context.Context, p job.SegmentEndedV1) bool {
	srv, _, err := s.Pool.Server(server.ID(p.Server))
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, rememberWithin)
	defer cancel()
	state, err := srv.Find(ctx, comfyui.NewPromptID(s.key.Prompt(p.Attempt)))
	return err == nil && state.Status != comfyui.Unknown
}

// onceElsewhere runs the segment once more, on another server if there is one.
func (s *segmentAttempt) onceElsewhere(why job.Cause, ran, reason string, cause error) verdict {
	return verdict{
		why: why, again: s.count(why) == 0 && s.another(s.refuse(reason)), runs: true, suspect: true,
		change: s.avoid(reason), failure: s.failureOf(ran, "ServiceError", publicMessage(cause), cause),
	}
}

// failureOf returns the failure of a node. If the node is not known, it names the one that ran last, or the first of the segment.
func (s *segmentRun) failureOf(id, kind, message string, cause error) *segmentFailure {
	at := job.NodeRef{Node: id, Class: s.classOf(id)}
	switch {
	case at.Class != "":
	case s.current != nil:
		at = *s.current
	default:
		at = job.NodeRef{Node: s.pn.Segment.Nodes[0].ID, Class: s.pn.Segment.Nodes[0].Class}
	}
	return newFailure(at, kind, message, nil, cause)
}

func newFailure(at job.NodeRef, kind, message string, traceback []string, cause error) *segmentFailure {
	if traceback == nil {
		traceback = []string{fmt.Sprintf("node %s (%s)\n", at.Node, at.Class), kind + ": " + message + "\n"}
	}
	return &segmentFailure{cause: cause, Failure: job.Failure{
		Code: fault.CodeNodeExecutionError, Message: message, Node: at.Node, Class: at.Class, ExceptionType: kind, Traceback: traceback,
	}}
}

// over ends a segment with a failure. It stores the failure before it reports it, so that no other driver starts
// again.
func (s *segmentAttempt) over(ctx context.Context, f *segmentFailure) error {
	s.end(job.SegmentFailed, "", "", f.cause)
	raw, err := segmentResult{Failure: &f.Failure}.encode()
	if err == nil {
		err = s.release(ctx, s.lease, raw)
	}
	if err != nil {
		return err
	}
	s.removeFiles(ctx)
	return f
}

// canceled cancels the prompt of a canceled job on its server.
func (s *segmentAttempt) canceled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	l := s.lease
	runs := s.Driver.Cancel(ctx, s.srv, comfyui.NewPromptID(l.Prompt(l.Attempt)))
	s.end(job.SegmentCanceled, "", "", nil)
	if err := s.events.flush(ctx); errors.Is(err, errTakenOver) {
		s.events.pending, s.events.lease = nil, nil // the driver with the lease records the end
		return errStopped
	} else if err != nil {
		s.g.Log.Warn("end of a canceled segment not recorded", "job_id", l.Job, "error", err)
	}
	var err error
	if runs {
		err = s.Pool.Orphan(ctx, l)
	}
	if err = errors.Join(err, s.Pool.Store().Drop(ctx, l)); err != nil {
		s.g.Log.Warn("lease of a canceled segment not released; it will expire", "job_id", l.Job, "error", err)
	}
	s.events.lease = nil
	s.Pool.Freed()
	return errStopped
}

// nodeFailed handles the failure of a node. It is final, unless memory or the machine of the server was the cause.
func (s *segmentAttempt) nodeFailed(ctx context.Context, e *driving.NodeError) (verdict, error) {
	traceback := make([]string, 0, len(e.Traceback))
	for _, line := range e.Traceback {
		traceback = append(traceback, comfyui.WithoutPaths(line))
	}
	message := comfyui.WithoutPaths(strings.TrimSpace(e.Message))
	v := verdict{failure: newFailure(job.NodeRef{Node: e.Node, Class: e.Class}, s.serverException(e), message, traceback, e)}
	v.failure.RuntimeType, v.failure.Inputs = e.Type, s.inputsOf(e)
	switch {
	case e.OutOfMemory():
		freed := func(p job.SegmentEndedV1) bool { return p.Cause == job.NoMemory && p.Server == string(s.lease.Server) }
		if !slices.ContainsFunc(s.past, freed) {
			if err := s.srv.Free(ctx); err != nil {
				return s.serverLost(ctx, "", err)
			}
			v.change = func(w *server.Wait) { w.Only, w.Cause = s.lease.Server, "its memory was freed" }
		} else {
			_, total := s.row.Memory()
			v.change = func(w *server.Wait) {
				w.Only, w.Memory, w.Cause = "", total, "server "+s.row.URL+" has too little memory"
			}
		}
		v.why, v.again = job.NoMemory, s.another(v.change)
	case e.DiskFailed(): // another server may have space
		v.why, v.suspect, v.disk, v.change = job.MachineFailed, true, true, s.avoid("a disk of server "+s.row.URL+" failed")
		v.again = s.another(func(w *server.Wait) {
			w.Refused = append(w.Refused, s.lease.Server)
			for _, p := range s.past {
				if p.Cause == job.MachineFailed {
					w.Refused = append(w.Refused, server.ID(p.Server))
				}
			}
		})
	case e.DeviceFailed(): // the graph may be the cause
		again := s.onceElsewhere(job.MachineFailed, e.Node, "a device of server "+s.row.URL+" failed", e)
		again.failure, again.runs = v.failure, false
		return again, nil
	}
	return v, nil
}

// inputsOf returns the inputs of a node that failed, as clients know them: the values of the graph, and what the server says about
// linked ones. The server's hidden inputs, which may hold credentials, are left out.
func (s *segmentRun) inputsOf(e *driving.NodeError) json.RawMessage {
	at := slices.IndexFunc(s.pn.Segment.Nodes, func(n graph.PlanNode) bool { return n.ID == e.Node })
	if at < 0 || len(e.Inputs) == 0 {
		return nil
	}
	linked := slices.Collect(maps.Keys(s.pn.Segment.Nodes[at].Links))
	for _, in := range s.pn.Segment.Inputs {
		if in.Node == at {
			linked = append(linked, in.Input)
		}
	}
	shown := map[string][]string{}
	for name, value := range s.pn.Segment.Nodes[at].Constants {
		shown[name] = []string{fault.Shorten(node.Describe(value), maxInputText)}
	}
	for _, name := range linked {
		var values []any
		if json.Unmarshal(e.Inputs[name], &values) != nil {
			continue
		}
		for _, value := range values[:min(len(values), maxInputValues)] {
			shown[name] = append(shown[name], fault.Shorten(comfyui.WithoutPaths(python.Str(value)), maxInputText))
		}
	}
	raw, err := json.Marshal(shown)
	if err != nil {
		return nil // strings always marshal
	}
	return raw
}

// maxInputValues bounds the values of one input, which may be a list.
const maxInputValues = 8

// serverException maps the exception of a node on a server to the cloud contract's vocabulary (W-62 to W-64).
func (s *segmentAttempt) serverException(e *driving.NodeError) string {
	switch kind := e.Kind(); {
	case e.OutOfMemory():
		return "OOMError"
	case kind == "FileNotFoundError" && (s.loads(e.Node) || strings.HasPrefix(e.Message, "Model in folder")),
		strings.HasPrefix(e.Type, "huggingface_hub."):
		return "ModelDownloadError"
	case strings.HasPrefix(e.Type, "requests.exceptions."), strings.HasPrefix(e.Type, "urllib.error."):
		return "ImageDownloadError"
	case strings.HasPrefix(e.Message, "Payment Required"): // by the partner classes of ComfyUI
		return "InsufficientFundsError"
	case slices.Contains([]string{
		"ValueError", "TypeError", "KeyError", "IndexError", "AssertionError", "FileNotFoundError", "UnidentifiedImageError", "JSONDecodeError",
	}, kind):
		return "ValidationError"
	}
	return "ServiceError"
}

// promptRefused handles a prompt that the server refused. Its classes may have changed since they were read, or files
// that it received may be missing, so the prompt is sent again, possibly to another server.
func (s *segmentAttempt) promptRefused(r *comfyui.Refusal) verdict {
	s.Driver.Forget(string(s.row.ID))
	id, message := s.pn.Segment.Nodes[0].ID, r.Err.Message
	for at, e := range r.Nodes {
		if len(e.Errors) > 0 {
			id, message = at, e.Errors[0].Message+": "+e.Errors[0].Details
		}
	}
	v := verdict{why: job.PromptRefused, failure: s.failureOf(id, "ValidationError", comfyui.WithoutPaths(message), r)}
	before := s.count(job.PromptRefused, job.FileMissing)
	if before == 0 {
		v.again, v.change = true, func(w *server.Wait) { w.Only, w.Cause = s.lease.Server, "the server refused it" }
		return v
	}
	v.change = s.refuse("server " + s.row.URL + " refused it")
	v.again = before < maxRefused && s.another(v.change)
	return v
}
