package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections/assets"
)

// Assets accepts commands on assets; asset.Service is it.
type Assets interface {
	// Receive begins an upload; see asset.Service.
	Receive(ctx context.Context, account string, expected *blob.Ref) (*asset.Incoming, error)
	// Create turns received bytes into an asset.
	Create(ctx context.Context, in *asset.Incoming, expected *blob.Ref, spec asset.Spec) (asset.Made, error)
	// Reference makes an asset over bytes the account holds, or returns the same one again.
	Reference(ctx context.Context, ref blob.Ref, spec asset.Spec) (made asset.Made, same bool, err error)
	// Holds reports whether the account can reference these bytes.
	Holds(ctx context.Context, account string, ref blob.Ref) (bool, error)
	// Change changes what the owner says about an asset; the facts are what that came to.
	Change(ctx context.Context, account string, id asset.ID, c asset.Change, requestID string) (asset.Asset, []asset.Fact, error)
	// Delete ends an asset.
	Delete(ctx context.Context, account string, id asset.ID, requestID string) error
}

// AssetReader reads assets; what it says is never behind the log.
type AssetReader interface {
	// Asset returns an asset of the account; what is not there is NotFound.
	Asset(ctx context.Context, account string, id asset.ID) (asset.Asset, error)
	// List returns the assets that the query selects, newest first.
	List(ctx context.Context, account string, q assets.Query) (assets.Page, error)
	// Browse is List by labels, names, content and metadata, in several orders.
	Browse(ctx context.Context, account string, q assets.Browse) (assets.Found, error)
	// Labels returns a page of the labels of the account's assets, and how many there are.
	Labels(ctx context.Context, account string, q assets.LabelQuery) (page []assets.LabelCount, total int64, more bool, err error)
	// Refine counts the labels of the assets that a filter selects.
	Refine(ctx context.Context, account string, f assets.Filter, limit int) ([]assets.LabelCount, error)
}

// IdempotencyKeys keeps single-use keys.
type IdempotencyKeys interface {
	// Claim takes a key for a request, which holder names; one in use is Conflict, idempotency_key_reuse.
	Claim(ctx context.Context, account, operation, key string, holder uuid.UUID) error
	// Check is Conflict, idempotency_key_reuse, for a key in use.
	Check(ctx context.Context, account, operation, key string) error
	// Release gives back the key that holder has claimed, after a definite failure.
	Release(ctx context.Context, account, operation, key string, holder uuid.UUID) error
}

// assetServer serves the v2 asset operations.
type assetServer struct{ *fileServer }

// assetRoutes are mounted where the deployment has assets.
func (s *fileServer) assetRoutes() []edge.Route {
	if s.Assets == nil {
		return nil
	}
	as := &assetServer{s}
	return edge.V2(
		edge.Route{Method: http.MethodPost, Path: "/assets", Access: edge.Store, Limit: -1, Handle: as.postAsset},
		edge.Route{Method: http.MethodGet, Path: "/assets", Handle: as.listAssets},
		edge.Route{Method: http.MethodPost, Path: "/assets/from-hash", Access: edge.Store, Handle: as.postFromHash},
		edge.Route{Method: http.MethodHead, Path: "/assets/by-hash/:hash", Handle: as.headByHash},
		edge.Route{Method: http.MethodGet, Path: "/assets/:id", Handle: as.getAsset},
		edge.Route{Method: http.MethodDelete, Path: "/assets/:id", Access: edge.Write, Handle: as.deleteAsset},
		edge.Route{Method: http.MethodGet, Path: "/assets/:id/content", Handle: as.getContent},
		edge.Route{Method: http.MethodHead, Path: "/assets/:id/content", Handle: as.getContent},
	)
}

// asset reads the asset that the path names.
func (s *assetServer) asset(c *gin.Context) (asset.Asset, error) {
	id, err := asset.ParseID(c.Param("id"))
	if err != nil {
		return asset.Asset{}, fault.Wrap(err, fault.NotFound, "not_found", "there is no such asset")
	}
	return s.AssetView.Asset(c.Request.Context(), edge.Caller(c).Account, id)
}

// getAsset: GET /api/v2/assets/{id}.
func (s *assetServer) getAsset(c *gin.Context) error {
	a, err := s.asset(c)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, s.assetBody(c, a))
	return nil
}

// getContent: GET /api/v2/assets/{id}/content.
func (s *assetServer) getContent(c *gin.Context) error {
	a, err := s.asset(c)
	if err != nil {
		return err
	}
	return s.serveAsset(c, a, filename(a), false)
}

// serveAsset answers with the content of an asset, unless a scan rejected it.
func (s *assetServer) serveAsset(c *gin.Context, a asset.Asset, filename string, save bool) error {
	if a.State == asset.Rejected {
		return fault.New(fault.NotFound, "output_unavailable", "the content was rejected when it was scanned")
	}
	e := files.Entry{Asset: a.ID, Account: a.Account, Hash: a.Hash, Size: a.Size, ContentType: a.ContentType}
	return s.serveAs(c, e, filename, save)
}

// deleteAsset: DELETE /api/v2/assets/{id}.
func (s *assetServer) deleteAsset(c *gin.Context) error {
	id, err := asset.ParseID(c.Param("id"))
	if err != nil {
		return fault.Wrap(err, fault.NotFound, "not_found", "there is no such asset")
	}
	return s.end(c, id)
}

// end deletes an asset and answers so.
func (s *assetServer) end(c *gin.Context, id asset.ID) error {
	if err := s.Assets.Delete(c.Request.Context(), edge.Caller(c).Account, id, edge.RequestID(c)); err != nil {
		return err
	}
	edge.NoContent(c)
	return nil
}

// headByHash: HEAD /api/v2/assets/by-hash/{hash}. Bytes of others, unknown ones and what is no hash
// look the same.
func (s *assetServer) headByHash(c *gin.Context) error {
	ref, err := blob.ParseRef(c.Param("hash"))
	return s.tellHeld(c, ref, err == nil)
}

// tellHeld answers whether the caller holds bytes; what is not known by a hash of ours is held by nobody.
func (s *assetServer) tellHeld(c *gin.Context, ref blob.Ref, known bool) error {
	held := false
	if known {
		var err error
		if held, err = s.Assets.Holds(c.Request.Context(), edge.Caller(c).Account, ref); err != nil {
			return err
		}
	}
	if !held {
		return notHeld()
	}
	c.Status(http.StatusOK)
	c.Writer.WriteHeaderNow()
	return nil
}

func notHeld() error {
	return fault.New(fault.NotFound, "blob_not_found", "no content with this hash is stored")
}

// fromHashRequest is the body of POST /api/v2/assets/from-hash.
type fromHashRequest struct {
	Hash      string   `json:"hash"`
	FilePath  *string  `json:"file_path"`
	Tags      []string `json:"tags"`
	ExpiresIn *int64   `json:"expires_in"`
}

// postFromHash makes an asset over bytes the caller holds: POST /api/v2/assets/from-hash.
func (s *assetServer) postFromHash(c *gin.Context) error {
	var req fromHashRequest
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	ref, err := blob.ParseRef(req.Hash)
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

// created answers with an asset that was made. created_new says whether bytes were stored.
func (s *assetServer) created(c *gin.Context, status int, made asset.Made) {
	body := s.assetBody(c, made.Asset)
	fresh := !made.Held
	body.CreatedNew = &fresh
	c.PureJSON(status, body)
}

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

// listAssets lists the caller's assets, newest first: GET /api/v2/assets?limit&cursor&tag&name.
// It is an addition of ours; the published API has no listing.
func (s *assetServer) listAssets(c *gin.Context) error {
	q := assets.Query{Tags: c.QueryArray("tag"), Name: c.Query("name")}
	var err error
	if q.Limit, err = request.Number(c, "limit", 0, 1, assets.MaxLimit); err != nil {
		return err
	}
	if v, ok := c.GetQuery("cursor"); ok {
		before, err := parseAssetCursor(v)
		if err != nil {
			return err
		}
		q.Before = before
	}
	if strings.ContainsRune(q.Name, 0) {
		return httperr.Invalidf("name must not hold NUL characters")
	}
	if _, err := cleanTags(q.Tags); err != nil {
		return err
	}
	page, err := s.AssetView.List(c.Request.Context(), edge.Caller(c).Account, q)
	if err != nil {
		return err
	}
	body := listResponse{Assets: make([]listedAsset, len(page.Assets))}
	for i, a := range page.Assets {
		body.Assets[i] = listedAsset{assetBody: s.assetBody(c, a), Tags: append([]string{}, a.Tags...)}
	}
	if page.Next > 0 {
		body.NextCursor = cursorPrefix + strconv.FormatInt(page.Next, 36)
	}
	c.PureJSON(http.StatusOK, body)
	return nil
}

// cursorPrefix marks the kind of a cursor, so that one of another listing is noticed.
const cursorPrefix = "a"

func parseAssetCursor(s string) (int64, error) {
	digits, ok := strings.CutPrefix(s, cursorPrefix)
	n, err := strconv.ParseInt(digits, 36, 64)
	if !ok || err != nil || n < 1 {
		return 0, fault.New(fault.Invalid, "invalid_cursor", "the cursor is not one of this listing")
	}
	return n, nil
}
