package comfyui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/fault"
)

// maxCancelChecks bounds how often Cancel checks whether the prompt is still in the queue. Once is the rule; more rounds
// are needed only if the server received the prompt more than once.
const maxCancelChecks = 5

// Submit implements Prompts.
func (c *Client) Submit(ctx context.Context, p Prompt) (Submitted, error) {
	if id, err := uuid.Parse(string(p.ID)); err != nil || NewPromptID(id) != p.ID {
		return Submitted{}, fault.New(fault.Invalid, fault.CodeServerRefused, "the prompt id %q is not a UUID in canonical form",
			clip(string(p.ID)))
	}
	extra, err := withoutNullWorkflow(p.Extra)
	if err != nil {
		return Submitted{}, err
	}
	a, err := c.post(ctx, "/prompt", struct {
		Prompt  json.RawMessage            `json:"prompt"`
		ID      PromptID                   `json:"prompt_id"`
		Client  string                     `json:"client_id,omitempty"`
		Extra   map[string]json.RawMessage `json:"extra_data,omitempty"`
		Targets []string                   `json:"partial_execution_targets,omitempty"`
	}{p.Graph, p.ID, p.Client, extra, p.Targets})
	if err != nil {
		return Submitted{}, err
	}
	return submitted(p.ID, a)
}

// submitted reads the answer to a prompt.
func submitted(id PromptID, a response) (Submitted, error) {
	var body struct {
		ID         PromptID                   `json:"prompt_id"`
		Number     float64                    `json:"number"`
		Error      *ValidationError           `json:"error"`
		NodeErrors map[string]json.RawMessage `json:"node_errors"`
	}
	switch a.status {
	case http.StatusOK, http.StatusBadRequest:
		if err := json.Unmarshal(a.body, &body); err != nil {
			return Submitted{}, fault.Wrap(err, fault.Unavailable, fault.CodeServerGarbage,
				"the server's answer to a prompt does not have the form of a ComfyUI answer")
		}
	default:
		return Submitted{}, statusError(a)
	}
	nodes, err := nodeErrors(body.NodeErrors)
	if err != nil {
		return Submitted{}, err
	}
	if a.status == http.StatusBadRequest {
		if body.Error == nil {
			return Submitted{}, statusError(a)
		}
		return Submitted{}, &Refusal{Err: *body.Error, Nodes: nodes}
	}
	if body.ID != id {
		return Submitted{}, fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server accepted the prompt under another id")
	}
	return Submitted{Number: body.Number, NodeErrors: nodes}, nil
}

func nodeErrors(raw map[string]json.RawMessage) (map[string]NodeErrors, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	nodes := make(map[string]NodeErrors, len(raw))
	for id, one := range raw {
		var n NodeErrors
		if err := json.Unmarshal(one, &n); err != nil {
			return nil, fault.Wrap(err, fault.Unavailable, fault.CodeServerGarbage, "the server's errors of node %s cannot be read", clip(id))
		}
		nodes[id] = n
	}
	return nodes, nil
}

// withoutNullWorkflow leaves out a null extra_pnginfo.workflow. A server accepts such a prompt, but then its list of
// jobs fails until the prompt leaves the history.
func withoutNullWorkflow(extra map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	raw, ok := extra["extra_pnginfo"]
	if !ok {
		return extra, nil
	}
	var info map[string]json.RawMessage
	if err := json.Unmarshal(raw, &info); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeServerRefused, "extra_pnginfo is not an object")
	}
	if workflow, ok := info["workflow"]; !ok || string(workflow) != "null" {
		return extra, nil
	}
	delete(info, "workflow")
	clean, err := json.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("encode extra_pnginfo: %w", err)
	}
	out := make(map[string]json.RawMessage, len(extra))
	for name, value := range extra {
		out[name] = value
	}
	out["extra_pnginfo"] = clean
	return out, nil
}

// Cancel implements Prompts.
func (c *Client) Cancel(ctx context.Context, id PromptID) (bool, error) {
	cancelled, jobs, err := c.cancelJob(ctx, id)
	if err != nil || jobs && !cancelled {
		return false, err
	}
	for range maxCancelChecks {
		queue, err := c.Queue(ctx)
		if err != nil {
			return cancelled, err
		}
		running, pending := contains(queue.Running, id), contains(queue.Pending, id)
		if pending {
			err = c.dequeue(ctx, id)
		} else if running {
			err = c.interrupt(ctx, id)
		}
		if err != nil {
			return cancelled, err
		}
		cancelled = cancelled || pending || running
		if !pending { // a prompt that left the queue may have begun to run: check again
			return cancelled, nil
		}
	}
	return cancelled, nil
}

// interrupt ends a prompt if it is the running one.
func (c *Client) interrupt(ctx context.Context, id PromptID) error {
	if _, jobs, err := c.cancelJob(ctx, id); jobs || err != nil {
		return err
	}
	return c.act(ctx, "/interrupt", map[string]any{"prompt_id": id})
}

// cancelJob cancels through the jobs interface, which finds waiting and running prompts. known is false if the server
// does not have this interface.
func (c *Client) cancelJob(ctx context.Context, id PromptID) (cancelled, known bool, err error) {
	if c.noJobs.Load() {
		return false, false, nil
	}
	a, err := c.post(ctx, "/api/jobs/"+string(id)+"/cancel", struct{}{})
	if err != nil {
		return false, false, err
	}
	if a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed {
		return false, false, nil
	}
	if a.status != http.StatusOK {
		return false, false, statusError(a)
	}
	var body struct {
		Cancelled *bool `json:"cancelled"`
	}
	if err := a.decode(&body); err != nil {
		return false, false, err
	}
	if body.Cancelled == nil {
		return false, false, fault.New(fault.Unavailable, fault.CodeServerGarbage,
			"the server's answer to a cancel does not have the form of a ComfyUI answer")
	}
	return *body.Cancelled, true, nil
}

// dequeue removes one entry of the prompt from the queue. A server error does not mean failure: if two entries are
// equal, the server fails after it has removed one.
func (c *Client) dequeue(ctx context.Context, id PromptID) error {
	a, err := c.post(ctx, "/queue", map[string]any{"delete": []PromptID{id}})
	if err != nil || a.status >= 500 || a.status == http.StatusOK {
		return err
	}
	return statusError(a)
}

// act sends a request whose answer has only a status.
func (c *Client) act(ctx context.Context, path string, body any) error {
	a, err := c.post(ctx, path, body)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return statusError(a)
	}
	return nil
}

func contains(entries []QueueEntry, id PromptID) bool {
	return slices.ContainsFunc(entries, func(e QueueEntry) bool { return e.ID == id })
}

// Free implements Prompts.
func (c *Client) Free(ctx context.Context) error {
	return c.act(ctx, "/free", map[string]bool{"unload_models": true, "free_memory": true})
}
