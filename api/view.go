package api

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"path"
	"runtime"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/preview"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

// Files keeps the files of accounts; files.Service is it.
type Files interface {
	// Lookup returns a live file of the account by its name.
	Lookup(ctx context.Context, account string, place asset.Place) (files.Entry, error)
	// Known returns those of the account's files that are there.
	Known(ctx context.Context, account string, ids []asset.ID) (map[asset.ID]files.Entry, error)
	// Linked returns the file of a link whose signature was checked.
	Linked(ctx context.Context, id asset.ID, hash blob.Ref) (files.Entry, error)
	// Open returns the bytes of a file.
	Open(ctx context.Context, e files.Entry) (blob.Reader, error)
	// Presign returns a link to the backend that serves the file, "" where there is none.
	Presign(ctx context.Context, e files.Entry, h blob.Headers, ttl time.Duration) (string, error)
	// Create begins the bytes of an upload.
	Create(ctx context.Context) (blob.Writer, error)
	// Upload records an upload whose bytes are committed under a free name.
	Upload(ctx context.Context, u files.Upload) (files.Entry, error)
}

// Grants checks links that need no credential; signedurl.Signer is it.
type Grants interface {
	// Verify returns what the link with these path parts and query allows, else Denied.
	Verify(asset, filename string, q url.Values) (signedurl.Grant, error)
}

// fileServer serves and takes files. Its images bound how many are decoded at once, each of which
// may take some hundred megabytes.
type fileServer struct {
	*server
	images *limit.Semaphore
}

// maxViewPixels bounds what the view and upload routes decode (cloud contract, limits).
const maxViewPixels = 64_000_000

// fileRoutes are mounted where the deployment has files.
func (s *server) fileRoutes() []edge.Route {
	if s.Files == nil {
		return nil
	}
	cores := max(2, runtime.NumCPU())
	fs := &fileServer{server: s, images: limit.NewSemaphore(cores, cores)}
	signed := "/files/:asset/:filename"
	all := edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: "/view", Handle: fs.getView},
		edge.Route{Method: http.MethodHead, Path: "/view", Handle: fs.getView},
		edge.Route{Method: http.MethodGet, Path: "/files/mask-layers", Handle: fs.getMaskLayers},
		edge.Route{Method: http.MethodPost, Path: "/upload/image", Access: edge.Store, Limit: -1, Handle: fs.postImage},
		edge.Route{Method: http.MethodPost, Path: "/upload/mask", Access: edge.Store, Limit: -1, Handle: fs.postMask},
	)
	all = append(all, edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: signed, Access: edge.Public, Handle: fs.getSigned},
		edge.Route{Method: http.MethodHead, Path: signed, Access: edge.Public, Handle: fs.getSigned},
	)...)
	all = append(all, fs.assetRoutes()...)
	return append(all, fs.libraryRoutes()...)
}

// getView sends the client to the file: GET /view. The answer is 302 to a link that needs no
// credential, except where single channels or a preview are asked for: then it is the image.
func (s *fileServer) getView(c *gin.Context) error {
	place, err := viewed(c)
	if err != nil {
		return err
	}
	e, err := s.find(c.Request.Context(), edge.Caller(c), place)
	if err != nil {
		return err
	}
	if c.Query("preview") != "" || c.Query("channel") != "" && c.Query("channel") != "rgba" {
		return s.showPreview(c, e)
	}
	link, _ := s.Links.Sign(string(e.Asset), e.Hash.String(), e.Place.Filename, e.ContentType)
	edge.Redirect(c, s.BaseURL(c.Request)+link)
	return nil
}

// find looks a file up. Uploads ignore subfolders (W-15), so one that a client repeats when it
// asks for an input leads to the same file.
func (s *fileServer) find(ctx context.Context, who account.Identity, place asset.Place) (files.Entry, error) {
	e, err := s.Files.Lookup(ctx, who.Account, place)
	if fault.Is(err, fault.NotFound) && place.Folder == string(node.FolderInput) && place.Subfolder != "" {
		place.Subfolder = ""
		return s.Files.Lookup(ctx, who.Account, place)
	}
	return e, err
}

// viewed reads which file a request is about. filename may carry the folder as an annotation.
func viewed(c *gin.Context) (asset.Place, error) {
	name := c.Query("filename")
	if name == "" {
		return asset.Place{}, httperr.Invalidf("the parameter filename is required")
	}
	folder := node.Folder(c.DefaultQuery("type", string(node.FolderOutput)))
	if folder == "" {
		folder = node.FolderOutput
	}
	if sub := c.Query("subfolder"); sub != "" {
		if err := files.CheckPath(path.Clean(sub)); err != nil {
			return asset.Place{}, err
		}
		name = path.Clean(sub) + "/" + name
	}
	return files.ParseName(name, folder)
}

// showPreview answers with the image re-encoded.
func (s *fileServer) showPreview(c *gin.Context, e files.Entry) error {
	release, err := s.claimImage(c.Request.Context(), e.Account)
	if err != nil {
		return err
	}
	defer release()
	r, err := s.Files.Open(c.Request.Context(), e)
	if err != nil {
		return unavailable(err)
	}
	defer r.Close()
	o := preview.Parse(c.Query("preview"), c.Query("channel"))
	var out bytes.Buffer
	if err := preview.Render(c.Request.Context(), raster.Engine{MaxPixels: maxViewPixels}, &out, r, o); err != nil {
		return badImage(unavailable(err))
	}
	e.ContentType = string(o.Format)
	setContentHeaders(c.Writer.Header(), e, e.Place.Filename, false)
	c.Writer.Header().Del("ETag") // that of the file, not of this rendering
	c.Data(http.StatusOK, string(o.Format), out.Bytes())
	return nil
}

// claimImage waits for the right to decode an image.
func (s *fileServer) claimImage(ctx context.Context, account string) (release func(), err error) {
	return s.images.Acquire(ctx, account)
}

// badImage turns what is wrong with an image into the contract's 400.
func badImage(err error) error {
	if fault.CodeOf(err) == "invalid_image" { // says what is wrong already
		return err
	}
	switch fault.KindOf(err) {
	case fault.Exhausted:
		return fault.Wrap(err, fault.Invalid, "invalid_image", "the image has more than %d megapixels", maxViewPixels/1_000_000)
	case fault.Invalid:
		return fault.Wrap(err, fault.Invalid, "invalid_image", "the file is not an image that can be read")
	case fault.Internal, fault.NotFound, fault.Conflict, fault.Unavailable, fault.Unauthenticated, fault.Denied, fault.Canceled:
	}
	return err
}
