package assets

import (
	"cmp"
	"context"
	"encoding/hex"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Bounds of the fields of an upload.
const (
	minExpiresIn   = 60     // seconds
	maxExpiresIn   = 604800 // seconds
	maxTags        = 64
	maxTagLength   = 255
	maxContentType = 255
)

// postAsset stores one file: POST /api/v2/assets.
func (s *v2) postAsset(c *gin.Context) error {
	key, err := request.IdempotencyKey(c.Request)
	if err != nil {
		return err
	}
	if err := (request.FormReader{Limit: s.opts.MaxUpload}).CheckLength(c.Request); err != nil {
		return err
	}
	ctx, account := c.Request.Context(), edge.Caller(c).Account
	if key != "" {
		if err := s.Keys.CheckAnswered(ctx, account, asset.KeyOperation, key); err != nil {
			return err
		}
	}
	made, err := s.receive(c, key)
	if key != "" && fault.CodeOf(err) == fault.CodeHashMismatch { // the key stays used nevertheless
		err = cmp.Or(s.Keys.Use(context.WithoutCancel(ctx), account, asset.KeyOperation, key), err)
	}
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if made.HadBytes {
		status = http.StatusOK
	}
	delivered, err := edge.Deliver(c, status, s.created(c, made))
	if delivered && key != "" {
		s.markAnswered(c, key, made.Asset.ID)
	}
	return err
}

// markTimeout bounds the time to record that a key was answered.
const markTimeout = 5 * time.Second

func (s *v2) markAnswered(c *gin.Context, key string, id asset.ID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), markTimeout)
	defer cancel()
	made, err := uuid.Parse(string(id))
	if err == nil {
		err = s.Keys.Answered(ctx, edge.Caller(c).Account, asset.KeyOperation, key, made)
	}
	if err != nil {
		s.Edge.Logger.Warn("idempotency key not marked as answered; a repeated upload gets the same asset once more", "request_id",
			edge.RequestID(c), "asset_id", id, "error", err)
	}
}

// unanswered returns the asset that an unanswered upload with the same key, bytes and path made.
func (s *v2) unanswered(ctx context.Context, hash blob.Ref, spec asset.Spec) (asset.Stored, bool) {
	id, ok, err := s.Keys.Unanswered(ctx, spec.Account, asset.KeyOperation, spec.Key)
	if err != nil || !ok {
		return asset.Stored{}, false
	}
	a, err := s.View.Asset(ctx, spec.Account, asset.ID(id.String()))
	same := err == nil && a.Hash == hash && a.FilePath != nil && *a.FilePath == *spec.FilePath
	return asset.Stored{Asset: a}, same
}

// assetFields are the fields of an upload form besides the file.
var assetFields = map[string]request.Occurrence{
	"content_type": request.Once, "file_path": request.Once, "expected_hash": request.Once, "expires_in": request.Once,
	"tags": request.Repeated,
}

// receive streams the request into an asset. Every field is checked when it arrives; a field that is refused before
// the file begins prevents the file from being stored. A refused upload is read to its end, so that the client reads
// the answer.
func (s *v2) receive(c *gin.Context, key string) (asset.Stored, error) {
	ctx, account := c.Request.Context(), edge.Caller(c).Account
	u := uploadSpec{spec: asset.Spec{Account: account, RequestID: edge.RequestID(c), Key: key}}
	var in *asset.Incoming
	fr := request.FormReader{File: "file", Limit: s.opts.MaxUpload, Idle: s.opts.UploadIdle, Fields: assetFields, Take: u.readField}
	fr.Open = func(map[string][]string) (io.Writer, error) {
		if u.refused != nil {
			return io.Discard, nil //nolint:nilerr // the refusal is answered once the body has been read
		}
		var err error
		in, err = s.Assets.Receive(ctx, account, u.expected)
		return in, err
	}
	f, err := fr.Read(c)
	if in != nil {
		defer in.Drop() //nolint:errcheck // the staging folder is cleared at the next start
	}
	if err != nil {
		return asset.Stored{}, err
	}
	if err := u.finish(f); err != nil {
		return asset.Stored{}, err
	}
	// All bytes have arrived. The asset is made even if the client leaves now: it may send them again with its key.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTime)
	defer cancel()
	hash, _ := in.Sum()
	made, err := s.Assets.Create(ctx, in, u.expected, u.spec)
	if fault.CodeOf(err) == fault.CodeIdempotencyKeyReuse {
		if first, ok := s.unanswered(ctx, hash, u.spec); ok {
			return first, nil
		}
	}
	return made, err
}

// createTime bounds the recording of an asset whose bytes were received.
const createTime = time.Minute

// uploadSpec collects the fields of an upload.
type uploadSpec struct {
	spec     asset.Spec
	expected *blob.Ref // nil if the client sent none
	refused  error     // why the first bad field was refused
}

// readField parses a field.
func (u *uploadSpec) readField(name, value string) {
	if u.refused == nil {
		u.refused = u.read(name, value)
	}
}

func (u *uploadSpec) read(name, value string) error {
	switch name {
	case "content_type":
		u.spec.ContentType = value
		return checkContentType(value)
	case "expected_hash":
		ref, err := parseHash(value)
		u.expected = &ref
		return err
	case "file_path":
		return setPath(&u.spec, value)
	case "expires_in":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return httperr.Invalidf("expires_in must be a whole number of seconds")
		}
		return setExpiry(&u.spec, n)
	case "tags":
		u.spec.Tags = append(u.spec.Tags, value)
		return checkTag(value)
	}
	return nil
}

// finish checks that all required parts arrived.
func (u *uploadSpec) finish(f *request.Form) (err error) {
	if u.refused != nil {
		return u.refused
	}
	if !f.HasFile {
		return fault.New(fault.Invalid, fault.CodeInvalidBody, "the part file is required")
	}
	for _, name := range []string{"content_type", "file_path"} {
		if _, ok := f.Get(name); !ok {
			return fault.New(fault.Invalid, fault.CodeInvalidBody, "the part %s is required", name)
		}
	}
	u.spec.Tags, err = cleanTags(u.spec.Tags)
	return err
}

// parseHash parses the hash that a client expects of its bytes. A hash of another length becomes the zero Ref, which
// no bytes have.
func parseHash(text string) (blob.Ref, error) {
	digits, ok := strings.CutPrefix(text, "blake3:")
	if ok && digits != "" && len(digits) != hex.EncodedLen(len(blob.Ref{})) &&
		strings.Trim(strings.ToLower(digits), "0123456789abcdef") == "" {
		return blob.Ref{}, nil
	}
	return blob.ParseRef(text)
}

func checkContentType(v string) error {
	kind, _, err := mime.ParseMediaType(v)
	if err != nil || len(v) > maxContentType || strings.Count(kind, "/") != 1 || strings.ContainsFunc(v, isControl) {
		return httperr.Invalidf("content_type must be a media type of the form type/subtype")
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// fillSpec checks and sets the path, the tags and the retention of a reference.
func fillSpec(spec *asset.Spec, path *string, tags []string, expiresIn *int64) (err error) {
	if path != nil {
		err = setPath(spec, *path)
	}
	if err == nil {
		spec.Tags, err = cleanTags(tags)
	}
	if err == nil && expiresIn != nil {
		err = setExpiry(spec, *expiresIn)
	}
	return err
}

func setPath(spec *asset.Spec, path string) error {
	place, err := files.NewPlace(node.FolderInput, path)
	if err != nil {
		return err
	}
	spec.FilePath, spec.Place = &path, &place
	return nil
}

func setExpiry(spec *asset.Spec, seconds int64) error {
	if seconds < minExpiresIn || seconds > maxExpiresIn {
		return httperr.Invalidf("expires_in must be between %d and %d seconds", minExpiresIn, maxExpiresIn)
	}
	spec.ExpiresIn = time.Duration(seconds) * time.Second
	return nil
}

// cleanTags checks tags and returns them sorted, without duplicates.
func cleanTags(tags []string) ([]string, error) {
	if len(tags) > maxTags {
		return nil, httperr.Invalidf("at most %d tags are allowed", maxTags)
	}
	for _, tag := range tags {
		if err := checkTag(tag); err != nil {
			return nil, err
		}
	}
	clean := slices.Clone(tags)
	slices.Sort(clean)
	return slices.Compact(clean), nil
}

func checkTag(tag string) error {
	if tag == "" || len(tag) > maxTagLength || !utf8.ValidString(tag) || strings.ContainsFunc(tag, isControl) {
		return httperr.Invalidf("a tag must have 1 to %d bytes and no control characters", maxTagLength)
	}
	return nil
}
