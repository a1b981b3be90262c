package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

func (s *server) promptRoutes() []edge.Route {
	return edge.Cloud(
		edge.Route{Method: http.MethodPost, Path: "/prompt", Access: edge.Store, Limit: s.opts.MaxPrompt, Handle: s.postPrompt},
		edge.Route{Method: http.MethodGet, Path: "/prompt", Handle: s.getPrompt},
	)
}

// promptRequest is the body of POST /prompt. The fields behind ExtraData are not in the
// cloud contract but every real client sends some of them (cloud facts, section 2).
type promptRequest struct {
	Prompt    json.RawMessage            `json:"prompt"`
	ExtraData map[string]json.RawMessage `json:"extra_data"`
	ClientID  string                     `json:"client_id"`
	PromptID  json.RawMessage            `json:"prompt_id"`
	Number    json.RawMessage            `json:"number"`
	Front     bool                       `json:"front"`
	Targets   []string                   `json:"partial_execution_targets"`
}

// maxTargets bounds the outputs that a client picks; each output of the graph is looked for among them.
const maxTargets = 10_000

type promptResponse struct {
	PromptID   job.ID           `json:"prompt_id"`
	Number     float64          `json:"number"`
	NodeErrors graph.NodeErrors `json:"node_errors"`
}

// postPrompt accepts a workflow: POST /prompt.
func (s *server) postPrompt(c *gin.Context) error {
	var req promptRequest
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	sub, err := req.submission()
	if err != nil {
		return err
	}
	req.label(sub.ExtraData, c.GetHeader("Comfy-Usage-Source"))
	done, err := s.submit(c, sub)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, promptResponse{PromptID: done.Job.ID, Number: done.Job.Number, NodeErrors: nodeErrors(done.Accepted)})
	return nil
}

// submit runs the checks that both surfaces share and hands the submission over.
func (s *server) submit(c *gin.Context, sub job.Submission) (job.Submitted, error) {
	who := edge.Caller(c)
	if !who.Active || who.Tier == account.TierFree {
		return job.Submitted{}, fault.New(fault.Exhausted, "subscription_inactive", "an active subscription is required to run workflows")
	}
	sub.Account, sub.RequestID = who.Account, edge.RequestID(c)
	shown, err := s.Presented(c)
	if err != nil {
		return job.Submitted{}, err
	}
	withhold(&sub, sub.Credential, shown)
	return s.Jobs.Submit(c.Request.Context(), sub)
}

func (r promptRequest) submission() (job.Submission, error) {
	if isNull(r.Prompt) {
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
	case len(r.ClientID) > maxClientID: // events, views and messages repeat it
		return job.Submission{}, httperr.Invalidf("client_id is longer than %d bytes", maxClientID)
	case len(r.Targets) > maxTargets:
		return job.Submission{}, httperr.Invalidf("partial_execution_targets names more than %d nodes", maxTargets)
	}
	credential, extra := splitCredential(r.ExtraData)
	return job.Submission{
		ID: id, Surface: job.SurfaceCloud, ClientID: r.ClientID, Prompt: r.Prompt, ExtraData: extra,
		Credential: credential, Number: number, Front: r.Front, Targets: r.Targets,
	}, nil
}

func (r promptRequest) id() (job.ID, error) {
	if isNull(r.PromptID) {
		return "", nil
	}
	var text string
	if err := json.Unmarshal(r.PromptID, &text); err == nil {
		if id, err := job.ParseID(text); err == nil {
			return id, nil
		}
	}
	return "", httperr.BadPromptID()
}

// number takes what the self-hosted runtime takes: a JSON number or its text.
func (r promptRequest) number() (*float64, error) {
	if isNull(r.Number) {
		return nil, nil
	}
	text := string(r.Number)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != n || n > 1e300 || n < -1e300 {
		return nil, fault.New(fault.Invalid, "invalid_request", "number must be a finite number")
	}
	return &n, nil
}

// label adds to extra_data what the self-hosted runtime adds to it.
func (r promptRequest) label(extra map[string]json.RawMessage, usageSource string) {
	extra["create_time"] = json.RawMessage(strconv.FormatInt(time.Now().UnixMilli(), 10))
	for name, value := range map[string]string{"client_id": r.ClientID, "comfy_usage_source": usageSource} {
		if raw, err := json.Marshal(value); err == nil && value != "" {
			extra[name] = raw
		}
	}
}

// credentialFields are the names under which clients put a service key into extra_data.
// The first two are the contract's name and its public alias.
func credentialFields() []string {
	return []string{"api_key_service", "api_key_comfy_org", "auth_token_comfy_org"}
}

// splitCredential takes the credential out of extra_data and returns the rest, never nil.
func splitCredential(extra map[string]json.RawMessage) (credential string, rest map[string]json.RawMessage) {
	rest = make(map[string]json.RawMessage, len(extra))
	for name, value := range extra {
		rest[name] = value
	}
	for _, name := range credentialFields() {
		var text string
		if json.Unmarshal(rest[name], &text) == nil && credential == "" {
			credential = text
		}
		delete(rest, name)
	}
	return credential, rest
}

// minWithheld is the length from which a text is taken for a secret wherever it stands: shorter ones,
// such as a token chosen for a trial, may be words.
const minWithheld = 16

// withhold replaces the caller's secrets where they stand in what is recorded: editors copy the key
// that they call with into the graph's settings, and a log forgets nothing (W-21, X-37).
func withhold(sub *job.Submission, secrets ...string) {
	for _, secret := range secrets {
		quoted, err := json.Marshal(secret)
		if err != nil || len(secret) < minWithheld {
			continue
		}
		old, instead := quoted[1:len(quoted)-1], []byte("withheld")
		if bytes.Contains(sub.Prompt, old) {
			sub.Prompt = bytes.ReplaceAll(sub.Prompt, old, instead)
		}
		for name, value := range sub.ExtraData {
			sub.ExtraData[name] = bytes.ReplaceAll(value, old, instead)
		}
		for name, value := range sub.Metadata {
			sub.Metadata[name] = strings.ReplaceAll(value, secret, string(instead))
		}
	}
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// nodeErrors returns what is wrong with the outputs of an accepted graph that do not run, empty when all run.
func nodeErrors(a *graph.Accepted) graph.NodeErrors {
	if a == nil {
		return nil
	}
	return a.NodeErrors
}

// getPrompt says how many jobs wait or run: GET /prompt.
func (s *server) getPrompt(c *gin.Context) error {
	remaining, err := s.Reader.Remaining(c.Request.Context(), edge.Caller(c).Account)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, gin.H{"exec_info": gin.H{"queue_remaining": remaining}})
	return nil
}
