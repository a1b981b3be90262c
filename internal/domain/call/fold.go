package call

import (
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Fold applies one recorded event of the call's stream to the state before it and returns the state after it. It
// never fails on a decoded event: unknown event types only move the version. An event at or below the folded version
// changes nothing, so a repeated delivery is harmless.
func Fold(before Call, rec eventlog.Recorded, data any) Call {
	if rec.Version <= before.Version {
		return before
	}
	after := before
	after.Version, after.Position = rec.Version, rec.Position
	at := rec.RecordedAt.UTC()
	after.UpdatedAt = at
	after.apply(rec, data, at)
	return after
}

func (c *Call) apply(rec eventlog.Recorded, data any, at time.Time) {
	switch e := data.(type) {
	case AcceptedV1:
		c.accepted(rec, e, at)
	case AdmittedV1:
		c.State, c.Run, c.AdmittedAt = Admitted, e.Run, &at
	case RequeuedV1:
		c.Run = e.Run
	case DispatchingV1:
		c.State, c.Token, c.Worker, c.SentAt = Dispatching, e.Token, e.Worker, &at
	case ReroutedV1:
		c.Server, c.Fallback = e.Server, e.Server
	case RepeatedV1:
		c.Token, c.Worker, c.Repeated = e.Token, e.Worker, true
	case ProviderAcceptedV1:
		c.State, c.Handle, c.Dropped, c.Price = Running, e.Handle, e.Dropped, e.Price
	case AnsweredV1:
		c.State, c.Answer, c.Price, c.Linked = Answered, &e.Answer, e.Price, e.Linked
		if e.Dropped != nil {
			c.Dropped = e.Dropped
		}
	case HostedV1:
		c.Answer, c.Hosted = &e.Answer, len(e.Assets)
	case CancelRequestedV1:
		c.Canceling = true
	case DeadlineExceededV1, ClientDisconnectedV1:
		c.Detached = true
	default:
		c.ended(data, at)
	}
}

func (c *Call) accepted(rec eventlog.Recorded, e AcceptedV1, at time.Time) {
	id, _ := IDOfStream(rec.Stream)
	c.ID, c.Account, c.State = id, rec.Account, Waiting
	c.Mode, c.API, c.Model, c.Provider = e.Mode, e.API, e.Model, e.Provider
	c.Keyed, c.Options, c.Request, c.Held = e.Keyed, e.Options, e.Request, e.Held
	c.AcceptedAt, c.Base, c.Server = at, e.Base, e.Server
}

// ended applies the events that end a call. A late event replaces an unknown outcome.
func (c *Call) ended(data any, at time.Time) {
	switch e := data.(type) {
	case SucceededV1:
		c.State, c.Answer, c.Replayable, c.Failure = Succeeded, &e.Answer, e.Replayable, nil
		c.Charged, c.EndedAt, c.Served = &e.Charged, &at, e.Served
	case FailedV1:
		c.State, c.Failure = Failed, &e.Failure
		c.Charged, c.EndedAt = &e.Charged, &at
	case CanceledV1:
		c.State, c.Charged, c.EndedAt = Canceled, &e.Charged, &at
	case OutcomeUnknownV1:
		c.State, c.Failure, c.EndedAt = Unknown, &e.Failure, &at
	case ReconciledV1:
		c.Charged = &e.Charged
	}
}
