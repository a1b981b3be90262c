package jobio

import (
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Links makes links to stored files that need no credential.
type Links interface {
	// Sign returns the path and query of a link to the content of an asset, and when the link expires.
	Sign(asset, hash, filename, contentType string) (path string, expires time.Time)
}

// OutputBody is a file of a job in the form of the v2 surface.
type OutputBody struct {
	NodeID       string       `json:"node_id"`
	Name         string       `json:"name"`
	Type         string       `json:"type"`
	ContentType  string       `json:"content_type"`
	SizeBytes    int64        `json:"size_bytes"`
	ID           string       `json:"id"`
	Hash         *string      `json:"hash"`
	URL          string       `json:"url"`
	URLExpiresAt string       `json:"url_expires_at"`
	JobID        job.PublicID `json:"job_id"`
}

// Output is one file of a job with the node that made it.
type Output struct {
	Node string
	File job.OutputFile
}

// Outputs returns a job's files in the order of every read: saved files before previews, then by node in document
// order, then in the order of the node's list.
func Outputs(j job.Job) []Output {
	var all []Output
	for _, n := range j.Outputs {
		for _, f := range n.Files {
			all = append(all, Output{n.Node, f})
		}
	}
	rank := func(o Output) int {
		at := slices.Index(j.Targets, o.Node)
		if at < 0 {
			at = len(j.Targets)
		}
		if o.File.Folder != "output" {
			at += len(j.Targets) + 1
		}
		return at
	}
	slices.SortStableFunc(all, func(a, b Output) int { return rank(a) - rank(b) })
	return all
}

// RenderOutput renders a file of a job with a new link below base.
func RenderOutput(links Links, base string, id job.PublicID, o Output) OutputBody {
	path, expires := links.Sign(o.File.Asset, o.File.Hash, o.File.Filename, o.File.ContentType)
	body := OutputBody{
		NodeID: o.Node, Name: o.File.Filename, Type: OutputType(o.File), ContentType: o.File.ContentType,
		SizeBytes: o.File.Size, ID: o.File.Asset, URL: base + path, URLExpiresAt: edge.Timestamp(expires), JobID: id,
	}
	if o.File.Hash != "" {
		body.Hash = &o.File.Hash
	}
	return body
}

// OutputType returns the kind of a file, one of the closed set of the v2 surface.
func OutputType(f job.OutputFile) string {
	if strings.HasSuffix(f.Filename, ".latent") {
		return "latent"
	}
	kind, _, _ := strings.Cut(f.ContentType, "/")
	switch kind {
	case "image", "video", "audio", "text":
		return kind
	default:
		return "file"
	}
}
