package assets

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
)

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
	c.PureJSON(status, bodies[0])
	return nil
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
