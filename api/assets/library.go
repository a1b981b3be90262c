package assets

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
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
		edge.Route{Method: http.MethodGet, Path: "/assets/:id", Handle: edge.Of(s.read, s.get)},
		edge.Route{Method: http.MethodPut, Path: "/assets/:id", Access: edge.Write, Handle: edge.Of(s.read, s.update)},
		edge.Route{Method: http.MethodDelete, Path: "/assets/:id", Access: edge.Write, Handle: edge.Of(s.read, s.deleteAsset)},
		edge.Route{Method: http.MethodGet, Path: "/assets/:id/content", Handle: edge.Of(s.read, s.getContent)},
		edge.Route{Method: http.MethodHead, Path: "/assets/:id/content", Handle: edge.Of(s.read, s.getContent)},
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
func (s *library) get(c *gin.Context, a asset.Asset) error {
	return s.writeAsset(c, http.StatusOK, a, nil)
}

// deleteAsset: DELETE /assets/{id}.
func (s *library) deleteAsset(c *gin.Context, a asset.Asset) error {
	return s.delete(c, a.ID)
}

// getContent: GET /assets/{id}/content?disposition=. A browser saves the file unless the request asks for inline.
func (s *library) getContent(c *gin.Context, a asset.Asset) error {
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
func (s *library) update(c *gin.Context, a asset.Asset) error {
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

// libraryAsset is an asset in the form of the hosted service. Its first tag is the folder of the file, by which
// editors distinguish inputs from outputs.
type libraryAsset struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Hash         string          `json:"hash"`
	AssetHash    string          `json:"asset_hash"`
	LoaderPath   *string         `json:"loader_path"` // the name by which a node loads the file, null if no name leads to it
	Size         int64           `json:"size"`
	MIMEType     string          `json:"mime_type"`
	Tags         []string        `json:"tags"`
	UserMetadata json.RawMessage `json:"user_metadata"`
	PreviewURL   string          `json:"preview_url,omitempty"`
	PreviewID    *string         `json:"preview_id"`
	JobID        string          `json:"job_id,omitempty"`
	PromptID     string          `json:"prompt_id,omitempty"` // the job again, in the field that older clients read
	CreatedAt    string          `json:"created_at"`
	UpdatedAt    string          `json:"updated_at"`
	LastAccess   string          `json:"last_access_time"` // the time of the last change: reads are not recorded
	IsImmutable  bool            `json:"is_immutable"`     // always false: an owner may change every file
	CreatedNew   *bool           `json:"created_new,omitempty"`
}

// writeAsset renders one asset. On create answers, fresh reports whether this request made the asset.
func (s *library) writeAsset(c *gin.Context, status int, a asset.Asset, fresh *bool) error {
	bodies, err := s.bodies(c, []asset.Asset{a})
	if err != nil {
		return err
	}
	bodies[0].CreatedNew = fresh
	return edge.Answer(c, status, bodies[0], nil)
}

// bodies renders a page of assets. One query returns the assets whose names still lead to their files, and the
// previews.
func (s *library) bodies(c *gin.Context, page []asset.Asset) ([]libraryAsset, error) {
	ids := make([]asset.PublicID, 0, len(page))
	for _, a := range page {
		ids = append(ids, a.PublicID())
		if a.Preview != "" {
			ids = append(ids, a.Preview)
		}
	}
	known, err := s.Files.Known(c.Request.Context(), edge.Caller(c).Account, ids)
	if err != nil {
		return nil, err
	}
	bodies := make([]libraryAsset, len(page))
	for i, a := range page {
		bodies[i] = s.body(a, known)
	}
	return bodies, nil
}

func (s *library) body(a asset.Asset, known map[asset.PublicID]files.Entry) libraryAsset {
	body := libraryAsset{
		ID: string(a.PublicID()), Name: a.Title(), Hash: a.Hash.String(), AssetHash: a.Hash.String(), Size: a.Size, MIMEType: a.ContentType,
		Tags: a.Labels(), UserMetadata: json.RawMessage(`{}`), PreviewURL: s.previewURL(a, known),
		CreatedAt: edge.Timestamp(a.CreatedAt), UpdatedAt: edge.Timestamp(changedAt(a)), LastAccess: edge.Timestamp(changedAt(a)),
	}
	if a.Metadata != nil {
		body.UserMetadata = a.Metadata
	}
	if a.Preview != "" {
		preview := string(a.Preview)
		body.PreviewID = &preview
	}
	if a.Producer != nil {
		body.JobID, body.PromptID = a.Producer.PublicJob(), a.Producer.PublicJob()
	}
	if e, ok := known[a.PublicID()]; ok && e.Named {
		loaded := loaderPath(e.Place)
		body.LoaderPath = &loaded
	}
	return body
}

func changedAt(a asset.Asset) time.Time {
	if a.UpdatedAt != nil {
		return *a.UpdatedAt
	}
	return a.CreatedAt
}

// loaderPath returns the name by which nodes load a file: its path below its folder, or below the folder of its
// category.
func loaderPath(p asset.Place) string {
	if _, name, ok := p.ModelPath(); ok {
		return name
	}
	return files.Join(p)
}

// previewURL links to the preview of an asset: the asset that the owner chose, else a thumbnail, else the file itself
// if browsers display its type. The link needs no credential. It is relative to the root of the server, because
// editors put their own address before it.
func (s *library) previewURL(a asset.Asset, known map[asset.PublicID]files.Entry) string {
	e, ok := known[a.Preview]
	if !ok || e.Rejected {
		e, ok = known[a.PublicID()]
	}
	if !ok || e.Rejected {
		return ""
	}
	hash, name, kind := e.Hash, files.Join(e.Place), e.ContentType
	name = name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case !e.Thumbnail.IsZero():
		hash, name, kind = e.Thumbnail, thumbnailName, "image/jpeg"
	case !showsInline(kind):
		return ""
	case name == "":
		name = string(e.Public)
	}
	link, _ := s.Links.Sign(string(e.Asset), hash.String(), name, kind)
	return "/api" + link
}

// showsInline reports whether editors display a media type.
func showsInline(contentType string) bool {
	family, _, _ := strings.Cut(contentType, "/")
	return family == "image" || family == "video" || family == "audio" || family == "text"
}

// made answers a create request: 201 for a new asset, 200 if an equal asset existed.
func (s *library) made(c *gin.Context, a asset.Asset, fresh bool) error {
	status := http.StatusOK
	if fresh {
		status = http.StatusCreated
	}
	return s.writeAsset(c, status, a, &fresh)
}
