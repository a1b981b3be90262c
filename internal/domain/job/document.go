package job

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/millrace-dev/millrace/internal/domain/label"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Source is an accepted submission: the graph and its extra data, without credentials.
type Source struct {
	Prompt    json.RawMessage            `json:"prompt"`
	Filled    json.RawMessage            `json:"filled,omitempty"` // the graph that runs, if nodes of Prompt call deployments
	ExtraData map[string]json.RawMessage `json:"extra_data,omitempty"`
	Inputs    map[string]json.RawMessage `json:"inputs,omitempty"` // of a call of a deployment, by name
	Asked     string                     `json:"asked,omitempty"`  // digest of the values as the caller sent them
}

// Runs returns the graph that runs.
func (s Source) Runs() json.RawMessage {
	if s.Filled != nil {
		return s.Filled
	}
	return s.Prompt
}

// Previews reports whether clients want previews of slow nodes. As in ComfyUI, extra_data.preview_method "none" turns
// them off. All other methods have the same effect.
func (s Source) Previews() bool {
	var method string
	return json.Unmarshal(s.ExtraData["preview_method"], &method) != nil || method != "none"
}

// Labels returns the labels that servers must have to run the graph: extra_data.millrace.labels, which ParseLabels
// has accepted.
func (s Source) Labels() []string {
	labels, err := s.ParseLabels()
	if err != nil {
		return nil // a job of a version that did not check labels
	}
	return labels
}

// ParseLabels returns the labels in extra_data.millrace.labels, sorted. A value that is not a list of labels is
// Invalid.
func (s Source) ParseLabels() ([]string, error) {
	raw, ok := s.ExtraData["millrace"]
	if !ok {
		return nil, nil
	}
	var own struct {
		Labels []string `json:"labels"`
	}
	if err := json.Unmarshal(raw, &own); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest,
			"extra_data.millrace must be an object whose labels are a list of texts, such as {\"labels\": [\"sdxl\"]}")
	}
	labels, err := label.Parse(own.Labels)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "extra_data.millrace.labels: %s", err.Error())
	}
	return labels, nil
}

// PNGInfo returns extra_data.extra_pnginfo, whose entries are written into saved images.
func (s Source) PNGInfo() map[string]json.RawMessage {
	var info map[string]json.RawMessage
	if json.Unmarshal(s.ExtraData["extra_pnginfo"], &info) != nil {
		return nil // clients may send any JSON; only an object is used
	}
	return info
}

// maxWorkflowID bounds the id of an editor's workflow, in bytes, because lists of jobs repeat it.
const maxWorkflowID = 256

// WorkflowID returns the id that the editor gave to the workflow, or "".
func (s Source) WorkflowID() string {
	var workflow struct {
		ID json.RawMessage `json:"id"`
	}
	var id string
	if json.Unmarshal(s.PNGInfo()["workflow"], &workflow) != nil || json.Unmarshal(workflow.ID, &id) != nil || len(id) > maxWorkflowID {
		return ""
	}
	return id
}

// document stores the submission: in the event if it is small, otherwise as a blob.
func (s *Service) document(ctx context.Context, sub Submission) (Document, error) {
	raw, err := json.Marshal(Source{
		Prompt: sub.Prompt, Filled: sub.filled.Prompt, ExtraData: sub.ExtraData, Inputs: sub.Inputs, Asked: sub.Asked,
	})
	if err != nil {
		return Document{}, fmt.Errorf("encode the submission: %w", err)
	}
	if len(raw) <= inlineLimit {
		return Document{Inline: string(raw)}, nil
	}
	ref, err := blob.PutBytes(ctx, s.Blobs, raw)
	if err != nil {
		return Document{}, fmt.Errorf("store the submission: %w", err)
	}
	return Document{Blob: ref.String()}, nil
}

// Sources reads submissions from the first events of jobs.
type Sources struct {
	Events   eventlog.Store
	Registry *eventlog.Registry
	Blobs    blob.Store
}

// Load returns the submission of a job of the account. An unknown job and a job of another account are NotFound.
func (s Sources) Load(ctx context.Context, account string, id ID) (Source, error) {
	doc, err := s.document(ctx, account, id)
	if err != nil {
		return Source{}, err
	}
	return doc.Load(ctx, s.Blobs)
}

// LoadWithin is Load for submissions of at most most bytes. For a larger one it reads nothing and whole is false.
func (s Sources) LoadWithin(ctx context.Context, account string, id ID, most int64) (src Source, whole bool, err error) {
	doc, err := s.document(ctx, account, id)
	if err != nil {
		return Source{}, false, err
	}
	size := int64(len(doc.Inline))
	if doc.Blob != "" {
		ref, err := blob.ParseRef(doc.Blob)
		if err != nil {
			return Source{}, false, err
		}
		if size, err = s.Blobs.Stat(ctx, ref); err != nil {
			return Source{}, false, fmt.Errorf("size of the submission: %w", err)
		}
	}
	if size > most {
		return Source{}, false, nil
	}
	src, err = doc.Load(ctx, s.Blobs)
	return src, err == nil, err
}

func (s Sources) document(ctx context.Context, account string, id ID) (Document, error) {
	recorded, err := s.Events.ReadStream(ctx, id.Stream(), 0, 1)
	if err != nil {
		return Document{}, err
	}
	if len(recorded) == 0 || recorded[0].Account != account {
		return Document{}, fault.New(fault.NotFound, fault.CodeNotFound, "no such job")
	}
	data, err := s.Registry.Decode(recorded[0].Type, recorded[0].Data)
	if err != nil {
		return Document{}, err
	}
	submitted, ok := data.(SubmittedV1)
	if !ok {
		return Document{}, fmt.Errorf("job %s begins with %s", id, recorded[0].Type)
	}
	return submitted.Document, nil
}

// maxDocument bounds a submission read from the blob store. Requests have a much lower limit.
const maxDocument = 256 << 20

// Load returns the submission that doc locates.
func (doc Document) Load(ctx context.Context, blobs blob.Store) (Source, error) {
	raw := []byte(doc.Inline)
	if doc.Blob != "" {
		var err error
		if raw, err = blob.GetBytes(ctx, blobs, doc.Blob, maxDocument); err != nil {
			return Source{}, fmt.Errorf("read the submission: %w", err)
		}
	}
	var src Source
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&src); err != nil {
		return Source{}, fmt.Errorf("decode the submission: %w", err)
	}
	return src, nil
}
