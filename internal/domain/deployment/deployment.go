// Package deployment is the aggregate of deployments: graphs that an account publishes under a name. A deployment has immutable versions.
// One is live, and at most one other takes a share of the calls. The package promises that a call is an ordinary job, on a version that
// was live or had a share when the call was recorded. Package callable derives the inputs and outputs of a graph; package job runs it.
package deployment

import (
	"encoding/binary"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// ID identifies a deployment among those of all accounts. It is a lower-case UUID.
type ID string

// ParseID accepts the canonical lower-case form only.
func ParseID(s string) (ID, error) { return eventlog.ParseID[ID](s) }

// streamPrefix begins the names of the streams of deployments.
const streamPrefix = "deployment-"

// Stream returns the name of the deployment's event stream.
func (id ID) Stream() string { return streamPrefix + string(id) }

// IDOfStream returns the deployment that the stream belongs to.
func IDOfStream(stream string) (ID, bool) { return eventlog.IDOfStream[ID](streamPrefix, stream) }

// label is a DNS label: the name can be part of a host name.
var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// CheckName returns an error for a name that is not a DNS label, or that could be an id.
func CheckName(name string) error {
	if _, err := ParseID(name); err == nil || !label.MatchString(name) {
		return fault.New(fault.Invalid, fault.CodeInvalidDeployment,
			"the name %.80q of a deployment must have 1 to 63 lower-case letters, digits and inner hyphens, and not be a UUID", name)
	}
	return nil
}

// Reference returns the deployment and the version that a text such as "portrait@2" names; 0 = no version.
func Reference(text string) (name string, version int, err error) {
	name, digits, named := strings.Cut(text, "@")
	if named {
		version, err = strconv.Atoi(digits)
	}
	if err != nil || named && (version < 1 || strconv.Itoa(version) != digits) {
		return "", 0, fault.New(fault.Invalid, fault.CodeInvalidRequest, "%.80q names no version; write it as portrait@2", text)
	}
	return name, version, nil
}

// State is the recorded state of a deployment. Whether a version can run depends on the servers and is not recorded.
type State string

// The states.
const (
	Ready   State = "ready"   // answers calls
	Stopped State = "stopped" // refuses calls until it is started
	Deleted State = "deleted" // its name is free; nothing follows
)

// Version is an immutable version. Its content is the blob that Digest names.
type Version struct {
	Number  int       `json:"number"`
	Digest  blob.Ref  `json:"digest"`
	AddedAt time.Time `json:"added_at"`
	Actor   string    `json:"actor,omitempty"`
	Drifted []string  `json:"drifted,omitempty"` // classes whose definition on the servers has changed since
}

// Share is the part of calls that a second version answers.
type Share struct {
	Version int `json:"version"` // 0 = there is no share
	Percent int `json:"percent"` // 1 to 99
}

// Routing decides which version answers a call.
type Routing struct {
	State State  `json:"state"`
	Live  int    `json:"live"` // the version that answers
	Share Share  `json:"share"`
	Salt  string `json:"salt"` // makes the choice of one deployment independent of the choices of others
}

// Of returns the version that answers a call. The same key always gets the same version, until live or share change.
func (r Routing) Of(key string) int {
	if r.Share.Version == 0 {
		return r.Live
	}
	h := blake3.New()
	_, _ = h.WriteString(r.Salt + "\x00" + key) // a hash accepts every byte
	if binary.BigEndian.Uint64(h.Sum(nil))%100 < uint64(r.Share.Percent) {
		return r.Share.Version
	}
	return r.Live
}

// Refusal returns why calls are refused, or nil. A deployment that does not exist has no state.
func (r Routing) Refusal(name string) error {
	switch r.State {
	case Ready:
		return nil
	case Stopped:
		return fault.New(fault.Invalid, fault.CodeDeploymentStopped, "the deployment %s is stopped", name)
	case Deleted:
	}
	return ErrNone(name)
}

// ErrNone reports that the account has no such deployment.
func ErrNone(name string) error {
	return fault.New(fault.NotFound, fault.CodeDeploymentNotFound, "there is no deployment %.80q", name)
}

// ErrMoved refuses a call that was prepared for a version which does not answer it any more.
var ErrMoved = fault.New(fault.Unavailable, fault.CodeUnavailable, "the versions of the deployment change; try again").
	WithRetryAfter(time.Second)

// maxBefore bounds the versions to which a rollback can return one after another.
const maxBefore = 100

// Deployment is the folded state of one deployment.
type Deployment struct {
	Routing
	ID        ID        `json:"id"`
	Account   string    `json:"account"`
	Name      string    `json:"name"`
	Revision  int64     `json:"revision"` // version of the stream, folded so far
	Versions  []Version `json:"versions"`
	Before    []int     `json:"before,omitempty"` // versions that answered before, the latest last
	Reason    string    `json:"reason,omitempty"` // of the last change
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Version returns a version by its number.
func (d Deployment) Version(number int) (Version, bool) {
	if number < 1 || number > len(d.Versions) {
		return Version{}, false
	}
	return d.Versions[number-1], true
}

// WithDigest returns the version that has the content with a digest.
func (d Deployment) WithDigest(digest blob.Ref) (Version, bool) {
	at := slices.IndexFunc(d.Versions, func(v Version) bool { return v.Digest == digest })
	if at < 0 {
		return Version{}, false
	}
	return d.Versions[at], true
}

// Fold applies one recorded event of the deployment's stream. It is total: an unknown event only moves the revision, and an
// event at or below the folded revision changes nothing.
func Fold(before Deployment, rec eventlog.Recorded, data any) Deployment {
	if rec.Version <= before.Revision {
		return before
	}
	d := before
	d.Revision, d.UpdatedAt, d.Reason = rec.Version, rec.RecordedAt.UTC(), rec.Meta.Reason
	if _, ok := data.(CreatedV1); ok {
		id, _ := IDOfStream(rec.Stream)
		d.ID, d.Account, d.CreatedAt = id, rec.Account, d.UpdatedAt
	}
	d.apply(data)
	if _, ok := data.(VersionAddedV1); ok {
		v := &d.Versions[len(d.Versions)-1]
		v.AddedAt, v.Actor = d.UpdatedAt, rec.Meta.Actor
	}
	return d
}

// apply applies the data of an event. It changes copies, so that the state before stays valid.
func (d *Deployment) apply(data any) {
	switch e := data.(type) {
	case CreatedV1:
		d.Name, d.Salt, d.State = e.Name, e.Salt, Ready
	case VersionAddedV1:
		digest, _ := blob.ParseRef(e.Digest) // Add recorded a valid one
		d.Versions = append(slices.Clip(d.Versions), Version{Number: e.Version, Digest: digest})
	case PromotedV1:
		d.answer(e.Version)
	case SharedV1:
		d.Share = Share{Version: e.Version, Percent: e.Percent}
	case RolledBackV1:
		d.rollBack(e)
	case StoppedV1:
		d.State = Stopped
	case StartedV1:
		d.State = Ready
	case DriftedV1:
		if _, ok := d.Version(e.Version); ok {
			d.Versions = slices.Clone(d.Versions)
			d.Versions[e.Version-1].Drifted = e.Classes
		}
	case DeletedV1:
		d.State = Deleted
	}
}

func (d *Deployment) answer(version int) {
	if d.Live > 0 {
		d.Before = append(slices.Clip(d.Before), d.Live)
		d.Before = d.Before[max(0, len(d.Before)-maxBefore):]
	}
	d.Live, d.Share = version, Share{}
}

// rollBack ends a share, or returns to the version that answered before.
func (d *Deployment) rollBack(e RolledBackV1) {
	if d.Share.Version == 0 && len(d.Before) > 0 {
		d.Before = slices.Clone(d.Before[:len(d.Before)-1])
	}
	d.Live, d.Share = e.Version, Share{}
}
