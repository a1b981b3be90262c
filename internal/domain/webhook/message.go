package webhook

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/ordered"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// message is the body sent to a receiver. It contains only ids, states, times and links. For more, a receiver reads
// the API with its own credential.
type message struct {
	Type      Kind      `json:"type"`
	Timestamp time.Time `json:"timestamp"` // time of the event, not of the message
	Data      any       `json:"data"`
}

// jobData is the part of a message about a job.
type jobData struct {
	Object      string       `json:"object"` // "job"
	ID          job.PublicID `json:"id"`
	Status      job.State    `json:"status"` // in the words of GET /api/v2/jobs/{id}
	CreatedAt   *time.Time   `json:"created_at"`
	CompletedAt time.Time    `json:"completed_at"`
	Error       *errorData   `json:"error"`
	URLs        urlData      `json:"urls"`
}

// callData is the part of a message about a model call.
type callData struct {
	Object      string     `json:"object"` // "call"
	ID          call.ID    `json:"id"`
	Status      call.State `json:"status"`
	Model       string     `json:"model"`
	Mode        call.Mode  `json:"mode"`
	CreatedAt   *time.Time `json:"created_at"`
	CompletedAt time.Time  `json:"completed_at"`
	Error       *errorData `json:"error"`
	URLs        urlData    `json:"urls"`
}

// errorData names the error. The error's text is left out, because it may quote the submission.
type errorData struct {
	Code      string `json:"code"`
	NodeID    string `json:"node_id,omitempty"`
	ClassType string `json:"class_type,omitempty"`
}

// urlData holds links: absolute URLs when the public URL is configured, paths otherwise.
type urlData struct {
	Self string `json:"self,omitempty"`
}

// Origin holds data from the first event of a job or call.
type Origin struct {
	At   *time.Time       // nil = unknown
	Call *call.AcceptedV1 // of a model call
	Job  job.PublicID     // public id that the client of a job chose; "" = the job's own id
}

// Message renders the message of a decoded event. ok is false for an event without a message: events within a job
// have none, the end of the job has one. base is the public URL, or "".
func Message(rec eventlog.Recorded, data any, from Origin, base string) (kind Kind, body []byte, ok bool, err error) {
	kind, ok = KindOf(rec.Type)
	if !ok || from.Call != nil && from.Call.Mode == call.Node {
		return kind, nil, false, nil
	}
	m := message{Type: kind, Timestamp: rec.RecordedAt.UTC()}
	if id, isJob := job.IDOfStream(rec.Stream); isJob {
		m.Data = newJobData(id, rec, data, from, base)
	} else if id, isCall := call.IDOfStream(rec.Stream); isCall {
		m.Data = newCallData(id, rec, data, from, base)
	} else {
		return kind, nil, false, fmt.Errorf("%s is an event of stream %s, which belongs neither to a job nor to a call", rec.Type, rec.Stream)
	}
	body, err = encode(m)
	return kind, body, err == nil, err
}

func encode(m message) ([]byte, error) {
	raw, err := ordered.JSON(m)
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	return raw, nil
}

func newJobData(id job.ID, rec eventlog.Recorded, data any, from Origin, base string) jobData {
	public := job.Job{ID: id, Chosen: from.Job}.PublicID()
	d := jobData{
		Object: "job", ID: public, CreatedAt: from.At, CompletedAt: rec.RecordedAt.UTC(),
		URLs: urlData{Self: base + "/api/v2/jobs/" + string(public)},
	}
	switch e := data.(type) {
	case job.SucceededV1:
		d.Status = job.Succeeded
	case job.FailedV1:
		d.Status, d.Error = job.Failed, &errorData{Code: string(e.Failure.Code), NodeID: e.Failure.Node, ClassType: e.Failure.Class}
	case job.CanceledV1:
		d.Status = job.Canceled
	case job.ExpiredV1:
		d.Status = job.Expired
	}
	return d
}

func newCallData(id call.ID, rec eventlog.Recorded, data any, from Origin, base string) callData {
	d := callData{Object: "call", ID: id, CreatedAt: from.At, CompletedAt: rec.RecordedAt.UTC()}
	if from.Call != nil {
		d.Model, d.Mode = from.Call.Model, from.Call.Mode
	}
	if d.Mode == call.Queued {
		d.URLs.Self = base + "/v2/models/" + d.Model + "/requests/" + string(id)
	}
	switch e := data.(type) {
	case call.SucceededV1:
		d.Status = call.Succeeded
	case call.FailedV1:
		d.Status, d.Error = call.Failed, &errorData{Code: e.Failure.Type}
	case call.CanceledV1:
		d.Status = call.Canceled
	case call.OutcomeUnknownV1:
		d.Status, d.Error = call.Unknown, &errorData{Code: e.Failure.Type}
	case call.ReconciledV1:
		d.Status = call.Unknown // the answer is lost; only the cost is settled
	}
	return d
}

// testMessage returns the body of a test message.
func testMessage(id ID, at time.Time) ([]byte, error) {
	return encode(message{Type: Test, Timestamp: at.UTC(), Data: struct {
		Object string `json:"object"`
		ID     ID     `json:"id"`
	}{"webhook", id}})
}

// namespace of delivery ids. It must never change: an event must have the same delivery id whenever it is read.
var namespace = uuid.MustParse("3f6c5a0e-9a57-5a4f-8f0b-52a4c1de7b11")

// DeliveryID returns the id of the delivery of an event to an endpoint. It depends on nothing else.
func DeliveryID(id ID, event uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(namespace, []byte(string(id)+"/"+event.String()))
}
