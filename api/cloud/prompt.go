package cloud

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

func (s *Surface) promptRoutes() []edge.Route {
	return edge.Cloud(
		edge.Route{Method: http.MethodPost, Path: "/prompt", Access: edge.Store, Limit: s.opts.MaxPrompt, Handle: s.postPrompt},
		edge.Route{Method: http.MethodGet, Path: "/prompt", Handle: s.getPrompt},
	)
}

// promptRequest is the body of POST /prompt. The fields behind ExtraData are not in the
// cloud contract but every real client sends some of them.
type promptRequest struct {
	Prompt    json.RawMessage            `json:"prompt"`
	ExtraData map[string]json.RawMessage `json:"extra_data"`
	ClientID  clientID                   `json:"client_id"`
	PromptID  json.RawMessage            `json:"prompt_id"`
	Number    json.RawMessage            `json:"number"`
	Front     bool                       `json:"front"`
	Targets   []string                   `json:"partial_execution_targets"`
}

// maxTargets bounds the outputs that a client picks; each output of the graph is looked for among them.
const maxTargets = 10_000

type promptResponse struct {
	PromptID   job.PublicID     `json:"prompt_id"`
	Number     float64          `json:"number"`
	NodeErrors graph.NodeErrors `json:"node_errors"`
}

// postPrompt accepts a workflow: POST /prompt.
func (s *Surface) postPrompt(c *gin.Context) error {
	var req promptRequest
	if err := request.Submission(c, &req, jobio.MaxMembers); err != nil {
		return err
	}
	sub, err := req.submission()
	if err != nil {
		return err
	}
	req.label(sub.ExtraData, c.GetHeader("Comfy-Usage-Source"))
	if sub, err = jobio.Prepare(c, s.Edge, sub); err != nil {
		return err
	}
	done, err := s.submit(c, sub)
	return edge.OK(c, promptResponse{PromptID: done.Job.PublicID(), Number: done.Job.Number, NodeErrors: nodeErrors(done.Accepted)}, err)
}

// submit hands a submission over. Where its graph calls partners and it carries no key for them, that with which the
// browser's editor has signed in is it.
func (s *Surface) submit(c *gin.Context, sub job.Submission) (job.Submitted, error) {
	done, err := s.Jobs.Submit(c.Request.Context(), sub)
	var known *fault.Error
	if !errors.As(err, &known) || known.Code != fault.CodeCredentialRequired || !s.Edge.FromEditor(c) {
		return done, err
	}
	if sub.Credential, err = s.Edge.RequestSecret(c); err != nil || sub.Credential == "" {
		return done, errors.Join(err, known)
	}
	return s.Jobs.Submit(c.Request.Context(), sub)
}

func (r promptRequest) submission() (job.Submission, error) {
	if jobio.IsNull(r.Prompt) {
		return job.Submission{}, httperr.NoPrompt()
	}
	id, err := r.id()
	if err != nil {
		return job.Submission{}, err
	}
	number, err := r.number()
	if err != nil {
		return job.Submission{}, err
	}
	switch {
	case len(r.ClientID) > jobio.MaxClientID:
		return job.Submission{}, httperr.Invalidf("client_id is longer than %d bytes", jobio.MaxClientID)
	case len(r.Targets) > maxTargets:
		return job.Submission{}, httperr.Invalidf("partial_execution_targets names more than %d nodes", maxTargets)
	}
	credential, extra := jobio.SplitCredential(r.ExtraData)
	return job.Submission{
		PublicID: id, Surface: job.SurfaceCloud, ClientID: string(r.ClientID), Prompt: r.Prompt, ExtraData: extra,
		Credential: credential, ComfyOrg: jobio.ComfyOrg(r.ExtraData), Number: number, Front: r.Front, Targets: r.Targets,
	}, nil
}

func (r promptRequest) id() (job.PublicID, error) {
	if jobio.IsNull(r.PromptID) {
		return "", nil
	}
	var text string
	if err := json.Unmarshal(r.PromptID, &text); err == nil {
		if id, err := job.ParsePublicID(text); err == nil {
			return id, nil
		}
	}
	return "", httperr.BadPromptID()
}

// number takes what the self-hosted runtime takes: a JSON number or its text.
func (r promptRequest) number() (*float64, error) {
	if jobio.IsNull(r.Number) {
		return nil, nil
	}
	text := string(r.Number)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != n || n > 1e300 || n < -1e300 {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "number must be a finite number")
	}
	return &n, nil
}

// label adds to extra_data what the self-hosted runtime adds to it.
func (r promptRequest) label(extra map[string]json.RawMessage, usageSource string) {
	extra["create_time"] = json.RawMessage(strconv.FormatInt(time.Now().UnixMilli(), 10))
	for name, value := range map[string]string{"client_id": string(r.ClientID), "comfy_usage_source": usageSource} {
		if raw, err := json.Marshal(value); err == nil && value != "" {
			extra[name] = raw
		}
	}
}

// nodeErrors returns the errors of the outputs of an accepted graph that do not run, empty if all run.
func nodeErrors(a *graph.Accepted) graph.NodeErrors {
	if a == nil {
		return nil
	}
	return a.NodeErrors
}

// getPrompt says how many jobs wait or run: GET /prompt.
func (s *Surface) getPrompt(c *gin.Context) error {
	remaining, err := s.Queue.Remaining(c.Request.Context(), edge.Caller(c).Account)
	return edge.OK(c, gin.H{"exec_info": gin.H{"queue_remaining": remaining}}, err)
}

// clientID is the name of a client, which may be a text or a number: ComfyUI takes either.
type clientID string

// UnmarshalJSON implements json.Unmarshaler.
func (c *clientID) UnmarshalJSON(raw []byte) error {
	var number json.Number
	if len(raw) > 0 && raw[0] != '"' && json.Unmarshal(raw, &number) == nil {
		*c = clientID(number)
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	*c = clientID(text)
	return nil
}
