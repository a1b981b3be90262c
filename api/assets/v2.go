package assets

import (
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/cursor"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections/assets"
)

// v2 serves the asset operations of the v2 contract.
type v2 struct {
	Deps
	opts Options
}

func (s *v2) routes() []edge.Route {
	return edge.V2(
		edge.Route{Method: http.MethodPost, Path: "/assets", Access: edge.Store, Limit: -1, Handle: s.postAsset},
		edge.Route{Method: http.MethodGet, Path: "/assets", Handle: s.listAssets},
		edge.Route{Method: http.MethodPost, Path: "/assets/from-hash", Access: edge.Store, Handle: s.postFromHash},
		edge.Route{Method: http.MethodHead, Path: "/assets/by-hash/:hash", Handle: s.headByHash},
		edge.Route{Method: http.MethodGet, Path: "/assets/:id", Handle: s.getAsset},
		edge.Route{Method: http.MethodDelete, Path: "/assets/:id", Access: edge.Write, Handle: s.deleteAsset},
		edge.Route{Method: http.MethodGet, Path: "/assets/:id/content", Handle: s.getContent},
		edge.Route{Method: http.MethodHead, Path: "/assets/:id/content", Handle: s.headContent},
	)
}

// asset returns the asset that the path names.
func (s *v2) asset(c *gin.Context) (asset.Asset, error) {
	id, err := asset.ParsePublicID(c.Param("id"))
	if err != nil {
		return asset.Asset{}, fault.Wrap(err, fault.NotFound, fault.CodeNotFound, "there is no such asset")
	}
	return s.View.ByPublicID(c.Request.Context(), edge.Caller(c).Account, id)
}

// getAsset: GET /api/v2/assets/{id}.
func (s *v2) getAsset(c *gin.Context) error {
	a, err := s.asset(c)
	if err != nil {
		return err
	}
	return edge.OK(c, s.assetBody(c, a), nil)
}

// getContent redirects to a link that serves the bytes without a credential, from the bucket or from this service:
// GET /api/v2/assets/{id}/content.
func (s *v2) getContent(c *gin.Context) error {
	a, err := s.asset(c)
	if err != nil {
		return err
	}
	f, err := fileOf(a, filename(a), false)
	if err != nil {
		return err
	}
	link, _ := s.Links.Sign(string(a.ID), a.Hash.String(), filename(a), a.ContentType)
	return content.Redirect(c, s.Files, f, s.Edge.BaseURL(c.Request)+link)
}

// headContent describes the bytes: HEAD /api/v2/assets/{id}/content.
func (s *v2) headContent(c *gin.Context) error {
	a, err := s.asset(c)
	if err != nil {
		return err
	}
	return s.serve(c, a, filename(a), false)
}

// deleteAsset: DELETE /api/v2/assets/{id}.
func (s *v2) deleteAsset(c *gin.Context) error {
	a, err := s.asset(c)
	if err != nil {
		return err
	}
	return s.delete(c, a.ID)
}

// headByHash: HEAD /api/v2/assets/by-hash/{hash}. Bytes of other accounts, unknown bytes and malformed hashes have
// the same answer.
func (s *v2) headByHash(c *gin.Context) error {
	ref, err := blob.ParseRef(c.Param("hash"))
	return s.writeHasBytes(c, ref, err == nil)
}

// fromHashRequest is the body of POST /api/v2/assets/from-hash.
type fromHashRequest struct {
	Hash      string        `json:"hash"`
	FilePath  *string       `json:"file_path"`
	Tags      request.Texts `json:"tags"`
	ExpiresIn *int64        `json:"expires_in"`
}

// postFromHash makes an asset of bytes that the caller already stores: POST /api/v2/assets/from-hash.
func (s *v2) postFromHash(c *gin.Context) error {
	var req fromHashRequest
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	ref, err := parseHash(req.Hash)
	if err != nil {
		return err
	}
	spec := asset.Spec{Account: edge.Caller(c).Account, RequestID: edge.RequestID(c)}
	if err := fillSpec(&spec, req.FilePath, req.Tags, req.ExpiresIn); err != nil {
		return err
	}
	made, same, err := s.Assets.Reference(c.Request.Context(), ref, spec)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if same {
		status = http.StatusOK
	}
	s.created(c, status, made)
	return nil
}

// created answers with a new asset. created_new reports whether bytes were stored.
func (s *v2) created(c *gin.Context, status int, made asset.Stored) {
	body := s.assetBody(c, made.Asset)
	fresh := !made.HadBytes
	body.CreatedNew = &fresh
	c.PureJSON(status, body)
}

// listing makes the cursors of the listing, which are positions in the order of creation.
var listing = cursor.Listing[int64]{Kind: "a"}

// listResponse is a page of GET /api/v2/assets.
type listResponse struct {
	Assets     []listedAsset `json:"assets"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

// listedAsset is an asset with its tags, which the Asset object itself does not have.
type listedAsset struct {
	assetBody
	Tags []string `json:"tags"`
}

// listAssets lists the caller's assets, newest first: GET /api/v2/assets?limit&cursor&tag&name. The published API has
// no such listing.
func (s *v2) listAssets(c *gin.Context) error {
	q := assets.Query{Tags: c.QueryArray("tag"), Name: c.Query("name")}
	var err error
	if q.Limit, err = request.Number(c, "limit", 0, 1, assets.MaxLimit); err != nil {
		return err
	}
	if q.Before, err = listing.Read(c, "cursor"); err != nil {
		return err
	}
	if strings.ContainsRune(q.Name, 0) {
		return httperr.Invalidf("name must not contain NUL characters")
	}
	if _, err := cleanTags(q.Tags); err != nil {
		return err
	}
	page, err := s.View.List(c.Request.Context(), edge.Caller(c).Account, q)
	if err != nil {
		return err
	}
	body := listResponse{Assets: make([]listedAsset, len(page.Assets))}
	for i, a := range page.Assets {
		body.Assets[i] = listedAsset{assetBody: s.assetBody(c, a), Tags: append([]string{}, a.Tags...)}
	}
	if page.Next > 0 {
		body.NextCursor = listing.Format(page.Next)
	}
	return edge.OK(c, body, nil)
}

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
