package httperr

import (
	"errors"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

// NoPrompt refuses a submission without a graph, with the message of the self-hosted runtime.
func NoPrompt() error {
	const text = "No prompt provided"
	return &graph.PromptError{Type: "no_prompt", Message: text, Details: text}
}

// BadPromptID refuses a submission whose prompt_id is not a UUID.
func BadPromptID() error {
	return &graph.PromptError{
		Type: "invalid_prompt_id", Message: "prompt_id must be a valid UUID",
		Details: "prompt_id must be a UUID in canonical form: lower-case hexadecimal digits in groups of 8-4-4-4-12",
	}
}

// promptRefusal renders err for the prompt surface: errors of graph validation keep their type and message, other
// errors have their code.
func promptRefusal(status int, code fault.Code, err error) PromptEnvelope {
	var refused *graph.PromptError
	if errors.As(err, &refused) {
		return PromptEnvelope{
			Error: PromptError{
				Type: refused.Type, Message: refused.Message, Details: refused.Details, ExtraInfo: orEmpty(refused.ExtraInfo),
			},
			NodeErrors: refused.NodeErrors,
		}
	}
	message, details := PublicText(status, err)
	return PromptEnvelope{Error: PromptError{Type: string(code), Message: message, ExtraInfo: orEmpty(details)}}
}

// orEmpty returns m, or an empty map if m is nil, so that it marshals as {} and not as null.
func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// v2Details returns the details of err on the v2 surface: node_errors for a graph that
// validation refused.
func v2Details(err error, public map[string]any) map[string]any {
	var refused *graph.PromptError
	if !errors.As(err, &refused) {
		return public
	}
	byNode := refused.NodeErrors.ByField()
	if node, ok := refused.ExtraInfo["node_id"].(string); ok && len(byNode) == 0 {
		// The cloud surface reports an unknown class as an error of the whole prompt.
		byNode[node] = []graph.FieldError{{Field: "class_type", Reason: refused.Message}}
	}
	return map[string]any{"node_errors": byNode}
}
