package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/asset"
	"github.com/millrace-dev/millrace/internal/blob"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/files"
)

// libraryServer serves the first asset API of the hosted service (cloud facts, section 9): the same assets as
// under /api/v2/assets, listed by what editors know them by, renamed, tagged, described and made again.
type libraryServer struct {
	*assetServer
	remotes *turns // exchanges with servers that clients name
}

// maxRemotes bounds how many addresses are fetched at once.
const maxRemotes = 8

// libraryRoutes are mounted where the deployment has assets. What the hosted service does in tasks of its own is
// not offered: downloads in the background, exports as archives, imports of published files.
func (s *fileServer) libraryRoutes() []route {
	if s.Assets == nil {
		return nil
	}
	ls := &libraryServer{assetServer: &assetServer{s}, remotes: newTurns(maxRemotes)}
	all := cloud(
		route{method: http.MethodGet, path: "/assets", handle: ls.list},
		route{method: http.MethodPost, path: "/assets", access: bringing, limit: -1, handle: ls.post},
		route{method: http.MethodPost, path: "/assets/from-hash", access: bringing, handle: ls.postFromHash},
		route{method: http.MethodHead, path: "/assets/hash/:hash", handle: ls.headByHash},
		route{method: http.MethodGet, path: "/assets/tags/refine", handle: ls.refine},
		route{method: http.MethodGet, path: "/assets/remote-metadata", access: writing, handle: ls.getRemote},
		route{method: http.MethodGet, path: "/assets/:id", handle: ls.get},
		route{method: http.MethodPut, path: "/assets/:id", access: writing, handle: ls.put},
		route{method: http.MethodDelete, path: "/assets/:id", access: writing, handle: ls.delete},
		route{method: http.MethodGet, path: "/assets/:id/content", handle: ls.getContent},
		route{method: http.MethodHead, path: "/assets/:id/content", handle: ls.getContent},
		route{method: http.MethodPost, path: "/assets/:id/tags", access: writing, handle: ls.addTags},
		route{method: http.MethodDelete, path: "/assets/:id/tags", access: writing, handle: ls.removeTags},
		route{method: http.MethodGet, path: "/tags", handle: ls.listTags},
	)
	if s.Editor == nil {
		return all
	}
	return slices.DeleteFunc(all, func(r route) bool { return strings.HasPrefix(r.path, "/assets") }) // its files lie there
}

// id reads the asset that the path names, in either case.
func (s *libraryServer) id(c *gin.Context) (asset.ID, error) {
	id, err := asset.ParseID(strings.ToLower(c.Param("id")))
	if err != nil {
		return "", fault.Wrap(err, fault.NotFound, "not_found", "there is no such asset")
	}
	return id, nil
}

// read returns the asset that the path names.
func (s *libraryServer) read(c *gin.Context) (asset.Asset, error) {
	id, err := s.id(c)
	if err != nil {
		return asset.Asset{}, err
	}
	return s.AssetView.Asset(c.Request.Context(), caller(c).Account, id)
}

// get: GET /assets/{id}.
func (s *libraryServer) get(c *gin.Context) error {
	a, err := s.read(c)
	if err != nil {
		return err
	}
	return s.answer(c, http.StatusOK, a, nil)
}

// delete: DELETE /assets/{id}.
func (s *libraryServer) delete(c *gin.Context) error {
	id, err := s.id(c)
	if err != nil {
		return err
	}
	if err := s.Assets.Delete(c.Request.Context(), caller(c).Account, id, requestID(c)); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
	return nil
}

// getContent: GET /assets/{id}/content?disposition=. A file is saved unless it is asked for in place.
func (s *libraryServer) getContent(c *gin.Context) error {
	a, err := s.read(c)
	if err != nil {
		return err
	}
	if a.State == asset.Rejected {
		return fault.New(fault.NotFound, "output_unavailable", "the content was rejected when it was scanned")
	}
	e := files.Entry{Asset: a.ID, Account: a.Account, Hash: a.Hash, Size: a.Size, ContentType: a.ContentType}
	return s.serveAs(c, e, a.Title(), !strings.EqualFold(c.Query("disposition"), "inline"))
}

// headByHash: HEAD /assets/hash/{hash}. Bytes of others and unknown ones look the same; content is known by its
// blake3 hash, so no other one names any.
func (s *libraryServer) headByHash(c *gin.Context) error {
	ref, known, err := libraryHash(c.Param("hash"))
	if err != nil {
		return err
	}
	held := false
	if known {
		if held, err = s.Assets.Holds(c.Request.Context(), caller(c).Account, ref); err != nil {
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

// libraryHash reads a hash as this surface writes it, blake3 or sha256; known is false for the latter, by which
// nothing is found.
func libraryHash(text string) (ref blob.Ref, known bool, err error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if hex, ok := strings.CutPrefix(text, "sha256:"); ok {
		if _, err := blob.ParseRef("blake3:" + hex); err != nil {
			return blob.Ref{}, false, invalidf("the hash must be blake3 or sha256 with 64 hexadecimal digits")
		}
		return blob.Ref{}, false, nil
	}
	ref, err = parseHash(text)
	if err != nil {
		return blob.Ref{}, false, fault.Wrap(err, fault.Invalid, "invalid_request", "the hash must be blake3 or sha256 with 64 hexadecimal digits")
	}
	return ref, true, nil
}

// tagCount is a label of files on this surface, where labels are called tags.
type tagCount struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

type tagsResponse struct {
	Tags    []tagCount `json:"tags"`
	Total   int64      `json:"total"`
	HasMore bool       `json:"has_more"`
}

// Bounds of lists of tags.
const (
	defaultTagLimit = 100
	maxTagLimit     = 1000
)

// listTags lists the tags of the account's files with how many files carry them: GET /tags.
func (s *libraryServer) listTags(c *gin.Context) error {
	offset, err := number(c, "offset", 0, 0, maxBrowseOffset)
	if err != nil {
		return err
	}
	limit, err := number(c, "limit", defaultTagLimit, 1, maxTagLimit)
	if err != nil {
		return err
	}
	order := c.DefaultQuery("order", "count_desc")
	if order != "count_desc" && order != "name_asc" {
		return invalidf("order must be count_desc or name_asc")
	}
	prefix := strings.TrimSpace(c.Query("prefix"))
	if err := checkText("prefix", prefix); err != nil {
		return err
	}
	q := labelQuery(prefix, order == "name_asc", offset, limit)
	page, total, more, err := s.AssetView.Labels(c.Request.Context(), caller(c).Account, q)
	if err != nil {
		return err
	}
	body := tagsResponse{Tags: make([]tagCount, len(page)), Total: total, HasMore: more}
	for i, l := range page {
		body.Tags[i] = tagCount{l.Label, l.Count}
	}
	c.PureJSON(http.StatusOK, body)
	return nil
}

// refine counts the tags of the files that a filter selects: GET /assets/tags/refine.
func (s *libraryServer) refine(c *gin.Context) error {
	f, none, err := filterOf(c)
	if err != nil {
		return err
	}
	limit, err := number(c, "limit", defaultTagLimit, 1, maxTagLimit)
	if err != nil {
		return err
	}
	counts := map[string]int64{}
	if !none {
		found, err := s.AssetView.Refine(c.Request.Context(), caller(c).Account, f, limit)
		if err != nil {
			return err
		}
		for _, l := range found {
			counts[l.Label] = l.Count
		}
	}
	c.PureJSON(http.StatusOK, gin.H{"tag_counts": counts})
	return nil
}

// changeRequest is the body of PUT /assets/{id}. What it does not name stays.
type changeRequest struct {
	Name         *string       `json:"name"`
	MIMEType     *string       `json:"mime_type"`
	UserMetadata *jsonValue    `json:"user_metadata"`
	PreviewID    *previewValue `json:"preview_id"`
	Tags         *[]string     `json:"tags"`
}

// put changes what an asset is called, its type, metadata, preview and tags: PUT /assets/{id}.
func (s *libraryServer) put(c *gin.Context) error {
	id, err := s.id(c)
	if err != nil {
		return err
	}
	var req changeRequest
	if err := readJSON(c, &req); err != nil {
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
	a, _, err := s.Assets.Change(c.Request.Context(), caller(c).Account, id, change, requestID(c))
	if err != nil {
		return err
	}
	return s.answer(c, http.StatusOK, a, nil)
}

func (r changeRequest) change() (asset.Change, error) {
	change := asset.Change{ContentType: r.MIMEType}
	if r.Name == nil && r.MIMEType == nil && r.UserMetadata == nil && r.PreviewID == nil && r.Tags == nil {
		return change, invalidf("give at least one of name, mime_type, user_metadata, preview_id and tags")
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
			return change, fault.Wrap(err, fault.Invalid, "invalid_request", "mime_type must be a media type of the form type/subtype")
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

// replaceTags makes the owner's tags those given. What follows from where the file belongs stays.
func (s *libraryServer) replaceTags(c *gin.Context, given []string, change *asset.Change) error {
	a, err := s.read(c)
	if err != nil {
		return err
	}
	tags, err := ownTags(a, given)
	if err != nil {
		return err
	}
	if a.Place == nil { // it is a tag that says where the file belongs
		for _, tag := range a.Tags {
			if asset.IsPlaceLabel(tag) {
				tags = append(tags, tag)
			}
		}
	}
	if tags, err = cleanTags(tags); err != nil {
		return err
	}
	change.Tags = &tags
	return nil
}

// ownTags returns those of the tags that are the owner's to give. A word that says that the file belongs
// elsewhere is refused.
func ownTags(a asset.Asset, tags []string) ([]string, error) {
	placed := a.Placed()
	var own []string
	for _, tag := range tags {
		tag = strings.TrimSpace(tag)
		switch {
		case tag == "", contains(placed, tag):
		case asset.IsPlaceLabel(tag):
			return nil, fault.New(fault.Invalid, "protected_tag", "the tag %s says where a file belongs; this one belongs to %s", tag, placed[0])
		default:
			own = append(own, tag)
		}
	}
	return cleanTags(own)
}

// tagsRequest is the body of both tag routes.
type tagsRequest struct {
	Tags []string `json:"tags"`
}

func (s *libraryServer) tagsAsked(c *gin.Context) (asset.Asset, []string, error) {
	var req tagsRequest
	if err := readJSON(c, &req); err != nil {
		return asset.Asset{}, nil, err
	}
	tags := trimmed(req.Tags)
	if len(tags) == 0 || len(tags) > asset.MaxTags {
		return asset.Asset{}, nil, invalidf("tags must name 1 to %d tags", asset.MaxTags)
	}
	if _, err := cleanTags(tags); err != nil {
		return asset.Asset{}, nil, err
	}
	a, err := s.read(c)
	return a, tags, err
}

type tagsAdded struct {
	Added          []string `json:"added"`
	AlreadyPresent []string `json:"already_present"`
	TotalTags      []string `json:"total_tags"`
}

// addTags: POST /assets/{id}/tags.
func (s *libraryServer) addTags(c *gin.Context) error {
	a, tags, err := s.tagsAsked(c)
	if err != nil {
		return err
	}
	own, err := ownTags(a, tags)
	if err != nil {
		return err
	}
	after, facts, err := s.Assets.Change(c.Request.Context(), caller(c).Account, a.ID, asset.Change{Add: own}, requestID(c))
	if err != nil {
		return err
	}
	body := tagsAdded{Added: []string{}, TotalTags: after.Labels()}
	for _, f := range facts {
		if added, ok := f.Data.(asset.TagsAddedV1); ok {
			body.Added = added.Tags
		}
	}
	body.AlreadyPresent = others(tags, body.Added)
	c.PureJSON(http.StatusOK, body)
	return nil
}

type tagsRemoved struct {
	Removed    []string `json:"removed"`
	NotPresent []string `json:"not_present"`
	Protected  []string `json:"protected"` // they follow from where the file belongs
	TotalTags  []string `json:"total_tags"`
}

// removeTags: DELETE /assets/{id}/tags.
func (s *libraryServer) removeTags(c *gin.Context) error {
	a, tags, err := s.tagsAsked(c)
	if err != nil {
		return err
	}
	placed := a.Placed()
	body := tagsRemoved{Removed: []string{}, Protected: []string{}}
	var own []string
	for _, tag := range tags {
		if contains(placed, tag) {
			body.Protected = append(body.Protected, tag)
		} else {
			own = append(own, tag)
		}
	}
	after, facts, err := s.Assets.Change(c.Request.Context(), caller(c).Account, a.ID, asset.Change{Remove: own}, requestID(c))
	if err != nil {
		return err
	}
	for _, f := range facts {
		if removed, ok := f.Data.(asset.TagsRemovedV1); ok {
			body.Removed = removed.Tags
		}
	}
	body.NotPresent, body.TotalTags = others(own, body.Removed), after.Labels()
	c.PureJSON(http.StatusOK, body)
	return nil
}

// checkText bounds a text of a query.
func checkText(name, text string) error {
	if len(text) > maxTagLength || strings.ContainsRune(text, 0) {
		return invalidf("%s has at most %d bytes and no NUL characters", name, maxTagLength)
	}
	return nil
}

// number reads a number of the query within bounds.
func number(c *gin.Context, name string, otherwise, least, most int) (int, error) {
	text, ok := c.GetQuery(name)
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, invalidf("%s must be a number from %d to %d", name, least, most)
	}
	return n, nil
}
