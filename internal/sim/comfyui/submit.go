package comfyui

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// sensitive are the members of extra_data that queue and history do not show.
var sensitive = []string{"auth_token_comfy_org", "api_key_comfy_org"}

// maxNodes is more than any prompt has: the original has no bound.
const maxNodes = 1 << 20

// request is the body of POST /prompt.
type request struct {
	Prompt  json.RawMessage `json:"prompt"`
	ID      *string         `json:"prompt_id"`
	Client  *string         `json:"client_id"`
	Extra   map[string]any  `json:"extra_data"`
	Number  *float64        `json:"number"`
	Front   bool            `json:"front"`
	Targets []string        `json:"partial_execution_targets"`
}

// submit serves POST /prompt.
func (s *Server) submit(w http.ResponseWriter, r *http.Request) {
	var req request
	if !s.decode(w, r, &req) {
		return
	}
	if req.Prompt == nil {
		refuse(w, "no_prompt", "No prompt provided", "No prompt provided")
		return
	}
	id, ok := promptID(req.ID)
	if !ok {
		refuse(w, "invalid_prompt_id", "prompt_id must be a valid UUID", "prompt_id must be a UUID string in canonical lowercase hyphenated form")
		return
	}
	number := s.number(req)
	accepted, refused := s.validate(r, req)
	if refused != nil {
		writeJSON(w, http.StatusBadRequest, refused)
		return
	}
	it := &item{number: number, id: id, prompt: req.Prompt, extra: req.extra(), secrets: req.secrets(), outputs: accepted.Outputs}
	queued := s.queue.put(it)
	if s.faults.happens(Duplicate) {
		s.queue.put(&item{number: s.queue.next(false), id: id, prompt: req.Prompt, extra: it.extra, outputs: it.outputs})
	}
	s.announce()
	switch {
	case s.faults.happens(AcceptAndDrop):
		panic(http.ErrAbortHandler)
	case !queued || s.faults.happens(AcceptAndFail):
		http.Error(w, "500 Internal Server Error", http.StatusInternalServerError)
	default:
		writeJSON(w, http.StatusOK, map[string]any{"prompt_id": id, "number": number, "node_errors": accepted.NodeErrors})
	}
}

// promptID returns the id of a prompt, or a new one if the request has none.
func promptID(given *string) (string, bool) {
	if given == nil {
		return uuid.NewString(), true
	}
	id, err := uuid.Parse(*given)
	return *given, err == nil && id.String() == *given
}

func (s *Server) number(req request) float64 {
	if req.Number != nil {
		return *req.Number
	}
	return s.queue.next(req.Front)
}

// extra returns the parts of extra_data that queue and history show.
func (r *request) extra() map[string]any {
	extra := map[string]any{}
	for name, value := range r.Extra {
		if !contains(sensitive, name) {
			extra[name] = value
		}
	}
	if r.Client != nil {
		extra["client_id"] = *r.Client
	}
	extra["create_time"] = time.Now().UnixMilli()
	return extra
}

// secrets returns the parts of extra_data that only nodes can read.
func (r *request) secrets() map[string]string {
	secrets := map[string]string{}
	for _, name := range sensitive {
		if value, ok := r.Extra[name].(string); ok {
			secrets[name] = value
		}
	}
	return secrets
}

// validate returns the outputs that run, or the body of a refusal.
func (s *Server) validate(r *http.Request, req request) (*graph.Accepted, map[string]any) {
	if s.faults.happens(LostInput) {
		s.files.wipe(node.FolderInput)
	}
	g, err := graph.Parse(req.Prompt, graph.Limits{MaxNodes: maxNodes, MaxBytes: int(s.opts.MaxUpload)})
	if err == nil {
		var accepted *graph.Accepted
		validator := &graph.Validator{Classes: s.classes}
		if accepted, err = validator.Validate(r.Context(), g, s.files, req.Targets); err == nil {
			return accepted, nil
		}
	}
	var refused *graph.PromptError
	if !errors.As(err, &refused) {
		return nil, refusal("invalid_prompt", err.Error(), err.Error(), nil, graph.NodeErrors{})
	}
	return nil, refusal(refused.Type, refused.Message, refused.Details, refused.ExtraInfo, refused.NodeErrors)
}

func refusal(kind, text, details string, extra map[string]any, nodes graph.NodeErrors) map[string]any {
	if extra == nil {
		extra = map[string]any{}
	}
	return map[string]any{
		"error":       map[string]any{"type": kind, "message": text, "details": details, "extra_info": extra},
		"node_errors": nodes,
	}
}

func refuse(w http.ResponseWriter, kind, text, details string) {
	writeJSON(w, http.StatusBadRequest, refusal(kind, text, details, nil, graph.NodeErrors{}))
}
