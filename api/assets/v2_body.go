package assets

import (
	"path"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/asset"
)

// assetBody is the Asset object of the asset contract. The contract does not have the fields after JobID.
type assetBody struct {
	ID           string  `json:"id"`
	Hash         string  `json:"hash"`
	SizeBytes    int64   `json:"size_bytes"`
	ContentType  string  `json:"content_type"`
	FilePath     *string `json:"file_path"`
	CreatedNew   *bool   `json:"created_new,omitempty"` // on create responses only
	CreatedAt    string  `json:"created_at"`
	URL          string  `json:"url"`
	URLExpiresAt string  `json:"url_expires_at"`
	ExpiresAt    *string `json:"expires_at"`
	JobID        string  `json:"job_id,omitempty"` // of an output of a job

	State      string    `json:"state"` // live or rejected
	Width      int       `json:"width,omitempty"`
	Height     int       `json:"height,omitempty"`
	VerifiedAt *string   `json:"verified_at,omitempty"`
	Damaged    bool      `json:"damaged,omitempty"`
	Scan       *scanBody `json:"scan,omitempty"`
}

// scanBody is the result of a scan.
type scanBody struct {
	Verdict      string `json:"verdict"`
	Reason       string `json:"reason,omitempty"`
	SniffedType  string `json:"sniffed_type,omitempty"`
	ThumbnailURL string `json:"thumbnail_url,omitempty"`
}

// assetBody renders an asset with a fresh link to its content.
func (s *v2) assetBody(c *gin.Context, a asset.Asset) assetBody {
	link, until := s.Links.Sign(string(a.ID), a.Hash.String(), filename(a), a.ContentType)
	body := assetBody{
		ID: string(a.PublicID()), Hash: a.Hash.String(), SizeBytes: a.Size, ContentType: a.ContentType, FilePath: a.FilePath,
		CreatedAt: edge.Timestamp(a.CreatedAt), URL: s.Edge.BaseURL(c.Request) + link, URLExpiresAt: edge.Timestamp(until),
		ExpiresAt: edge.TimestampOrNil(a.ExpiresAt), State: string(a.State), Width: a.Width, Height: a.Height,
		VerifiedAt: edge.TimestampOrNil(a.VerifiedAt), Damaged: a.Damaged,
	}
	if a.Producer != nil {
		body.JobID = a.Producer.PublicJob()
	}
	if a.Scan != nil {
		body.Scan = s.scanBody(c, a)
	}
	return body
}

func (s *v2) scanBody(c *gin.Context, a asset.Asset) *scanBody {
	body := &scanBody{Verdict: string(a.Scan.Verdict), Reason: a.Scan.Reason, SniffedType: a.Scan.SniffedType}
	if !a.Scan.Thumbnail.IsZero() && a.State == asset.Live {
		link, _ := s.Links.Sign(string(a.ID), a.Scan.Thumbnail.String(), thumbnailName, "image/jpeg")
		body.ThumbnailURL = s.Edge.BaseURL(c.Request) + link
	}
	return body
}

// thumbnailName is the file name in links to thumbnails.
const thumbnailName = "thumbnail.jpg"

// filename returns the name under which a browser saves the content of an asset.
func filename(a asset.Asset) string {
	if a.FilePath == nil {
		return string(a.PublicID())
	}
	return path.Base(*a.FilePath)
}
