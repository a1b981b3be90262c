package comfyui

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// Types of binary messages. Type 2 of ComfyUI is the unencoded form of type 1 and is never sent.
const (
	binaryPreview         = 1
	binaryText            = 3
	binaryPreviewMetadata = 4
)

// Types of pictures in a binaryPreview.
var previewTypes = map[uint32]string{1: "image/jpeg", 2: "image/png"}

// wireData is the data of a message; each type uses some of the members.
type wireData struct {
	Prompt    PromptID        `json:"prompt_id"`
	Node      *string         `json:"node"`
	Display   string          `json:"display_node"`
	Output    json.RawMessage `json:"output"`
	Value     float64         `json:"value"`
	Max       float64         `json:"max"`
	NodeID    string          `json:"node_id"`
	NodeType  string          `json:"node_type"`
	Message   string          `json:"exception_message"`
	Type      string          `json:"exception_type"`
	Traceback []string        `json:"traceback"`
	Executed  []string        `json:"executed"`
	Inputs    object          `json:"current_inputs"`
	Status    struct {
		Info struct {
			Remaining int `json:"queue_remaining"`
		} `json:"exec_info"`
	} `json:"status"`

	// Nodes is a list in execution_cached and an object in progress_state.
	Nodes stringList `json:"nodes"`
}

func (d *wireData) node() string {
	if d.Node == nil {
		return ""
	}
	return *d.Node
}

// failure returns the error of an execution_error.
func (d *wireData) failure() ExecutionError {
	return ExecutionError{
		Node: d.NodeID, Class: d.NodeType, Type: d.Type, Message: d.Message, Traceback: d.Traceback, Executed: d.Executed, Inputs: d.Inputs,
	}
}

// object holds the members of an object. Any other JSON becomes an empty one.
type object map[string]json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(raw []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil {
		*o = members
	}
	return nil
}

// stringList is a list of texts. Any other JSON becomes an empty list.
type stringList []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *stringList) UnmarshalJSON(raw []byte) error {
	var texts []string
	if json.Unmarshal(raw, &texts) == nil {
		*l = texts
	}
	return nil
}

// parseText reads a text message. A message that cannot be read is an error; a message of an unknown type is not.
func parseText(raw []byte) (Event, error) {
	var message struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &message); err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	var d wireData
	if message.Type == "progress_state" {
		return parseProgressState(message.Data)
	}
	if !knownMessages[message.Type] {
		return Unrecognized{Type: message.Type, Data: message.Data}, nil
	}
	if err := json.Unmarshal(message.Data, &d); err != nil {
		return nil, fmt.Errorf("read a message of type %s: %w", message.Type, err)
	}
	return d.event(message.Type), nil
}

// knownMessages lists the types of messages that event understands.
var knownMessages = map[string]bool{
	"status": true, "execution_start": true, "execution_cached": true, "executing": true, "progress": true, "executed": true,
	"execution_success": true, "execution_error": true, "execution_interrupted": true,
}

// event returns the event of a known type.
func (d *wireData) event(kind string) Event {
	switch kind {
	case "status":
		return QueueChanged{Remaining: d.Status.Info.Remaining}
	case "execution_start":
		return Started{Prompt: d.Prompt}
	case "execution_cached":
		return Cached{Prompt: d.Prompt, Nodes: d.Nodes}
	case "executing":
		if d.Node == nil {
			return Finished{Prompt: d.Prompt}
		}
		return Executing{Prompt: d.Prompt, Node: d.node(), Display: d.Display}
	case "progress":
		return Progressed{Prompt: d.Prompt, Node: d.node(), Value: d.Value, Max: d.Max}
	case "executed":
		return Executed{Prompt: d.Prompt, Node: d.node(), Display: d.Display, Output: parseOutput(d.Output)}
	case "execution_success":
		return Succeeded{Prompt: d.Prompt}
	case "execution_error":
		return Errored{Prompt: d.Prompt, Err: d.failure()}
	default:
		return Interrupted{Prompt: d.Prompt, Node: d.NodeID}
	}
}

func parseProgressState(raw json.RawMessage) (Event, error) {
	var d struct {
		Prompt PromptID                `json:"prompt_id"`
		Nodes  map[string]NodeProgress `json:"nodes"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("read a message of type progress_state: %w", err)
	}
	return ProgressState{Prompt: d.Prompt, Nodes: d.Nodes}, nil
}

// parseBinary reads a binary message: four bytes of type, then the content, whose form depends on the type.
func parseBinary(raw []byte) (Event, error) {
	kind, rest, err := number(raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case binaryPreview:
		picture, rest, err := number(rest)
		if err != nil {
			return nil, err
		}
		return Preview{MediaType: previewTypes[picture], Image: rest}, nil
	case binaryText:
		node, text, err := prefixed(rest)
		if err != nil {
			return nil, err
		}
		return ProgressText{Node: string(node), Text: string(text)}, nil
	case binaryPreviewMetadata:
		return parsePreview(rest)
	default:
		return Unrecognized{Type: fmt.Sprintf("binary %d", kind)}, nil
	}
}

func parsePreview(raw []byte) (Event, error) {
	metadata, image, err := prefixed(raw)
	if err != nil {
		return nil, err
	}
	var m struct {
		Prompt    PromptID `json:"prompt_id"`
		Node      string   `json:"node_id"`
		Display   string   `json:"display_node_id"`
		Parent    string   `json:"parent_node_id"`
		Real      string   `json:"real_node_id"`
		MediaType string   `json:"image_type"`
	}
	if err := json.Unmarshal(metadata, &m); err != nil {
		return nil, fmt.Errorf("read the metadata of a preview: %w", err)
	}
	return Preview{Prompt: m.Prompt, Node: m.Node, Display: m.Display, Parent: m.Parent, Real: m.Real, MediaType: m.MediaType, Image: image},
		nil
}

// prefixed splits off bytes that follow their length, a number of four bytes.
func prefixed(raw []byte) (head, rest []byte, err error) {
	length, rest, err := number(raw)
	if err != nil {
		return nil, nil, err
	}
	if uint64(length) > uint64(len(rest)) {
		return nil, nil, fmt.Errorf("a message announces %d bytes and has %d", length, len(rest))
	}
	return rest[:length], rest[length:], nil
}

// number splits off a number of four bytes.
func number(raw []byte) (uint32, []byte, error) {
	if len(raw) < 4 {
		return 0, nil, fmt.Errorf("a message of %d bytes is too short", len(raw))
	}
	return binary.BigEndian.Uint32(raw), raw[4:], nil
}
