package pool

import (
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Event type names. They are stored; renaming one breaks history. Actor and reason are in the meta of each event.
const (
	TypeApplied   = "pool.applied.v1"
	TypePaused    = "pool.paused.v1"
	TypeResumed   = "pool.resumed.v1"
	TypeRemoved   = "pool.removed.v1"
	TypeRequested = "machine.requested.v1"
	TypeStarted   = "machine.started.v1"
	TypeJoined    = "machine.joined.v1"
	TypeLost      = "machine.lost.v1"
	TypeFound     = "machine.found.v1"
	TypeStopped   = "machine.stopped.v1"
)

type (
	// AppliedV1 records the description of a pool, without its provider.
	AppliedV1 struct {
		Terms

		Commands string `json:"commands"`          // digest of the provider
		Classes  string `json:"classes,omitempty"` // digest of the definitions that were given
	}
	// PausedV1 records that the pool starts no machines. Those that run are stopped when they have no work.
	PausedV1 struct{}
	// ResumedV1 records that a paused pool starts machines again.
	ResumedV1 struct{}
	// RemovedV1 records that the pool is to end: its machines are stopped when their segments have ended.
	RemovedV1 struct{}
	// RequestedV1 records that a machine is to be started, before it is.
	RequestedV1 struct {
		Machine string `json:"machine"`
		Reason  string `json:"reason"`
	}
	// StartedV1 records that a machine was started.
	StartedV1 struct {
		Machine string `json:"machine"`
		Handle  string `json:"handle"` // the id that its provider knows it by
		Millis  int64  `json:"millis"`
	}
	// JoinedV1 records that the server of a machine has registered itself and answers.
	JoinedV1 struct {
		Machine string    `json:"machine"`
		Server  server.ID `json:"server"`
		Classes string    `json:"classes"` // digest of its definitions
	}
	// LostV1 records that a machine is of no use any more. It is stopped, and replaced if there is a need.
	LostV1 struct {
		Machine string `json:"machine"`
		Cause   string `json:"cause"`
		Failed  bool   `json:"failed,omitempty"` // it never joined
	}
	// FoundV1 records that the list shows a machine that the log does not know. It is stopped.
	FoundV1 struct {
		Handle string `json:"handle"`
	}
	// StoppedV1 records that a machine does not run any more.
	StoppedV1 struct {
		Machine string `json:"machine"`
		Seconds int64  `json:"seconds"` // since it was requested
		Work    int64  `json:"work"`    // of these, with segments

		Segments int64     `json:"segments"`
		Server   server.ID `json:"server,omitempty"`        // if it has joined
		Price    int64     `json:"second_micros,omitempty"` // of a second, in USD millionths
	}
)

// Register adds the event types of pools to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[AppliedV1](TypeApplied).Says("a pool of machines was described"),
		eventlog.TypeOf[PausedV1](TypePaused).Says("a pool starts no machines"),
		eventlog.TypeOf[ResumedV1](TypeResumed).Says("a paused pool starts machines again"),
		eventlog.TypeOf[RemovedV1](TypeRemoved).Says("a pool ends; its machines are stopped when their segments have ended"),
		eventlog.TypeOf[RequestedV1](TypeRequested).Says("a machine is to be started"),
		eventlog.TypeOf[StartedV1](TypeStarted).Says("a machine was started"),
		eventlog.TypeOf[JoinedV1](TypeJoined).Says("the server of a machine has registered itself and answers"),
		eventlog.TypeOf[LostV1](TypeLost).Says("a machine failed or disappeared; it is stopped, and replaced if there is a need"),
		eventlog.TypeOf[FoundV1](TypeFound).Says("a machine exists that the log does not know; it is stopped"),
		eventlog.TypeOf[StoppedV1](TypeStopped).Says("a machine does not run any more, with its seconds"),
	)
}
