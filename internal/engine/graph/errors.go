package graph

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Types of prompt errors, as ComfyUI spells them.
const (
	TypeNoOutputs     = "prompt_no_outputs"
	TypeOutputsFailed = "prompt_outputs_failed_validation"
	TypeMissingType   = "missing_node_type"
)

// PromptError refuses a whole graph. It is fault.Invalid with code invalid_workflow.
type PromptError struct {
	Type       string
	Message    string
	Details    string
	ExtraInfo  map[string]any
	NodeErrors NodeErrors
}

// Error returns the message and the details, for logs.
func (e *PromptError) Error() string {
	if e.Details == "" {
		return e.Message
	}
	return e.Message + ": " + e.Details
}

// Unwrap classifies the error.
func (e *PromptError) Unwrap() error {
	return fault.New(fault.Invalid, fault.CodeInvalidWorkflow, "%s", e.Message)
}

// NodeErrors are the errors of nodes, in the order in which Validate found them.
type NodeErrors []*NodeError

// NodeError holds the errors of one node.
type NodeError struct {
	Node             string
	Class            string
	Errors           []InputError
	DependentOutputs []string
}

// InputError is one broken rule. Its JSON is that of node_errors in the cloud API.
type InputError struct {
	Type      string         `json:"type"`
	Message   string         `json:"message"`
	Details   string         `json:"details"`
	ExtraInfo map[string]any `json:"extra_info"`
}

// MarshalJSON encodes the errors as an object by node id, in order.
func (ne NodeErrors) MarshalJSON() ([]byte, error) {
	object := make(node.Object, len(ne))
	for i, e := range ne {
		object[i] = node.Defined{Name: e.Node, Spec: struct {
			Errors           []InputError `json:"errors"`
			DependentOutputs []string     `json:"dependent_outputs"`
			Class            string       `json:"class_type"`
		}{e.Errors, e.DependentOutputs, e.Class}}
	}
	return object.MarshalJSON()
}

// FieldError is a broken rule as the v2 API reports it.
type FieldError struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

// ByField returns the errors in the form of the v2 API: node id → fields and reasons.
func (ne NodeErrors) ByField() map[string][]FieldError {
	out := make(map[string][]FieldError, len(ne))
	for _, e := range ne {
		for _, in := range e.Errors {
			field, _ := in.ExtraInfo["input_name"].(string)
			reason := in.Message
			if in.Details != "" && in.Details != field {
				reason += ": " + in.Details
			}
			out[e.Node] = append(out[e.Node], FieldError{Field: field, Reason: reason})
		}
	}
	return out
}

func missingType(n *Node) *PromptError {
	title, given := n.Title, any(nil)
	if title != "" {
		given = title
	} else {
		title = "ID #" + n.ID
	}
	return &PromptError{
		Type: TypeMissingType, Details: fmt.Sprintf("Node ID '#%s'", n.ID),
		Message:   fmt.Sprintf("Node '%s' has no class_type. The workflow may be corrupted or a custom node is missing.", title),
		ExtraInfo: map[string]any{"node_id": n.ID, "class_type": nil, "node_title": given},
	}
}

func unknownType(n *Node) *PromptError {
	title := n.Title
	title = cmp.Or(title, n.Class)
	return &PromptError{
		Type: TypeMissingType, Details: fmt.Sprintf("Node ID '#%s'", n.ID),
		Message:   fmt.Sprintf("Node '%s' not found. The custom node may not be installed.", title),
		ExtraInfo: map[string]any{"node_id": n.ID, "class_type": n.Class, "node_title": title},
	}
}

// lackingType refuses a node whose class cannot run until the operator sets variables.
func lackingType(n *Node, variables []string) *PromptError {
	e := unknownType(n)
	e.Message = fmt.Sprintf("Node '%s' cannot run: the operator has not set %s.", cmp.Or(n.Title, n.Class), strings.Join(variables, ", "))
	e.ExtraInfo["missing_variables"] = variables
	return e
}

func noOutputs() *PromptError {
	return &PromptError{Type: TypeNoOutputs, Message: "Prompt has no outputs", ExtraInfo: map[string]any{}}
}

// Refuse returns the error of a graph that cannot run because of one input of one node.
func Refuse(accepted *Accepted, id, class string, e InputError) *PromptError {
	return outputsFailed(accepted.Outputs, NodeErrors{{Node: id, Class: class, Errors: []InputError{e}, DependentOutputs: accepted.Outputs}})
}

// Refuse returns the error of a graph of which some outputs cannot run, for a caller who needs all of them.
func (a *Accepted) Refuse() *PromptError { return outputsFailed(nil, a.NodeErrors) }

// outputsFailed returns the error of a prompt whose output nodes all failed; it lists the errors of these nodes.
func outputsFailed(outputs []string, errs NodeErrors) *PromptError {
	var lines []string
	for _, id := range outputs {
		for _, e := range errs {
			if e.Node != id {
				continue
			}
			for _, in := range e.Errors {
				lines = append(lines, in.Message+": "+in.Details)
			}
		}
	}
	return &PromptError{
		Type: TypeOutputsFailed, Message: "Prompt outputs failed validation",
		Details: strings.Join(lines, "\n"), ExtraInfo: map[string]any{}, NodeErrors: errs,
	}
}
