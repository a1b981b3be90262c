package server

import (
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Event type names. They are stored; renaming one breaks history.
const (
	TypeRegistered = "server.registered.v1"
	TypeDrained    = "server.drained.v1"
	TypeResumed    = "server.resumed.v1"
	TypeRemoved    = "server.removed.v1"
	TypeExpired    = "server.expired.v1"
	TypeRested     = "server.rested.v1"
	TypeRecovered  = "server.recovered.v1"

	TypeProcessStarted = "server.process_started.v1"
	TypeProcessEnded   = "server.process_ended.v1"

	TypeWeightBrought = "server.weight_brought.v1"
	TypeWeightFailed  = "server.weight_failed.v1"

	TypeTokenCreated = "server.token_created.v1"
	TypeTokenRevoked = "server.token_revoked.v1"
)

// The event's meta contains the actor and the reason.
type (
	// RegisteredV1 records that a server was registered, or registered again with other labels, slots or headers. It
	// does not contain the headers for the server's proxy.
	RegisteredV1 struct {
		Server    ID         `json:"server"`
		URL       string     `json:"url"`
		Labels    []string   `json:"labels,omitempty"`
		Slots     int        `json:"slots"`
		Fixed     bool       `json:"fixed,omitempty"`
		Headers   bool       `json:"headers,omitempty"` // headers were given and stored encrypted
		ExpiresAt *time.Time `json:"expires_at,omitempty"`
		Price     int64      `json:"second_micros,omitempty"`
		Token     string     `json:"token_id,omitempty"` // token that registered it
		Models    string     `json:"models_folder,omitempty"`
	}
	// WeightBroughtV1 records that a server has a weight that it lacked. Other servers may share its folder of models.
	WeightBroughtV1 struct {
		Server  ID       `json:"server"`
		Folder  string   `json:"folder"`
		Name    string   `json:"name"`
		Hash    blob.Ref `json:"hash"`
		Size    int64    `json:"size"`
		Way     string   `json:"way"`  // present, clone, link, copy or fetch
		Sent    int64    `json:"sent"` // bytes that were written or fetched
		Millis  int64    `json:"millis"`
		Removed []string `json:"removed,omitempty"` // copies that made space for it
	}
	// WeightFailedV1 records why a server did not get a weight. Attempts with the same problem are recorded once.
	WeightFailedV1 struct {
		Server  ID       `json:"server"`
		Folder  string   `json:"folder"`
		Name    string   `json:"name"`
		Hash    blob.Ref `json:"hash"`
		Problem string   `json:"problem"`
	}
	// DrainedV1 records that a server accepts no new segments.
	DrainedV1 struct {
		Server ID `json:"server"`
	}
	// ResumedV1 records that a drained server accepts segments again.
	ResumedV1 struct {
		Server ID `json:"server"`
	}
	// RemovedV1 records that a server was removed.
	RemovedV1 struct {
		Server ID `json:"server"`
	}
	// ExpiredV1 records that a registration was not renewed in time.
	ExpiredV1 struct {
		Server ID `json:"server"`
	}
	// RestedV1 records that a server gets no segments for a while, because jobs failed on it, one after the other.
	RestedV1 struct {
		Server  ID        `json:"server"`
		Jobs    []job.ID  `json:"jobs"`
		Problem string    `json:"problem"` // of the last job
		Until   time.Time `json:"until"`
	}
	// RecoveredV1 records that a segment succeeded on a server that had rested.
	RecoveredV1 struct {
		Server ID `json:"server"`
	}
	// TokenCreatedV1 records that a registration token was created. It does not contain the token.
	TokenCreatedV1 struct {
		ID    string   `json:"id"`
		Name  string   `json:"name"`
		Hosts []string `json:"hosts,omitempty"`         // hosts that it may register; empty = the machine that sends the request
		Price int64    `json:"second_micros,omitempty"` // price of the servers that it registers
	}
	// TokenRevokedV1 records that a registration token was revoked.
	TokenRevokedV1 struct {
		ID string `json:"id"`
	}
)

// Register adds the event types of servers to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[RegisteredV1](TypeRegistered).Says("a ComfyUI server was registered"),
		eventlog.TypeOf[DrainedV1](TypeDrained).Says("a server accepts no new segments"),
		eventlog.TypeOf[ResumedV1](TypeResumed).Says("a drained server accepts segments again"),
		eventlog.TypeOf[RemovedV1](TypeRemoved).Says("a server was removed"),
		eventlog.TypeOf[ExpiredV1](TypeExpired).Says("a server's registration was not renewed in time"),
		eventlog.TypeOf[RestedV1](TypeRested).Says("jobs failed on a server one after the other, so it gets none for a while"),
		eventlog.TypeOf[RecoveredV1](TypeRecovered).Says("a segment succeeded on a server that had rested"),
		eventlog.TypeOf[ProcessStartedV1](TypeProcessStarted).Says("Millrace started a ComfyUI process that it looks after"),
		eventlog.TypeOf[ProcessEndedV1](TypeProcessEnded).Says("such a process ended; the cause says why"),
		eventlog.TypeOf[WeightBroughtV1](TypeWeightBrought).Says("a server got a weight that a segment needs"),
		eventlog.TypeOf[WeightFailedV1](TypeWeightFailed).Says("a server did not get a weight that a segment needs"),
		eventlog.TypeOf[TokenCreatedV1](TypeTokenCreated).Says("a registration token was created, with which machines register themselves as "+
			"servers"),
		eventlog.TypeOf[TokenRevokedV1](TypeTokenRevoked).Says("a registration token was revoked"),
	)
}
