package assets

import (
	"context"
	"errors"
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

// Bounds of what a client says about an asset.
const (
	minExpiresIn   = 60     // seconds
	maxExpiresIn   = 604800 // seconds
	maxTags        = 64
	maxTagLength   = 255
	maxContentType = 255
)

// assetOperation is the name space of idempotency keys of uploads.
const assetOperation = "assets"

// postAsset stores one file: POST /api/v2/assets.
func (s *v2) postAsset(c *gin.Context) error {
	key, err := request.IdempotencyKey(c.Request)
	if err != nil {
		return err
	}
	if err := (request.FormReader{Limit: s.opts.MaxUpload}).CheckLength(c.Request); err != nil {
		return err
	}
	made, err := s.withKey(c, key, func() (asset.Made, error) { return s.receive(c) })
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if made.Held {
		status = http.StatusOK
	}
	s.created(c, status, made)
	return nil
}

// withKey runs an upload under its key, which goes back after a definite failure and stays used
// otherwise: after success, after hash_mismatch and when the outcome is not known.
func (s *v2) withKey(c *gin.Context, key string, upload func() (asset.Made, error)) (asset.Made, error) {
	if key == "" {
		return upload()
	}
	account, holder := edge.Caller(c).Account, uuid.New()
	if err := s.Keys.Claim(c.Request.Context(), account, assetOperation, key, holder); err != nil {
		return asset.Made{}, err
	}
	made, err := upload()
	if leftNothing(err) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), releaseTime)
		defer cancel()
		if failed := s.Keys.Release(ctx, account, assetOperation, key, holder); failed != nil {
			s.Edge.Logger.Warn("idempotency key not released", "request_id", edge.RequestID(c), "error", failed)
		}
	}
	return made, err
}

// releaseTime bounds giving a key back, also when the client is gone: a database that failed is back by then, or
// gone for long.
const releaseTime = 10 * time.Second

// leftNothing reports a failure of which it is known that it left no asset. After hash_mismatch the key stays used all
// the same.
func leftNothing(err error) bool {
	return err != nil && !errors.Is(err, asset.ErrUncertain) && fault.CodeOf(err) != "hash_mismatch"
}

// assetFields are the parts of an upload beside the file.
var assetFields = map[string]request.Occurrence{
	"content_type": request.Once, "file_path": request.Once, "expected_hash": request.Once, "expires_in": request.Once, "tags": request.Repeated,
}

// receive streams the request into an asset. What comes before the file is checked before a byte
// of it is stored; a refused upload is read to its end, so that the client reads the answer.
func (s *v2) receive(c *gin.Context) (asset.Made, error) {
	ctx, account := c.Request.Context(), edge.Caller(c).Account
	var in *asset.Incoming
	var early error
	fr := request.FormReader{File: "file", Limit: s.opts.MaxUpload, Idle: s.opts.UploadIdle, Fields: assetFields}
	fr.Open = func(fields map[string][]string) (io.Writer, error) {
		var u uploadSpec
		early = u.read(fields)
		if early != nil {
			return io.Discard, nil //nolint:nilerr // told when the request is read
		}
		var err error
		in, err = s.Assets.Receive(ctx, account, u.expected)
		return in, err
	}
	f, err := fr.Read(c)
	if in != nil {
		defer in.Drop() //nolint:errcheck // the staging folder is cleared at the next start
	}
	if err == nil {
		err = early
	}
	if err != nil {
		return asset.Made{}, err
	}
	u := uploadSpec{spec: asset.Spec{Account: account, RequestID: edge.RequestID(c)}}
	if err := u.complete(f); err != nil {
		return asset.Made{}, err
	}
	if _, size := in.Sum(); size > 0 { // before the bytes are stored: what does not fit leaves nothing behind
		if err := s.Edge.CheckQuota(c, size); err != nil {
			return asset.Made{}, err
		}
	}
	// Every byte is here: the asset is made also when the client leaves now, since its key would otherwise count as used
	// without an asset.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTime)
	defer cancel()
	return s.Assets.Create(ctx, in, u.expected, u.spec)
}

// createTime bounds the recording of an asset whose bytes were received.
const createTime = time.Minute

// uploadSpec is what the fields of an upload say.
type uploadSpec struct {
	spec     asset.Spec
	expected *blob.Ref // nil where the client names none
}

// complete reads the fields of a whole request, of which some are required.
func (u *uploadSpec) complete(f *request.Form) error {
	if !f.HasFile {
		return fault.New(fault.Invalid, "invalid_body", "the part file is required")
	}
	for _, name := range []string{"content_type", "file_path"} {
		if _, ok := f.Get(name); !ok {
			return fault.New(fault.Invalid, "invalid_body", "the part %s is required", name)
		}
	}
	return u.read(f.Fields)
}

// read checks the fields that are there.
func (u *uploadSpec) read(fields map[string][]string) error {
	if v, ok := fields["content_type"]; ok {
		if err := checkContentType(v[0]); err != nil {
			return err
		}
		u.spec.ContentType = v[0]
	}
	if v, ok := fields["expected_hash"]; ok {
		ref, err := blob.ParseRef(v[0])
		if err != nil {
			return err
		}
		u.expected = &ref
	}
	var path *string
	if v, ok := fields["file_path"]; ok {
		path = &v[0]
	}
	var seconds *int64
	if v, ok := fields["expires_in"]; ok {
		n, err := strconv.ParseInt(v[0], 10, 64)
		if err != nil {
			return httperr.Invalidf("expires_in must be a whole number of seconds")
		}
		seconds = &n
	}
	return fillSpec(&u.spec, path, fields["tags"], seconds)
}

func checkContentType(v string) error {
	kind, _, err := mime.ParseMediaType(v)
	if err != nil || len(v) > maxContentType || strings.Count(kind, "/") != 1 || strings.ContainsFunc(v, isControl) {
		return httperr.Invalidf("content_type must be a media type of the form type/subtype")
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// fillSpec checks path, tags and retention, which uploads and references share.
func fillSpec(spec *asset.Spec, path *string, tags []string, expiresIn *int64) error {
	if path != nil {
		place, err := files.NewPlace(node.FolderInput, *path)
		if err != nil {
			return err
		}
		spec.FilePath, spec.Place = path, &place
	}
	clean, err := cleanTags(tags)
	if err != nil {
		return err
	}
	spec.Tags = clean
	if expiresIn != nil {
		if *expiresIn < minExpiresIn || *expiresIn > maxExpiresIn {
			return httperr.Invalidf("expires_in must lie between %d and %d seconds", minExpiresIn, maxExpiresIn)
		}
		spec.ExpiresIn = time.Duration(*expiresIn) * time.Second
	}
	return nil
}

// cleanTags checks tags and returns them sorted, each once.
func cleanTags(tags []string) ([]string, error) {
	if len(tags) > maxTags {
		return nil, httperr.Invalidf("at most %d tags are allowed", maxTags)
	}
	for _, tag := range tags {
		if tag == "" || len(tag) > maxTagLength || !utf8.ValidString(tag) || strings.ContainsFunc(tag, isControl) {
			return nil, httperr.Invalidf("a tag has 1 to %d bytes and no control characters", maxTagLength)
		}
	}
	clean := slices.Clone(tags)
	slices.Sort(clean)
	return slices.Compact(clean), nil
}
