// Package download is the aggregate of downloads: a download makes an asset of the content of a URL in the
// background. It promises that every download ends, with an asset or with a reason, and that a repeated attempt makes
// no second asset. The activity fetches the content.
package download

import (
	"crypto/sha256"
	"encoding/json"
	"net/url"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Request describes the source of a download and the asset to make. It is stored.
type Request struct {
	Source   string          `json:"source_url"`             // recorded without its query, which may contain a credential
	Asset    asset.PublicID  `json:"asset"`                  // the id of the asset, unless an equal asset exists
	Name     string          `json:"name,omitempty"`         // as clients see it
	Title    string          `json:"title,omitempty"`        // the owner's name for the asset; "" = its path
	Type     string          `json:"content_type,omitempty"` // as the client declares it
	Guess    string          `json:"guess,omitempty"`        // the type of the name's extension, used if the source declares none
	FilePath *string         `json:"file_path,omitempty"`
	Place    *asset.Place    `json:"place,omitempty"`
	Tags     []string        `json:"tags,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Preview  asset.PublicID  `json:"preview,omitempty"`
	Weight   *Weight         `json:"weight,omitempty"` // nil = a file of any other kind
}

// Weight is what an operator demands of a weight that is downloaded.
type Weight struct {
	Hash    *blob.Ref `json:"hash,omitempty"`    // nil = any
	SHA256  string    `json:"sha256,omitempty"`  // in hexadecimal digits; "" = any
	Replace bool      `json:"replace,omitempty"` // of a file with other bytes that has its name
	By      asset.By  `json:"by"`
}

// Recorded returns the request in the form of events: its URL has no query, no fragment and no user.
func (r Request) Recorded() Request {
	u, err := url.Parse(r.Source)
	if err != nil {
		r.Source = ""
		return r
	}
	r.Source = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	return r
}

// Fingerprint returns equal bytes for equal requests of an account.
func (r Request) Fingerprint() []byte {
	r.Asset = "" // each request has its own id
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings always marshal
	}
	sum := sha256.Sum256(raw)
	return sum[:]
}

// Spec returns the asset of the content; declared is the media type that the source declares, or "".
func (r Request) Spec(account, declared, requestID string) asset.Spec {
	kind := r.Guess
	switch {
	case r.Type != "":
		kind = r.Type
	case declared != "":
		kind = declared
	}
	spec := asset.Spec{
		Account: account, ContentType: kind, FilePath: r.FilePath, Place: r.Place, Tags: r.Tags, RequestID: requestID, Chosen: r.Asset,
		About: asset.About{Name: r.Title, Metadata: asset.Metadata(r.Metadata), Preview: r.Preview, Strict: true},
	}
	if w := r.Weight; w != nil {
		spec.By, spec.Naming, spec.ExpiresIn = w.By, asset.KeepsName, asset.Forever
		if w.Replace {
			spec.Naming = asset.MovesName
		}
	}
	return spec
}

// Download is the folded state of one download.
type Download = task.Task[RequestedV1, CompletedV1, FailedV1]

// Events are the events of downloads.
var Events = task.Events[RequestedV1, StartedV1, CompletedV1, FailedV1]{
	Kind:      task.Download,
	Requested: "a download was requested", Started: "a worker began to fetch the content",
	Completed: "the content became an asset", Failed: "the download failed, with the reason",
}

// RequestedV1 records that a download was accepted. The account is the event's own.
type RequestedV1 struct {
	Request Request `json:"request"`
}

// StartedV1 records that a worker began to fetch.
type StartedV1 struct {
	Name string `json:"name,omitempty"`
}

// CompletedV1 records that the content became an asset of the account.
type CompletedV1 struct {
	Name  string         `json:"name,omitempty"`
	Asset asset.PublicID `json:"asset"`
	Size  int64          `json:"size"`
	Found bool           `json:"found,omitempty"` // the result is an equal asset that the account already had
}

// FailedV1 records that the download failed. Its text is public.
type FailedV1 struct {
	Name    string `json:"name,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
}
