// Package assets serves the assets of an account on the two surfaces that have assets: the operations of the v2
// contract, and the library, which is the first asset API of the hosted service and which editors use. It promises
// that a failed upload leaves no asset, and that the library and v2 show the same assets. Packages asset and files
// store bytes and names.
package assets

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
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
	// Claim reserves a key for the request that holder identifies. A key in use is Conflict, idempotency_key_reuse.
	Claim(ctx context.Context, account, operation, key string, holder uuid.UUID) error
	// Release frees the key that holder claimed, after a definite failure.
	Release(ctx context.Context, account, operation, key string, holder uuid.UUID) error
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
	Internet  Internet  // nil = assets cannot be made from a URL
	Exports   Exports   // nil = no routes for exports
	Downloads Downloads // nil = URLs are not downloaded in tasks
}

// Options are the tunables of the surface.
type Options struct {
	MaxUpload  int64         // bytes of an uploaded file
	UploadIdle time.Duration // longest pause of a client in the middle of an upload
	Editor     bool          // an editor's files are served below /assets; the library has only its routes below /api
}

// Surface serves the routes of this package.
type Surface struct {
	v2      *v2
	library *library
}

// New returns the surface.
func New(deps Deps, opts Options) *Surface {
	return &Surface{v2: &v2{deps, opts}, library: newLibrary(deps, opts)}
}

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route { return append(s.v2.routes(), s.library.routes()...) }

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
	held := false
	if known {
		var err error
		if held, err = d.Assets.HasBytes(c.Request.Context(), edge.Caller(c).Account, ref); err != nil {
			return err
		}
	}
	if !held {
		return noSuchContent()
	}
	c.Status(http.StatusOK)
	c.Writer.WriteHeaderNow()
	return nil
}

func noSuchContent() error {
	return fault.New(fault.NotFound, fault.CodeBlobNotFound, "no content with this hash is stored")
}
