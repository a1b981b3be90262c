package call

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Event type names. They are stored; renaming one breaks history.
const (
	TypeAccepted           = "call.accepted.v1"
	TypeAdmitted           = "call.admitted.v1"
	TypeRequeued           = "call.requeued.v1"
	TypeDispatching        = "call.dispatching.v1"
	TypeRerouted           = "call.rerouted.v1"
	TypeProviderAccepted   = "call.provider_accepted.v1"
	TypeAnswered           = "call.answered.v1"
	TypeHosted             = "call.hosted.v1"
	TypeSucceeded          = "call.succeeded.v1"
	TypeFailed             = "call.failed.v1"
	TypeCanceled           = "call.canceled.v1"
	TypeOutcomeUnknown     = "call.outcome_unknown.v1"
	TypeReconciled         = "call.reconciled.v1"
	TypeCancelRequested    = "call.cancel_requested.v1"
	TypeDeadlineExceeded   = "call.deadline_exceeded.v1"
	TypeClientDisconnected = "call.client_disconnected.v1"
)

// AcceptedV1 records an accepted call.
type AcceptedV1 struct {
	Model    string  `json:"model"`
	Provider string  `json:"provider"`
	Mode     Mode    `json:"mode"`
	API      Version `json:"api"`
	Keyed    bool    `json:"keyed,omitempty"`
	Options  Options `json:"options,omitzero"`
	Request  Body    `json:"request"`
	Held     int64   `json:"held_micros"` // USD millionths reserved
	Catalog  string  `json:"catalog,omitempty"`
	Base     string  `json:"base,omitempty"`     // address the caller reaches us at
	Server   string  `json:"server,omitempty"`   // alternate that the caller chose
	Fallback string  `json:"fallback,omitempty"` // alternate that may take over
}

// AdmittedV1 records that the call was counted among the account's calls in flight and may start.
type AdmittedV1 struct {
	Run int `json:"run"`
}

// RequeuedV1 records that another workflow continues the call, because its first one was lost. A request that was sent
// is not sent again.
type RequeuedV1 struct {
	Run int `json:"run"`
}

// DispatchingV1 is recorded before the request is sent: from then on the provider may have it. A call has exactly one,
// and only the process that recorded it sends the request.
type DispatchingV1 struct {
	Run    int    `json:"run"`
	Token  string `json:"token"`
	Worker string `json:"worker"`
}

// ReroutedV1 is recorded before the request is sent to the fallback server. The first server certainly did nothing:
// the request did not reach it, or it refused the request.
type ReroutedV1 struct {
	Server string `json:"server"`
	Cause  string `json:"cause"` // "unreachable" or "refused"
}

// ProviderAcceptedV1 records the provider's handle: from here on the generation can be collected.
type ProviderAcceptedV1 struct {
	Handle  string   `json:"handle"`
	Dropped []string `json:"dropped,omitempty"`      // fields of the body that translation lost
	Price   int64    `json:"price_micros,omitempty"` // named by the provider when it accepted the call, USD millionths; 0 = none
}

// AnsweredV1 records the provider's answer, stored and as it came.
type AnsweredV1 struct {
	Answer Body  `json:"answer"`
	Price  int64 `json:"price_micros"`     // what it is settled for, USD millionths
	Linked bool  `json:"linked,omitempty"` // it refers to bytes outside itself, which are not ours
	// Dropped are fields of the body that translation lost; of a polled model they came with the handle.
	Dropped []string `json:"dropped,omitempty"`
}

// HostedV1 records which assets of the answer were copied, and the answer that names the copies.
type HostedV1 struct {
	Assets []HostedAsset `json:"assets"`
	Failed int           `json:"failed,omitempty"` // entries that keep the provider's reference
	Answer Body          `json:"answer"`
}

// HostedAsset is one copied asset.
type HostedAsset struct {
	Pointer string   `json:"pointer"` // JSON pointer of its URL in the answer
	Asset   string   `json:"asset"`   // id of the asset it became
	Ref     blob.Ref `json:"ref"`
	Size    int64    `json:"size"`
}

// SucceededV1 ends a call well.
type SucceededV1 struct {
	Model      string `json:"model"`
	Answer     Body   `json:"answer"`
	Replayable bool   `json:"replayable"` // self-contained, or all of it hosted with us
	Charged    int64  `json:"charged_micros"`
	Late       bool   `json:"late,omitempty"` // after the outcome had been given up as unknown
	Served
}

// Served describes an answer that did not come from the model's own server alone.
type Served struct {
	Fallback string   `json:"fallback_provider,omitempty"` // the alternate that took over
	Dropped  []string `json:"dropped_params,omitempty"`    // fields of the body that translation lost
}

// FailedV1 ends a call with an error that is certain.
type FailedV1 struct {
	Model   string  `json:"model"`
	Failure Failure `json:"failure"`
	Charged int64   `json:"charged_micros"`
	Unsent  bool    `json:"unsent,omitempty"` // certainly never reached the provider: the key is free again
	Late    bool    `json:"late,omitempty"`
}

// CanceledV1 ends a call that its caller canceled.
type CanceledV1 struct {
	Model   string `json:"model"`
	Charged int64  `json:"charged_micros"`
}

// OutcomeUnknownV1 ends a call that was sent and whose outcome is unknown. It is never sent again, and its credit stays
// reserved until an operator reconciles it or a late answer arrives.
type OutcomeUnknownV1 struct {
	Model   string  `json:"model"`
	Failure Failure `json:"failure"`
}

// ReconciledV1 records the outcome that an operator gave to a call whose outcome was unknown.
type ReconciledV1 struct {
	Model   string `json:"model"`
	Charged int64  `json:"charged_micros"`
}

// CancelRequestedV1 records that the caller asked to stop.
type CancelRequestedV1 struct{}

// DeadlineExceededV1 records that the router ended the caller's connection at its own deadline.
type DeadlineExceededV1 struct{}

// ClientDisconnectedV1 records that the caller disconnected before the answer.
type ClientDisconnectedV1 struct{}

// Register adds the call's event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[AcceptedV1](TypeAccepted).Says("a call was accepted and its credit held"),
		eventlog.TypeOf[AdmittedV1](TypeAdmitted).Says("it got its place among the account's calls in flight"),
		eventlog.TypeOf[RequeuedV1](TypeRequeued).Says("it goes on in another workflow, because the one before was gone, by the sweeper or an operator"),
		eventlog.TypeOf[DispatchingV1](TypeDispatching).Says("it goes on the wire; whoever did not write this event sends nothing"),
		eventlog.TypeOf[ReroutedV1](TypeRerouted).Says("its server certainly did nothing, and it goes on the wire to the one that takes over"),
		eventlog.TypeOf[ProviderAcceptedV1](TypeProviderAccepted).Says("the provider took it; from here on it is collected"),
		eventlog.TypeOf[AnsweredV1](TypeAnswered).Says("the provider's answer is stored, as it came or translated"),
		eventlog.TypeOf[HostedV1](TypeHosted).Says("assets of the answer were copied"),
		eventlog.TypeOf[SucceededV1](TypeSucceeded).Says("the end, well"),
		eventlog.TypeOf[FailedV1](TypeFailed).Says("the end, with an error that is certain"),
		eventlog.TypeOf[CanceledV1](TypeCanceled).Says("the end, by the caller's will"),
		eventlog.TypeOf[OutcomeUnknownV1](TypeOutcomeUnknown).Says("it was sent and nobody knows what became of it; its hold stays"),
		eventlog.TypeOf[ReconciledV1](TypeReconciled).Says("an operator settled an unknown outcome"),
		eventlog.TypeOf[CancelRequestedV1](TypeCancelRequested).Says("the caller asked to stop"),
		eventlog.TypeOf[DeadlineExceededV1](TypeDeadlineExceeded).Says("the router let the connection go at its own bound"),
		eventlog.TypeOf[ClientDisconnectedV1](TypeClientDisconnected).Says("the caller went away before the answer"),
	)
}

// namespace of event ids; fixed for ever, since ids must come out the same on every attempt.
var namespace = uuid.MustParse("0d8e9a56-5b1e-5b0d-8f37-64c2f2a7c0ce")

// EventID returns the id of an event, the same on every attempt: a version 5 UUID of the call, an
// index and the event type.
func EventID(id ID, index int, eventType string) uuid.UUID {
	key, err := json.Marshal([]any{id, index, eventType})
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	return uuid.NewSHA1(namespace, key)
}
