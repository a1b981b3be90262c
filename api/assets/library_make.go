package assets

import (
	"encoding/json"
	"io"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// maxLibraryName bounds the name of a file, in bytes.
const maxLibraryName = 512

// libraryName checks the name of a file.
func libraryName(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxLibraryName || !utf8.ValidString(text) || strings.ContainsFunc(text, isControl) {
		return "", httperr.Invalidf("a name must have 1 to %d bytes and no control characters", maxLibraryName)
	}
	return text, nil
}

// previewValue is an id that may also be null.
type previewValue struct{ text string }

// UnmarshalJSON implements json.Unmarshaler.
func (v *previewValue) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	return json.Unmarshal(raw, &v.text)
}

// jsonValue keeps a value as the client sent it, null included.
type jsonValue []byte

// UnmarshalJSON implements json.Unmarshaler.
func (v *jsonValue) UnmarshalJSON(raw []byte) error {
	*v = append((*v)[:0], raw...)
	return nil
}

func previewID(text string) (asset.PublicID, error) {
	if text == "" {
		return "", nil
	}
	id, err := asset.ParsePublicID(strings.ToLower(text))
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, fault.CodeInvalidPreview, "preview_id must be the id of a file")
	}
	return id, nil
}

// createRequest holds the fields of a request that adds a file, in any of the three ways.
type createRequest struct {
	id, name, filename, mimeType, preview string
	tags                                  []string
	metadata                              []byte
}

// libraryFields are the fields of an upload form besides the file.
var libraryFields = map[string]request.Occurrence{
	"tags": request.Repeated, "id": request.Once, "preview_id": request.Once, "name": request.Once, "mime_type": request.Once,
	"user_metadata": request.Once, "hash": request.Once,
}

// post makes an asset of an uploaded file or of the content of a URL: POST /assets.
func (s *library) post(c *gin.Context) error {
	kind, _, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	switch {
	case err == nil && kind == "multipart/form-data":
		return s.postFile(c)
	case err == nil && kind == "application/json":
		return s.postURL(c)
	}
	return fault.New(fault.Invalid, fault.CodeUnsupportedMediaType, "send multipart/form-data with a file, or JSON with a url")
}

// postFile streams the file of a form into an asset.
func (s *library) postFile(c *gin.Context) error {
	if err := (request.FormReader{Limit: s.opts.MaxUpload}).CheckLength(c.Request); err != nil {
		return err
	}
	ctx, account := c.Request.Context(), edge.Caller(c).Account
	var in *asset.Incoming
	var expected *blob.Ref
	var refused error
	fr := request.FormReader{File: "file", Limit: s.opts.MaxUpload, Idle: s.opts.UploadIdle, Fields: libraryFields}
	fr.Take = func(name, value string) {
		if name == "hash" {
			expected, refused = fieldHash(value)
		}
	}
	fr.Open = func(map[string][]string) (_ io.Writer, err error) {
		if refused != nil {
			return io.Discard, nil //nolint:nilerr // the refusal is answered once the body has been read
		}
		in, err = s.Assets.Receive(ctx, account, expected)
		return in, err
	}
	f, err := fr.Read(c)
	if in != nil {
		defer in.Drop() //nolint:errcheck // the staging folder is cleared at the next start
	}
	if err == nil {
		err = refused
	}
	if err != nil {
		return err
	}
	r, err := formRequest(f)
	if err != nil {
		return err
	}
	switch {
	case f.HasFile:
		return s.createFromBytes(c, in, expected, r)
	case expected != nil:
		return s.reference(c, *expected, r)
	default:
		return httperr.Invalidf("the part file is required")
	}
}

// fieldHash parses the hash that the bytes must have. A sha256 hash is refused, because bytes are not compared with
// it.
func fieldHash(text string) (*blob.Ref, error) {
	ref, known, err := libraryHash(text)
	if err == nil && !known {
		err = httperr.Invalidf("hash must be a blake3 hash: bytes are not checked against sha256")
	}
	return &ref, err
}

// formRequest reads the fields of a form.
func formRequest(f *request.Form) (createRequest, error) {
	r := createRequest{filename: f.Filename, metadata: []byte(`{}`)}
	r.id, _ = f.Get("id")
	r.name, _ = f.Get("name")
	r.mimeType, _ = f.Get("mime_type")
	r.preview, _ = f.Get("preview_id")
	if text, ok := f.Get("user_metadata"); ok && strings.TrimSpace(text) != "" {
		r.metadata = []byte(text)
	}
	for _, text := range f.Fields["tags"] {
		var list []string
		if strings.HasPrefix(strings.TrimSpace(text), "[") {
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				return r, httperr.Invalidf("tags must be a JSON list of texts, a comma list, or one part each")
			}
		} else {
			list = strings.Split(text, ",")
		}
		r.tags = append(r.tags, trimmed(list)...)
	}
	return r, nil
}

// createFromBytes makes an asset of received bytes, or returns an equal asset that exists.
func (s *library) createFromBytes(c *gin.Context, in *asset.Incoming, expected *blob.Ref, r createRequest) error {
	spec, done, err := s.spec(c, r)
	if err != nil || done {
		return err
	}
	ref, size := in.Sum()
	if expected == nil || ref == *expected {
		made, same, err := s.Assets.Reference(c.Request.Context(), ref, spec)
		if err == nil {
			return s.made(c, made.Asset, !same)
		}
		if fault.CodeOf(err) != fault.CodeBlobNotFound {
			return err
		}
	}
	if size > 0 { // checked before the bytes are stored, so that a refused file leaves none
		if err := s.Edge.CheckQuota(c, size); err != nil {
			return err
		}
	}
	made, err := s.Assets.Create(c.Request.Context(), in, expected, spec)
	if err != nil {
		return err
	}
	return s.made(c, made.Asset, true)
}

// reference makes an asset of bytes that the caller already stores.
func (s *library) reference(c *gin.Context, ref blob.Ref, r createRequest) error {
	typed := r.mimeType != ""
	spec, done, err := s.spec(c, r)
	if err != nil || done {
		return err
	}
	if !typed {
		spec.ContentType = "" // use the type that was declared for the bytes
	}
	made, same, err := s.Assets.Reference(c.Request.Context(), ref, spec)
	if err != nil {
		return err
	}
	return s.made(c, made.Asset, !same)
}

// libraryFromHash is the body of POST /assets/from-hash.
type libraryFromHash struct {
	Hash         string        `json:"hash"`
	Name         string        `json:"name"`
	Tags         request.Texts `json:"tags"`
	MIMEType     string        `json:"mime_type"`
	PreviewID    previewValue  `json:"preview_id"`
	UserMetadata jsonValue     `json:"user_metadata"`
}

// postFromHash: POST /assets/from-hash.
func (s *library) postFromHash(c *gin.Context) error {
	var req libraryFromHash
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	ref, known, err := libraryHash(req.Hash)
	if err != nil {
		return err
	}
	tags := trimmed(req.Tags)
	if len(tags) == 0 {
		return httperr.Invalidf("tags must name at least one tag")
	}
	if !known {
		return noSuchContent()
	}
	r := createRequest{name: req.Name, mimeType: req.MIMEType, preview: req.PreviewID.text, tags: tags, metadata: req.UserMetadata}
	return s.reference(c, ref, r)
}

// spec returns the asset to record. If the caller already has an asset with the requested id, spec answers the
// request with that asset and done is true.
func (s *library) spec(c *gin.Context, r createRequest) (spec asset.Spec, done bool, err error) {
	spec = asset.Spec{Account: edge.Caller(c).Account, RequestID: edge.RequestID(c), About: asset.About{Strict: true}}
	if r.id != "" {
		if done, err = s.reserveChosenID(c, r.id, &spec); err != nil || done {
			return spec, done, err
		}
	}
	if err := r.setPath(&spec); err != nil {
		return spec, false, err
	}
	if spec.ContentType, err = r.contentType(); err != nil {
		return spec, false, err
	}
	if len(r.metadata) > 0 {
		if spec.Metadata, err = asset.ParseMetadata(r.metadata); err != nil {
			return spec, false, err
		}
	}
	if spec.Preview, err = previewID(r.preview); err == nil && spec.Preview != "" {
		if _, err = s.View.ByPublicID(c.Request.Context(), spec.Account, spec.Preview); fault.Is(err, fault.NotFound) {
			err = fault.New(fault.Invalid, fault.CodeInvalidPreview, "preview_id is not the id of a file of this account")
		}
	}
	return spec, false, err
}

// reserveChosenID takes an id that the client chose, so that the client can repeat its request. Ids that this service derives
// from jobs cannot be chosen.
func (s *library) reserveChosenID(c *gin.Context, text string, spec *asset.Spec) (done bool, err error) {
	id, err := asset.ParsePublicID(strings.ToLower(text))
	if err != nil || uuid.MustParse(string(id)).Version() != 4 && uuid.MustParse(string(id)).Version() != 7 {
		return false, httperr.Invalidf("id must be a UUID of version 4 or 7")
	}
	spec.Chosen = id
	a, err := s.View.ByPublicID(c.Request.Context(), spec.Account, id)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.made(c, a, false)
}

// setPath reads the folder of a file from its tags and sets the path by which graphs find the file: inputs by their
// names, models below their category. Outputs and temporary files have no path, because only nodes name them.
func (r createRequest) setPath(spec *asset.Spec) error {
	named := r.name
	if named != "" {
		var err error
		if named, err = libraryName(named); err != nil {
			return err
		}
	}
	file := path.Base(strings.ReplaceAll(r.filename, `\`, "/"))
	if r.filename == "" || file == "/" || file == "." {
		file = path.Base(strings.ReplaceAll(named, `\`, "/"))
	}
	words, own := split(r.tags)
	category := ""
	if slices.Contains(words, asset.LabelModels) {
		if len(own) == 0 || strings.ContainsAny(own[0], `/\`) {
			return httperr.Invalidf("a model needs its category as the tag after %q", asset.LabelModels)
		}
		category, own = own[0], own[1:]
	}
	if len(words) > 1 {
		return httperr.Invalidf("a file belongs to one of input, output, temp and models")
	}
	if file == "." || slices.Contains(words, asset.LabelOutput) || slices.Contains(words, asset.LabelTemp) {
		own = append(own, words...)
		if category != "" {
			own = append(own, category)
		}
	} else if err := setPathAt(spec, category, file); err != nil {
		return err
	}
	if named != file || spec.Place == nil {
		spec.Name = named
	}
	if spec.Name == "" && spec.Place == nil && file != "." {
		spec.Name = file
	}
	var err error
	spec.Tags, err = cleanTags(own)
	return err
}

func setPathAt(spec *asset.Spec, category, file string) error {
	at := file
	if category != "" {
		at = asset.ModelFile(category, file)
	}
	place, err := files.NewPlace(node.FolderInput, at)
	if err != nil {
		return err
	}
	spec.FilePath, spec.Place = &at, &place
	return nil
}

// split separates the tags that name the folder of a file from the owner's tags. Each tag appears once, in its order.
func split(tags []string) (words, own []string) {
	for _, tag := range others(tags, nil) {
		if asset.IsPlaceLabel(tag) {
			words = append(words, tag)
		} else {
			own = append(own, tag)
		}
	}
	return words, own
}

// contentType returns the type that the client declares, or the type of the name's extension.
func (r createRequest) contentType() (string, error) {
	if r.mimeType != "" {
		if checkContentType(r.mimeType) != nil {
			return "", httperr.Invalidf("mime_type must be a media type of the form type/subtype")
		}
		return r.mimeType, nil
	}
	for _, name := range []string{r.filename, r.name} {
		if kind, ok := node.MediaType(name); ok {
			return kind, nil
		}
		if kind := mime.TypeByExtension(strings.ToLower(path.Ext(name))); kind != "" {
			return kind, nil
		}
	}
	return content.OctetStream, nil
}
