// Package stream delivers current events to watchers: a Hub of bounded subscriptions per account, and a Bus of live
// frames (progress, previews, text) from workers. It promises that a publisher never waits for a watcher; a watcher
// that falls behind is disconnected with a reason. It depends neither on HTTP nor on the event log, and its messages
// are never the only copy of data that a GET serves.
package stream

import (
	"encoding/json"
	"regexp"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
)

// FrameKind is the kind of a frame.
type FrameKind uint8

// The kinds of frames.
const (
	FrameProgress FrameKind = 1 + iota // Value of Max steps are done
	FramePreview                       // Data is an encoded image
	FrameText                          // Data is UTF-8 text
	FrameTask                          // Task is the progress of an export or a download; there is no job
	FrameWaiting                       // Data is the reason, in UTF-8, why the node waits; shown to clients that poll
	FramePicture                       // Data is an encoded image, which is a result and is sent to watchers unreduced
	FrameMessage                       // Data is the JSON data of a message of a node pack, whose type is Name; sent to the account's sockets
)

// MaxFrameData bounds the bytes of one frame: a 512 pixel preview is well below 1 MiB.
const MaxFrameData = 1 << 20

// MaxMessage bounds the data of a FrameMessage.
const MaxMessage = 64 << 10

// messageName matches the types of messages of node packs that are passed on.
var messageName = regexp.MustCompile(`^[!-~]{1,64}$`)

// MaxPicture bounds the bytes of a FramePicture. Several fit into the queue of a watcher.
const MaxPicture = 8 << 20

// limit returns the bound of the frame's data, in bytes.
func (f Frame) limit() int {
	if f.Kind == FramePicture {
		return MaxPicture
	}
	return MaxFrameData
}

// Frame is progress, a preview or a text of a running node, or the progress of an export or a download. It names its
// attempt, so that a late frame is recognised. It is never stored and may be dropped anywhere.
type Frame struct {
	Account     string    `json:"account"`
	Job         job.ID    `json:"job"`
	Run         int       `json:"run"`
	Node        string    `json:"node"`
	Attempt     int       `json:"attempt,omitempty"`
	Kind        FrameKind `json:"kind"`
	Value       int       `json:"value,omitempty"`
	Max         int       `json:"max,omitempty"`
	Name        string    `json:"name,omitempty"`         // type of a message of a node pack
	ContentType string    `json:"content_type,omitempty"` // of a preview: image/jpeg or image/png
	Data        []byte    `json:"-"`                      // sent after the header

	Task *task.Progress `json:"task,omitempty"` // of an export or a download

	// Values from the log, set when a frame is combined with events.
	Within *job.Expansion `json:"-"` // of the node
	Public job.PublicID   `json:"-"` // of the job
}

// Validate refuses a frame that no watcher can display. Its error is Invalid.
func (f Frame) Validate() error {
	switch {
	case f.Kind == FrameTask:
		if f.Account == "" || f.Task == nil || f.Task.Task == "" || f.Task.Kind == "" || len(f.Data) > 0 {
			return fault.New(fault.Invalid, "", "a frame of a task must name its account, the task and its kind, and must have no data")
		}
		return nil
	case f.Account == "" || f.Job == "" || f.Node == "":
		return fault.New(fault.Invalid, "", "a frame must name its account, job and node")
	case len(f.Data) > f.limit():
		return fault.New(fault.Invalid, "", "a frame may have at most %d bytes of data, not %d", f.limit(), len(f.Data))
	}
	switch f.Kind {
	case FrameProgress:
		if f.Max <= 0 || f.Value < 0 || f.Value > f.Max {
			return fault.New(fault.Invalid, "", "progress %d of %d is out of range", f.Value, f.Max)
		}
	case FramePreview, FramePicture:
		if f.ContentType != "image/jpeg" && f.ContentType != "image/png" {
			return fault.New(fault.Invalid, "", "a preview must be image/jpeg or image/png, not %q", f.ContentType)
		}
	case FrameMessage:
		if !messageName.MatchString(f.Name) || len(f.Data) > MaxMessage || !json.Valid(f.Data) {
			return fault.New(fault.Invalid, "", "a message of a node pack must have a short name and at most %d bytes of JSON", MaxMessage)
		}
	case FrameText, FrameWaiting:
	default:
		return fault.New(fault.Invalid, "", "frame kind %d is unknown", f.Kind)
	}
	return nil
}
