package call

import (
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
	TypeRepeated           = "call.repeated.v1"
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
	Base     string  `json:"base,omitempty"`     // base URL that the caller used
	Server   string  `json:"server,omitempty"`   // alternate that the caller chose
	Fallback string  `json:"fallback,omitempty"` // fallback server
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

// RepeatedV1 records that the outcome of the first request is unknown and that the request is about to be repeated, once. The
// provider recognises the call by its idempotency header.
type RepeatedV1 struct {
	Token  string `json:"token"`
	Worker string `json:"worker"`
}

// ProviderAcceptedV1 records the provider's handle, with which the result can be collected.
type ProviderAcceptedV1 struct {
	Handle  string   `json:"handle"`
	Dropped []string `json:"dropped,omitempty"`      // fields of the body that the translation dropped
	Price   int64    `json:"price_micros,omitempty"` // named by the provider when it accepted the call, USD millionths; 0 = not named
}

// AnsweredV1 records the provider's stored answer.
type AnsweredV1 struct {
	Answer Body  `json:"answer"`
	Price  int64 `json:"price_micros"`     // amount to charge, USD millionths
	Linked bool  `json:"linked,omitempty"` // the answer refers to files of the provider
	// Dropped are fields of the body that the translation dropped. For a polled model, ProviderAcceptedV1 has them.
	Dropped []string `json:"dropped,omitempty"`
}

// HostedV1 records which assets of the answer were copied, and the answer with the addresses of the copies.
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

// SucceededV1 ends a call that succeeded.
type SucceededV1 struct {
	Model      string `json:"model"`
	Answer     Body   `json:"answer"`
	Replayable bool   `json:"replayable"` // the answer is self-contained, or all its assets are copied
	Charged    int64  `json:"charged_micros"`
	Late       bool   `json:"late,omitempty"` // recorded after the outcome was recorded as unknown
	Served
}

// Served describes an answer in which a fallback server or dropped fields were involved.
type Served struct {
	Fallback string   `json:"fallback_provider,omitempty"` // the fallback server that answered
	Dropped  []string `json:"dropped_params,omitempty"`    // fields of the body that the translation dropped
}

// FailedV1 ends a call that certainly failed.
type FailedV1 struct {
	Model   string  `json:"model"`
	Failure Failure `json:"failure"`
	Charged int64   `json:"charged_micros"`
	Unsent  bool    `json:"unsent,omitempty"` // the call certainly did not reach the provider: the key is free again
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
	Model    string `json:"model"`
	Charged  int64  `json:"charged_micros"`
	KeyFreed bool   `json:"key_freed,omitempty"` // a request with the idempotency key runs again
}

// CancelRequestedV1 records that the caller requested a cancellation.
type CancelRequestedV1 struct{}

// DeadlineExceededV1 records that the router ended the caller's connection at its own deadline.
type DeadlineExceededV1 struct{}

// ClientDisconnectedV1 records that the caller disconnected before the answer.
type ClientDisconnectedV1 struct{}

// Register adds the call's event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[AcceptedV1](TypeAccepted).Says("a call was accepted and its credit reserved"),
		eventlog.TypeOf[AdmittedV1](TypeAdmitted).Says("it got a slot among the account's calls in flight"),
		eventlog.TypeOf[RequeuedV1](TypeRequeued).Says("the sweeper or an operator continued it in another workflow, because its workflow was "+
			"lost"),
		eventlog.TypeOf[DispatchingV1](TypeDispatching).Says("it is about to be sent; only the process that recorded this event sends it"),
		eventlog.TypeOf[ReroutedV1](TypeRerouted).Says("its server certainly did not process it, and it is about to be sent to the fallback "+
			"server"),
		eventlog.TypeOf[RepeatedV1](TypeRepeated).Says("the outcome of its request is unknown, and the request is about to be repeated, once, "+
			"with the same idempotency header"),
		eventlog.TypeOf[ProviderAcceptedV1](TypeProviderAccepted).Says("the provider accepted it; its result is polled from now on"),
		eventlog.TypeOf[AnsweredV1](TypeAnswered).Says("the provider's answer is stored, unchanged or translated"),
		eventlog.TypeOf[HostedV1](TypeHosted).Says("assets of the answer were copied"),
		eventlog.TypeOf[SucceededV1](TypeSucceeded).Says("it succeeded"),
		eventlog.TypeOf[FailedV1](TypeFailed).Says("it failed, with a known error"),
		eventlog.TypeOf[CanceledV1](TypeCanceled).Says("its caller canceled it"),
		eventlog.TypeOf[OutcomeUnknownV1](TypeOutcomeUnknown).Says("it was sent and its outcome is unknown; its reservation stays"),
		eventlog.TypeOf[ReconciledV1](TypeReconciled).Says("an operator settled its unknown outcome"),
		eventlog.TypeOf[CancelRequestedV1](TypeCancelRequested).Says("its caller requested its cancellation"),
		eventlog.TypeOf[DeadlineExceededV1](TypeDeadlineExceeded).Says("the router's deadline ended the caller's connection"),
		eventlog.TypeOf[ClientDisconnectedV1](TypeClientDisconnected).Says("the caller disconnected before the answer"),
	)
}

// namespace of event ids. It must never change: an event must get the same id on every attempt.
var namespace = uuid.MustParse("0d8e9a56-5b1e-5b0d-8f37-64c2f2a7c0ce")

// EventID returns the id of an event, the same on every attempt: a version 5 UUID of the call, an
// index and the event type.
func EventID(id ID, index int, eventType string) uuid.UUID {
	return eventlog.DeriveID(namespace, id, index, eventType)
}
