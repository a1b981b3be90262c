package export

import (
	"time"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/task"
)

// Export is the folded state of one export.
type Export = task.Task[RequestedV1, CompletedV1, FailedV1]

// Events are the events of exports.
var Events = task.Events[RequestedV1, StartedV1, CompletedV1, FailedV1]{
	Kind:      task.Export,
	Requested: "an archive of files was requested", Started: "a worker began to pack it",
	Completed: "the archive was stored as an asset", Failed: "the export failed, with the reason",
}

// RequestedV1 records that an export was accepted. The account is the event's own.
type RequestedV1 struct {
	Name    string  `json:"name"` // name of the archive
	Request Request `json:"request"`
	Files   int     `json:"files"` // number of requested files
	Bytes   int64   `json:"bytes"` // total size of the files that exist
}

// StartedV1 records that a worker began to pack.
type StartedV1 struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// CompletedV1 records an archive, which is an asset of the account with this name and hash.
type CompletedV1 struct {
	Name      string     `json:"name"`
	Asset     asset.ID   `json:"asset"`
	Size      int64      `json:"size"` // of the archive, bytes
	Files     int        `json:"files"`
	Packed    int        `json:"packed"` // of the files
	Bytes     int64      `json:"bytes"`  // of the packed files
	Missing   []Missing  `json:"missing,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// FailedV1 records that the export failed. Its text is public.
type FailedV1 struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Files   int       `json:"files"`
	Missing []Missing `json:"missing,omitempty"`
}

// Missing is a requested file that is not in the archive.
type Missing struct {
	Asset asset.PublicID `json:"asset_id"`
	Job   string         `json:"job_id,omitempty"`
	Name  string         `json:"asset_name,omitempty"`
	Error string         `json:"error"` // not_found, fetch_failed
}

// The reasons why a file is missing, in the terms of the hosted service.
const (
	reasonAbsent = "not_found"
	reasonLost   = "fetch_failed"
)

// maxMissing bounds the missing files that an event names. All of them are counted.
const maxMissing = 100

// bounded returns the first maxMissing files.
func bounded(missing []Missing) []Missing { return missing[:min(len(missing), maxMissing)] }

// Completion returns the event for an archive with the given name, size and missing files. The caller that creates
// the asset sets its id.
func Completion(name string, size int64, packed Packed, missing []Missing) CompletedV1 {
	return CompletedV1{
		Name: name, Size: size, Files: packed.Files + len(missing), Packed: packed.Files, Bytes: packed.Bytes, Missing: bounded(missing),
	}
}
