package assets

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// library serves the first asset API of the hosted service. It has the same assets as /api/v2/assets, in the form
// that editors use, and can rename, tag, describe and recreate them.
type library struct {
	Deps
	opts    Options
	remotes *load.Gate // requests to servers that clients name
	lists   *load.Gate // a filter may use a database connection for seconds
}

// slow bounds the slow operations of a kind. Lists leave most of the process's database connections to other requests.
var slow = load.Options{Slots: 8, Share: 4} // a constant

func newLibrary(deps Deps, opts Options) *library {
	return &library{Deps: deps, opts: opts, remotes: load.New(slow), lists: load.New(slow)}
}

// routes returns the routes of the library.
func (s *library) routes() []edge.Route {
	all := edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: "/assets", Gate: s.lists, Handle: s.list},
		edge.Route{Method: http.MethodPost, Path: "/assets", Access: edge.Store, Limit: -1, Handle: s.post},
		edge.Route{Method: http.MethodPost, Path: "/assets/from-hash", Access: edge.Store, Handle: s.postFromHash},
		edge.Route{Method: http.MethodHead, Path: "/assets/hash/:hash", Handle: s.headByHash},
		edge.Route{Method: http.MethodGet, Path: "/assets/tags/refine", Gate: s.lists, Handle: s.countTags},
		edge.Route{Method: http.MethodGet, Path: "/assets/remote-metadata", Access: edge.Write, Handle: s.getRemote},
		edge.Route{Method: http.MethodGet, Path: "/assets/:id", Handle: s.get},
		edge.Route{Method: http.MethodPut, Path: "/assets/:id", Access: edge.Write, Handle: s.update},
		edge.Route{Method: http.MethodDelete, Path: "/assets/:id", Access: edge.Write, Handle: s.deleteAsset},
		edge.Route{Method: http.MethodGet, Path: "/assets/:id/content", Handle: s.getContent},
		edge.Route{Method: http.MethodHead, Path: "/assets/:id/content", Handle: s.getContent},
		edge.Route{Method: http.MethodPost, Path: "/assets/:id/tags", Access: edge.Write, Handle: s.addTags},
		edge.Route{Method: http.MethodDelete, Path: "/assets/:id/tags", Access: edge.Write, Handle: s.removeTags},
		edge.Route{Method: http.MethodGet, Path: "/tags", Gate: s.lists, Handle: s.listTags},
	)
	all = append(all, s.exportRoutes()...)
	all = append(all, s.taskRoutes()...)
	if !s.opts.Editor {
		return all
	}
	// the editor's files have these paths
	return slices.DeleteFunc(all, func(r edge.Route) bool { return strings.HasPrefix(r.Path, "/assets") })
}

// read returns the asset that the path names. Ids match in upper and lower case.
func (s *library) read(c *gin.Context) (asset.Asset, error) {
	id, err := asset.ParsePublicID(strings.ToLower(c.Param("id")))
	if err != nil {
		return asset.Asset{}, fault.Wrap(err, fault.NotFound, fault.CodeNotFound, "there is no such asset")
	}
	return s.View.ByPublicID(c.Request.Context(), edge.Caller(c).Account, id)
}

// get: GET /assets/{id}.
func (s *library) get(c *gin.Context) error {
	a, err := s.read(c)
	if err != nil {
		return err
	}
	return s.writeAsset(c, http.StatusOK, a, nil)
}

// deleteAsset: DELETE /assets/{id}.
func (s *library) deleteAsset(c *gin.Context) error {
	a, err := s.read(c)
	if err != nil {
		return err
	}
	return s.delete(c, a.ID)
}

// getContent: GET /assets/{id}/content?disposition=. A browser saves the file unless the request asks for inline.
func (s *library) getContent(c *gin.Context) error {
	a, err := s.read(c)
	if err != nil {
		return err
	}
	return s.serve(c, a, a.Title(), !strings.EqualFold(c.Query("disposition"), "inline"))
}

// headByHash: HEAD /assets/hash/{hash}. Unknown bytes and bytes of other accounts have the same answer. Only blake3
// hashes can be found.
func (s *library) headByHash(c *gin.Context) error {
	ref, known, err := libraryHash(c.Param("hash"))
	if err != nil {
		return err
	}
	return s.writeHasBytes(c, ref, known)
}

// libraryHash parses a blake3 or sha256 hash. known is false for sha256, by which no content can be found.
func libraryHash(text string) (ref blob.Ref, known bool, err error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if hex, ok := strings.CutPrefix(text, "sha256:"); ok {
		if _, err := blob.ParseRef("blake3:" + hex); err != nil {
			return blob.Ref{}, false, httperr.Invalidf("the hash must be blake3 or sha256 with 64 hexadecimal digits")
		}
		return blob.Ref{}, false, nil
	}
	ref, err = blob.ParseRef(text)
	if err != nil {
		return blob.Ref{}, false, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest,
			"the hash must be blake3 or sha256 with 64 hexadecimal digits")
	}
	return ref, true, nil
}

// changeRequest is the body of PUT /assets/{id}. Fields that it does not contain stay unchanged.
type changeRequest struct {
	Name         *string        `json:"name"`
	MIMEType     *string        `json:"mime_type"`
	UserMetadata *jsonValue     `json:"user_metadata"`
	PreviewID    *previewValue  `json:"preview_id"`
	Tags         *request.Texts `json:"tags"`
}

// update changes the name, type, metadata, preview and tags of an asset: PUT /assets/{id}.
func (s *library) update(c *gin.Context) error {
	a, err := s.read(c)
	if err != nil {
		return err
	}
	var req changeRequest
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	change, err := req.change()
	if err != nil {
		return err
	}
	if req.Tags != nil {
		if err := s.replaceTags(c, *req.Tags, &change); err != nil {
			return err
		}
	}
	a, _, err = s.Assets.Change(c.Request.Context(), edge.Caller(c).Account, a.ID, change, edge.RequestID(c))
	if err != nil {
		return err
	}
	return s.writeAsset(c, http.StatusOK, a, nil)
}

func (r changeRequest) change() (asset.Change, error) {
	change := asset.Change{ContentType: r.MIMEType}
	if r.Name == nil && r.MIMEType == nil && r.UserMetadata == nil && r.PreviewID == nil && r.Tags == nil {
		return change, httperr.Invalidf("give at least one of name, mime_type, user_metadata, preview_id and tags")
	}
	if r.Name != nil {
		name, err := libraryName(*r.Name)
		if err != nil {
			return change, err
		}
		change.Name = &name
	}
	if r.MIMEType != nil {
		if err := checkContentType(*r.MIMEType); err != nil {
			return change, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "mime_type must be a media type of the form type/subtype")
		}
	}
	if r.UserMetadata != nil {
		m, err := asset.ParseMetadata(*r.UserMetadata)
		if err != nil {
			return change, err
		}
		change.Metadata = &m
	}
	if r.PreviewID != nil {
		preview, err := previewID(r.PreviewID.text)
		if err != nil {
			return change, err
		}
		change.Preview = &preview
	}
	return change, nil
}

// checkText bounds a text parameter of a query.
func checkText(name, text string) error {
	if len(text) > maxTagLength || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return httperr.Invalidf("%s must be at most %d bytes of UTF-8 without NUL characters", name, maxTagLength)
	}
	return nil
}
