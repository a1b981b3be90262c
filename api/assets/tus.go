package assets

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/tus/tusd/v2/pkg/memorylocker"
	exp "golang.org/x/exp/slog"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// resumable serves uploads that a client can resume: the protocol tus 1.0 with creation and termination. An upload becomes an asset, as
// if a library's form had sent it, when its last bytes have arrived; the id in its address is that of the asset.
type resumable struct {
	Deps
	tus *handler.UnroutedHandler
}

// uploadsPath is the path of resumable uploads.
const uploadsPath = "/uploads"

// maxUploadFields bounds what a client says about a file, in bytes.
const maxUploadFields = 16 << 10

func newResumable(deps Deps, opts Options) *resumable {
	s := &resumable{Deps: deps}
	composer := handler.NewStoreComposer()
	composer.UseCore(s)
	composer.UseTerminater(s)
	composer.UseLocker(memorylocker.New()) // between processes, Append decides
	tus, err := handler.NewUnroutedHandler(handler.Config{
		StoreComposer: composer, BasePath: uploadsPath, MaxSize: opts.MaxResumable, NetworkTimeout: opts.UploadIdle,
		Cors: &handler.CorsConfig{Disable: true}, Logger: exp.New(exp.NewTextHandler(io.Discard, nil)), DisableDownload: true,
	})
	if err != nil {
		panic(err) // the configuration is constant
	}
	s.tus = tus
	return s
}

func (s *resumable) routes() []edge.Route {
	one := uploadsPath + "/:id"
	return []edge.Route{
		{Method: http.MethodPost, Path: uploadsPath, Access: edge.Store, Limit: -1, Handle: s.serve(s.tus.PostFile)},
		{Method: http.MethodOptions, Path: uploadsPath, Access: edge.Public, Handle: s.serve(nil)},
		{Method: http.MethodHead, Path: one, Handle: s.serve(s.tus.HeadFile)},
		{Method: http.MethodPatch, Path: one, Access: edge.Store, Limit: -1, Handle: s.serve(s.tus.PatchFile)},
		{Method: http.MethodDelete, Path: one, Access: edge.Write, Handle: s.serve(s.tus.DelFile)},
	}
}

// callKey is the key of the gin context of a request in its context.
type callKey struct{}

// serve runs a handler of the protocol.
func (s *resumable) serve(handle http.HandlerFunc) func(*gin.Context) error {
	protocol := http.StripPrefix(uploadsPath, s.tus.Middleware(handle))
	return func(c *gin.Context) error {
		w := located{c.Writer, s.Edge.BaseURL(c.Request)}
		protocol.ServeHTTP(w, c.Request.WithContext(context.WithValue(c.Request.Context(), callKey{}, c)))
		return nil
	}
}

// located is a writer of answers with the public address of a new upload.
type located struct {
	gin.ResponseWriter

	base string
}

// WriteHeader implements http.ResponseWriter.
func (w located) WriteHeader(status int) {
	if at := w.Header().Get("Location"); at != "" {
		w.Header().Set("Location", w.base+uploadsPath+"/"+path.Base(at))
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w located) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// refused returns err as the protocol's handlers answer it.
func refused(err error) error {
	if err == nil || errors.As(err, new(handler.Error)) {
		return err
	}
	err = httperr.Classify(err)
	status, code := httperr.Verdict(httperr.Cloud, err)
	header := http.Header{}
	httperr.SetHeaders(header, status, err)
	answer := handler.HTTPResponse{StatusCode: status, Header: handler.HTTPHeader{"Content-Type": "application/json"}}
	for name := range header {
		answer.Header[name] = header.Get(name)
	}
	if body, bad := json.Marshal(httperr.Envelope(httperr.Cloud, status, code, err)); bad == nil {
		answer.Body = string(body)
	}
	return handler.Error{ErrorCode: string(code), Message: err.Error(), HTTPResponse: answer}
}

// file returns what an upload's metadata says about the file. The names of fields are those of common clients and of the library.
func file(u asset.Upload, requestID string) (spec asset.Spec, expected *blob.Ref, err error) {
	said := func(names ...string) string {
		for _, name := range names {
			if v := u.Fields[name]; v != "" && v != "null" {
				return v
			}
		}
		return ""
	}
	spec = asset.Spec{Account: u.Account, RequestID: requestID, Chosen: u.ID}
	r := createRequest{filename: said("filename", "name"), mimeType: said("filetype", "type", "mime_type")}
	if tags := said("tags"); tags != "" {
		r.tags = trimmed(strings.Split(tags, ","))
	}
	if err = r.setPath(&spec); err != nil {
		return spec, nil, err
	}
	if spec.ContentType, err = r.contentType(); err != nil {
		return spec, nil, err
	}
	if text := said("user_metadata"); text != "" {
		if spec.Metadata, err = asset.ParseMetadata([]byte(text)); err != nil {
			return spec, nil, err
		}
	}
	if text := said("hash"); text != "" {
		expected, err = fieldHash(text)
	}
	return spec, expected, err
}

// NewUpload implements handler.DataStore.
func (s *resumable) NewUpload(ctx context.Context, info handler.FileInfo) (handler.Upload, error) {
	c, _ := ctx.Value(callKey{}).(*gin.Context)
	u := asset.Upload{
		ID: asset.PublicID(uuid.NewString()), Account: edge.Caller(c).Account, Size: info.Size, Fields: info.MetaData,
	}
	length := 0
	for name, value := range u.Fields {
		if length += len(name) + len(value); !utf8.ValidString(value) || strings.ContainsRune(name+value, 0) {
			return nil, refused(httperr.Invalidf("the values of Upload-Metadata must be texts in UTF-8, without NUL characters"))
		}
	}
	if length > maxUploadFields {
		return nil, refused(httperr.Invalidf("Upload-Metadata may have at most %d bytes", maxUploadFields))
	}
	if _, _, err := file(u, ""); err != nil { // refused before any bytes are sent
		return nil, refused(err)
	}
	pending, err := s.Resumable.Pending(ctx, u.Account)
	if err == nil {
		err = s.Edge.CheckQuota(c, pending+u.Size)
	}
	if err == nil {
		err = s.Resumable.Begin(ctx, u)
	}
	return &arriving{s, u, c}, refused(err)
}

// GetUpload implements handler.DataStore. Bytes that have all arrived before a crash become an asset now, if the caller may write.
func (s *resumable) GetUpload(ctx context.Context, id string) (handler.Upload, error) {
	c, _ := ctx.Value(callKey{}).(*gin.Context)
	public, err := asset.ParsePublicID(id)
	if err != nil {
		return nil, handler.ErrNotFound
	}
	caller := edge.Caller(c)
	found, err := s.Resumable.Upload(ctx, caller.Account, public)
	if err != nil {
		return nil, refused(err)
	}
	u := &arriving{s, found, c}
	if found.Received == found.Size && !found.Made && c.Request.Method != http.MethodDelete && caller.Allows(account.ScopeWrite) {
		err = u.FinishUpload(ctx)
	}
	return u, err
}

// AsTerminatableUpload implements handler.TerminaterDataStore.
func (s *resumable) AsTerminatableUpload(u handler.Upload) handler.TerminatableUpload {
	return u.(*arriving) //nolint:forcetypeassert // only this type's uploads
}

// arriving is an upload during a request.
type arriving struct {
	s      *resumable
	upload asset.Upload
	c      *gin.Context
}

// GetInfo implements handler.Upload.
func (a *arriving) GetInfo(context.Context) (handler.FileInfo, error) {
	return handler.FileInfo{ID: string(a.upload.ID), Size: a.upload.Size, Offset: a.upload.Received, MetaData: a.upload.Fields}, nil
}

// WriteChunk implements handler.Upload.
func (a *arriving) WriteChunk(ctx context.Context, offset int64, src io.Reader) (int64, error) {
	n, err := a.s.Resumable.Write(ctx, a.upload, offset, src)
	return n, refused(err)
}

// FinishUpload implements handler.Upload.
func (a *arriving) FinishUpload(ctx context.Context) error {
	u, err := a.s.Resumable.Upload(ctx, a.upload.Account, a.upload.ID) // with all pieces
	if err != nil || u.Made {
		return refused(err)
	}
	spec, expected, err := file(u, edge.RequestID(a.c))
	if err == nil { // the answer has no deadline, because a large file takes minutes
		err = http.NewResponseController(a.c.Writer).SetWriteDeadline(time.Time{})
	}
	if errors.Is(err, http.ErrNotSupported) { // there is no deadline then
		err = nil
	}
	if err == nil {
		err = a.s.Resumable.Finish(ctx, u, expected, spec)
	}
	if err != nil && fault.CodeOf(err) != fault.CodeHashMismatch {
		a.s.Edge.Logger.Warn("upload not made an asset; it will be retried when the client asks for its offset", "error", err,
			"upload", u.ID, "request_id", edge.RequestID(a.c))
	}
	return refused(err)
}

// Terminate implements handler.TerminatableUpload.
func (a *arriving) Terminate(ctx context.Context) error {
	return refused(a.s.Resumable.Drop(ctx, a.upload))
}

// GetReader implements handler.Upload. The content of an asset is read by its own address.
func (a *arriving) GetReader(context.Context) (io.ReadCloser, error) {
	return nil, handler.ErrNotImplemented
}
