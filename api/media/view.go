// Package media serves the files of the cloud contract: the view route, uploads of images and masks, and links that
// need no credential. It promises that no image larger than its bounds is decoded, and that the number of images that
// are decoded at the same time is bounded. Assets have packages of their own.
package media

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"runtime"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/preview"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

// Files stores the files of accounts; files.Service implements it.
type Files interface {
	content.Store
	// Lookup returns a live file of the account by its name.
	Lookup(ctx context.Context, account string, place asset.Place) (files.Entry, error)
	// Linked returns the file of a link whose signature was checked.
	Linked(ctx context.Context, id asset.ID, hash blob.Ref) (files.Entry, error)
	// Create returns a writer for the bytes of an upload.
	Create(ctx context.Context) (blob.Writer, error)
	// Upload records an upload with committed bytes under a free name.
	Upload(ctx context.Context, u files.Upload) (files.Entry, error)
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge   *edge.Edge
	Files  Files
	Grants *signedurl.Signer
	Links  jobio.Links
}

// Options are the tunables of the surface.
type Options struct {
	MaxImage   int64         // bytes of an uploaded image, default 50 MiB, the limit of the cloud contract
	UploadIdle time.Duration // longest pause of a client in the middle of an upload
}

// Surface serves the routes of this package. images bounds how many images are decoded at the same time: each may
// take some hundred megabytes.
type Surface struct {
	Deps
	opts   Options
	images *load.Gate
}

const defaultMaxImage = 50 << 20

// New returns the surface.
func New(deps Deps, opts Options) *Surface {
	opts.MaxImage = cmp.Or(opts.MaxImage, defaultMaxImage)
	cores := max(2, runtime.NumCPU())
	return &Surface{Deps: deps, opts: opts, images: load.New(load.Options{Slots: cores})}
}

// maxViewPixels bounds the images that the view and upload routes decode.
const maxViewPixels = 64_000_000

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route {
	signed := "/files/:asset/:filename"
	return append(edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: "/view", Handle: s.getView},
		edge.Route{Method: http.MethodHead, Path: "/view", Handle: s.getView},
		edge.Route{Method: http.MethodGet, Path: "/files/mask-layers", Handle: s.getMaskLayers},
		edge.Route{Method: http.MethodPost, Path: "/upload/image", Access: edge.Store, Limit: -1, Handle: s.postImage},
		edge.Route{Method: http.MethodPost, Path: "/upload/mask", Access: edge.Store, Limit: -1, Handle: s.postMask},
		edge.Route{Method: http.MethodGet, Path: signed, Access: edge.Public, Handle: s.getSigned},
		edge.Route{Method: http.MethodHead, Path: signed, Access: edge.Public, Handle: s.getSigned},
	),
		edge.Route{Method: http.MethodGet, Path: sentRoute, Browser: true, Handle: s.getSent},
		edge.Route{Method: http.MethodPut, Path: sentRoute, Access: edge.Store, Limit: s.opts.MaxImage, Browser: true, Handle: s.putSent},
	)
}

// getSigned serves a link that needs no credential: GET /files/{asset}/{filename}.
func (s *Surface) getSigned(c *gin.Context) error {
	grant, err := s.Grants.Verify(c.Param("asset"), c.Param("filename"), c.Request.URL.Query())
	if err != nil {
		return err
	}
	e, err := s.Files.Linked(c.Request.Context(), asset.ID(grant.Asset), grant.Hash)
	if err != nil {
		return err
	}
	e.ContentType = grant.ContentType
	return content.Serve(c, s.Files, content.File{Entry: e, Name: grant.Filename})
}

// runtimeView is the view route of a self-hosted ComfyUI, whose clients do not follow redirects.
const runtimeView = "/view"

// getView serves a file: GET /view and GET /api/view. A request for single channels or a preview is answered with the
// converted image. Otherwise /view answers with the bytes, as a self-hosted ComfyUI does, and /api/view redirects to
// a link that needs no credential, as the cloud contract requires.
func (s *Surface) getView(c *gin.Context) error {
	place, err := viewed(c)
	if err != nil {
		return err
	}
	e, err := s.Files.Lookup(c.Request.Context(), edge.Caller(c).Account, place)
	if err != nil {
		return err
	}
	if c.Query("preview") != "" || c.Query("channel") != "" && c.Query("channel") != "rgba" {
		return s.showPreview(c, e)
	}
	if c.FullPath() == runtimeView {
		return content.ServeBytes(c, s.Files, content.File{Entry: e, Name: e.Place.Filename})
	}
	link, _ := s.Links.Sign(string(e.Asset), e.Hash.String(), e.Place.Filename, e.ContentType)
	edge.Redirect(c, s.Edge.BaseURL(c.Request)+link)
	return nil
}

// viewed parses the file that a request names. filename may contain the folder as an annotation.
func viewed(c *gin.Context) (asset.Place, error) {
	name := c.Query("filename")
	if name == "" {
		return asset.Place{}, httperr.Invalidf("the parameter filename is required")
	}
	folder := node.Folder(c.DefaultQuery("type", string(node.FolderOutput)))
	folder = cmp.Or(folder, node.FolderOutput)
	if sub := c.Query("subfolder"); sub != "" {
		if err := files.CheckPath(path.Clean(sub)); err != nil {
			return asset.Place{}, err
		}
		name = path.Clean(sub) + "/" + name
	}
	return files.ParseName(name, folder)
}

// showPreview answers with a re-encoded image.
func (s *Surface) showPreview(c *gin.Context, e files.Entry) error {
	release, err := s.claimImage(c.Request.Context(), e.Account)
	if err != nil {
		return err
	}
	defer release()
	r, err := s.Files.Open(c.Request.Context(), e)
	if err != nil {
		return content.Unavailable(err)
	}
	defer r.Close()
	o := preview.Parse(c.Query("preview"), c.Query("channel"))
	var out bytes.Buffer
	if err := preview.Render(c.Request.Context(), raster.Engine{MaxPixels: maxViewPixels}, &out, r, o); err != nil {
		return invalidImage(content.Unavailable(err))
	}
	e.ContentType = string(o.Format)
	content.SetHeaders(c.Writer.Header(), content.File{Entry: e, Name: e.Place.Filename})
	c.Writer.Header().Del("ETag") // the tag of the file, not of this rendering
	c.Data(http.StatusOK, string(o.Format), out.Bytes())
	return nil
}

// invalidImage turns an error of an image into the contract's 400.
func invalidImage(err error) error {
	if fault.CodeOf(err) == fault.CodeInvalidImage { // the error is specific already
		return err
	}
	switch fault.KindOf(err) {
	case fault.Exhausted:
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidImage, "the image has more than %d megapixels", maxViewPixels/1_000_000)
	case fault.Invalid:
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidImage, "the file is not an image that can be read")
	case fault.Internal, fault.NotFound, fault.Conflict, fault.Unavailable, fault.Unauthenticated, fault.Denied, fault.Canceled:
	}
	return err
}

// maskLayers are the files of one mask, null for missing layers.
type maskLayers struct {
	Mask          *string `json:"mask"`
	Paint         *string `json:"paint"`
	Painted       *string `json:"painted"`
	PaintedMasked *string `json:"painted_masked"`
}

// layerName matches the names under which editors upload the layers of a mask. All four layers have the same text
// around the kind.
var layerName = regexp.MustCompile(`^(.*?)(painted-masked|painted|paint|mask)(-[^/]*)$`)

// getMaskLayers returns the files that belong to the same mask as the named file: GET /files/mask-layers?filename=.
func (s *Surface) getMaskLayers(c *gin.Context) error {
	name := c.Query("filename")
	if name == "" {
		return httperr.Invalidf("the parameter filename is required")
	}
	own, err := s.layer(c, name)
	if err != nil {
		return err
	}
	if own == nil {
		return fault.New(fault.NotFound, fault.CodeNotFound, "this file does not exist")
	}
	var layers maskLayers
	if parts := layerName.FindStringSubmatch(name); parts != nil {
		for kind, into := range map[string]**string{
			"mask": &layers.Mask, "paint": &layers.Paint, "painted": &layers.Painted, "painted-masked": &layers.PaintedMasked,
		} {
			if *into, err = s.layer(c, fmt.Sprint(parts[1], kind, parts[3])); err != nil {
				return err
			}
		}
	}
	return edge.OK(c, layers, nil)
}

// layer returns the name if the caller has an input of that name, otherwise nil.
func (s *Surface) layer(c *gin.Context, name string) (*string, error) {
	place, err := files.NewPlace(node.FolderInput, name)
	if err != nil {
		return nil, err
	}
	e, err := s.Files.Lookup(c.Request.Context(), edge.Caller(c).Account, place)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return &e.Place.Filename, err
}
