// Package assets serves the assets of an account on the two surfaces that have assets: the operations of the v2
// contract, and the library, which is the first asset API of the hosted service and which editors use. It promises
// that a failed upload leaves no asset, and that the library and v2 show the same assets. Packages asset and files
// store bytes and names.
package assets

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections/assets"
)

// Assets accepts commands on assets; asset.Service implements it.
type Assets interface {
	// Receive begins an upload; see asset.Service.
	Receive(ctx context.Context, account string, expected *blob.Ref) (*asset.Incoming, error)
	// Create turns received bytes into an asset.
	Create(ctx context.Context, in *asset.Incoming, expected *blob.Ref, spec asset.Spec) (asset.Stored, error)
	// Reference makes an asset of bytes that the account already stores, or returns the existing one.
	Reference(ctx context.Context, ref blob.Ref, spec asset.Spec) (made asset.Stored, same bool, err error)
	// HasBytes reports whether the account can reference these bytes.
	HasBytes(ctx context.Context, account string, ref blob.Ref) (bool, error)
	// Change changes the fields that the owner may set. It returns the events that were recorded.
	Change(ctx context.Context, account string, id asset.ID, c asset.Change, requestID string) (asset.Asset, []asset.Event, error)
	// Delete ends an asset.
	Delete(ctx context.Context, account string, id asset.ID, requestID string) error
}

// AssetReader reads assets. Its results are never older than the log.
type AssetReader interface {
	// Asset returns an asset of the account. An unknown asset is NotFound.
	Asset(ctx context.Context, account string, id asset.ID) (asset.Asset, error)
	// ByPublicID returns the asset of the account with a public id. An unknown asset is NotFound.
	ByPublicID(ctx context.Context, account string, id asset.PublicID) (asset.Asset, error)
	// List returns the assets that the query selects, newest first.
	List(ctx context.Context, account string, q assets.Query) (assets.Page, error)
	// Browse returns the assets that the query selects by labels, names, content and metadata, in the order that it
	// names.
	Browse(ctx context.Context, account string, q assets.Browse) (assets.Found, error)
	// Labels returns a page of the labels of the account's assets and the number of all labels.
	Labels(ctx context.Context, account string, q assets.LabelQuery) (page []assets.LabelCount, total int64, more bool, err error)
	// Refine counts the labels of the assets that a filter selects.
	Refine(ctx context.Context, account string, f assets.Filter, limit int) ([]assets.LabelCount, error)
}

// IdempotencyKeys keeps single-use keys.
type IdempotencyKeys interface {
	// CheckAnswered fails with Conflict, idempotency_key_reuse, if the key is in use and its first answer was given.
	CheckAnswered(ctx context.Context, account, operation, key string) error
	// Use uses a key up without an asset.
	Use(ctx context.Context, account, operation, key string) error
	// Unanswered returns the id of the asset that a request with the key made without receiving an answer.
	Unanswered(ctx context.Context, account, operation, key string) (made uuid.UUID, ok bool, err error)
	// Answered records that the first answer of a key was given.
	Answered(ctx context.Context, account, operation, key string, made uuid.UUID) error
}

// Files reads the files of accounts; files.Service implements it.
type Files interface {
	content.Store
	// Known returns the files of the account that exist among ids.
	Known(ctx context.Context, account string, ids []asset.PublicID) (map[asset.PublicID]files.Entry, error)
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge      *edge.Edge
	Files     Files
	Assets    Assets
	View      AssetReader
	Keys      IdempotencyKeys
	Links     jobio.Links
	Internet  Internet // nil = assets cannot be made from a URL
	Exports   Exports
	Downloads Downloads
	Resumable *asset.Resumable
}

// Options are the tunables of the surface.
type Options struct {
	MaxUpload    int64         // bytes of an uploaded file
	UploadIdle   time.Duration // longest pause of a client in the middle of an upload
	MaxResumable int64         // bytes of a file that is uploaded in several requests
	Editor       bool          // an editor's files are served below /assets; the library has only its routes below /api
}

// Surface serves the routes of this package.
type Surface struct {
	v2        *v2
	library   *library
	resumable *resumable
}

// New returns the surface.
func New(deps Deps, opts Options) *Surface {
	return &Surface{v2: &v2{deps, opts}, library: newLibrary(deps, opts), resumable: newResumable(deps, opts)}
}

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route {
	return slices.Concat(s.v2.routes(), s.library.routes(), s.resumable.routes())
}

// serve answers with the content of an asset. Content that a scan rejected is NotFound.
func (d Deps) serve(c *gin.Context, a asset.Asset, filename string, save bool) error {
	f, err := fileOf(a, filename, save)
	if err != nil {
		return err
	}
	return content.Serve(c, d.Files, f)
}

// fileOf returns the file of an asset. Content that a scan rejected is NotFound.
func fileOf(a asset.Asset, filename string, save bool) (content.File, error) {
	if a.State == asset.Rejected {
		return content.File{}, fault.New(fault.NotFound, fault.CodeOutputUnavailable, "the content of this file was rejected by a scan")
	}
	e := files.Entry{Asset: a.ID, Account: a.Account, Hash: a.Hash, Size: a.Size, ContentType: a.ContentType}
	return content.File{Entry: e, Name: filename, Save: save}, nil
}

// delete deletes an asset and answers 204.
func (d Deps) delete(c *gin.Context, id asset.ID) error {
	if err := d.Assets.Delete(c.Request.Context(), edge.Caller(c).Account, id, edge.RequestID(c)); err != nil {
		return err
	}
	edge.NoContent(c)
	return nil
}

// writeHasBytes answers whether the caller stores the bytes. known is false for a hash that cannot be looked up.
func (d Deps) writeHasBytes(c *gin.Context, ref blob.Ref, known bool) error {
	stored := false
	if known {
		var err error
		if stored, err = d.Assets.HasBytes(c.Request.Context(), edge.Caller(c).Account, ref); err != nil {
			return err
		}
	}
	if !stored {
		return noSuchContent()
	}
	c.Status(http.StatusOK)
	c.Writer.WriteHeaderNow()
	return nil
}

func noSuchContent() error {
	return fault.New(fault.NotFound, fault.CodeBlobNotFound, "no content with this hash is stored")
}

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
		edge.Route{Method: http.MethodGet, Path: "/assets/:id", Handle: edge.Of(s.asset, s.getAsset)},
		edge.Route{Method: http.MethodDelete, Path: "/assets/:id", Access: edge.Write, Handle: edge.Of(s.asset, s.deleteAsset)},
		edge.Route{Method: http.MethodGet, Path: "/assets/:id/content", Handle: edge.Of(s.asset, s.getContent)},
		edge.Route{Method: http.MethodHead, Path: "/assets/:id/content", Handle: edge.Of(s.asset, s.headContent)},
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
func (s *v2) getAsset(c *gin.Context, a asset.Asset) error {
	return edge.OK(c, s.assetBody(c, a), nil)
}

// getContent redirects to a link that serves the bytes without a credential, from the bucket or from this service:
// GET /api/v2/assets/{id}/content.
func (s *v2) getContent(c *gin.Context, a asset.Asset) error {
	f, err := fileOf(a, filename(a), false)
	if err != nil {
		return err
	}
	link, _ := s.Links.Sign(string(a.ID), a.Hash.String(), filename(a), a.ContentType)
	return content.Redirect(c, s.Files, f, s.Edge.BaseURL(c.Request)+link)
}

// headContent describes the bytes: HEAD /api/v2/assets/{id}/content.
func (s *v2) headContent(c *gin.Context, a asset.Asset) error {
	return s.serve(c, a, filename(a), false)
}

// deleteAsset: DELETE /api/v2/assets/{id}.
func (s *v2) deleteAsset(c *gin.Context, a asset.Asset) error {
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
	c.PureJSON(status, s.created(c, made))
	return nil
}

// created returns the answer with a new asset. created_new reports whether bytes were stored.
func (s *v2) created(c *gin.Context, made asset.Stored) assetBody {
	body := s.assetBody(c, made.Asset)
	fresh := !made.HadBytes
	body.CreatedNew = &fresh
	return body
}

// listing makes the cursors of the listing, which are positions in the order of creation.
var listing = request.Listing[int64]{Kind: "a"}

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
	body.NextCursor = listing.Format(page.Next)
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
