package assets

import (
	"context"
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound"
)

// Downloads makes assets of URLs in the background; assetstore.Downloads implements it.
type Downloads interface {
	// Create accepts a download, or returns an equal download that is under way.
	Create(ctx context.Context, account string, r download.Request, requestID string) (download.Download, error)
	// Get returns a download of the account. An unknown download is NotFound.
	Get(ctx context.Context, account string, id task.ID) (download.Download, error)
}

// taskRoutes are the routes of downloads, imports and tasks.
func (s *library) taskRoutes() []edge.Route {
	return edge.Cloud(
		edge.Route{Method: http.MethodPost, Path: "/assets/import", Handle: s.postImport},
		edge.Route{Method: http.MethodPost, Path: "/assets/download", Access: edge.Store, Handle: s.postDownload},
		edge.Route{Method: http.MethodGet, Path: "/tasks/:id", Handle: s.getTask},
	)
}

// taskBody is the answer to a request that starts a task.
type taskBody struct {
	TaskID  string `json:"task_id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// taskDetail is a task in the form of the hosted service.
type taskDetail struct {
	ID             string  `json:"id"`
	IdempotencyKey string  `json:"idempotency_key"` // the id of the task's workflow; equal requests share it
	TaskName       string  `json:"task_name"`
	Payload        any     `json:"payload"`
	Status         string  `json:"status"`
	Result         any     `json:"result,omitempty"`   // of a task that has ended
	Progress       any     `json:"progress,omitempty"` // of a running download; not in the hosted service's API
	ErrorMessage   string  `json:"error_message,omitempty"`
	CreateTime     string  `json:"create_time"`
	UpdateTime     string  `json:"update_time"`
	StartedAt      *string `json:"started_at,omitempty"`
	CompletedAt    *string `json:"completed_at,omitempty"`
}

// getTask shows the progress of an export or a download: GET /tasks/{id}.
func (s *library) getTask(c *gin.Context) error {
	id, err := task.ParseID(strings.ToLower(c.Param("id")))
	if err != nil {
		return err
	}
	ctx, account := c.Request.Context(), edge.Caller(c).Account
	e, err := s.Exports.Get(ctx, account, id)
	if !fault.Is(err, fault.NotFound) {
		return edge.OK(c, exportTask(e), err)
	}
	d, err := s.Downloads.Get(ctx, account, id)
	return edge.OK(c, downloadTask(d), err)
}

// downloadRequest is the body of POST /assets/download.
type downloadRequest struct {
	SourceURL    string        `json:"source_url"`
	Name         string        `json:"name"`
	MIMEType     string        `json:"mime_type"`
	Tags         request.Texts `json:"tags"`
	UserMetadata jsonValue     `json:"user_metadata"`
	PreviewID    previewValue  `json:"preview_id"`
}

// postDownload accepts a download: POST /assets/download. A download that is certain to fail is refused at once.
func (s *library) postDownload(c *gin.Context) error {
	var req downloadRequest
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	u, err := s.remote(req.SourceURL)
	if err != nil {
		return err
	}
	about, err := s.describeSource(c, req.SourceURL)
	if err != nil {
		return err
	}
	r := createRequest{
		name: req.Name, mimeType: req.MIMEType, preview: req.PreviewID.text, tags: trimmed(req.Tags),
		metadata: req.UserMetadata,
	}
	if r.name == "" {
		r.name = nameOfSource(u, about)
	}
	spec, _, err := s.spec(c, r)
	if err != nil {
		return err
	}
	accepted := accept(req.SourceURL, r, spec)
	d, err := s.Downloads.Create(c.Request.Context(), spec.Account, accepted, spec.RequestID)
	return edge.Answer(c, http.StatusAccepted, taskBody{
		TaskID: string(d.ID), Status: string(d.State),
		Message: "The file is being fetched; the task shows the progress.",
	}, err)
}

// describeSource describes the content at the source. The result is empty for a source that does not answer now but may answer
// later.
func (s *library) describeSource(c *gin.Context, address string) (outbound.Resource, error) {
	ctx := c.Request.Context()
	release, err := s.remotes.Begin(ctx, edge.Caller(c).Account)
	if err != nil {
		return outbound.Resource{}, err
	}
	defer release()
	about, err := s.Internet.Stat(ctx, address, nil)
	if err != nil {
		err = s.remoteFault(ctx, err)
		if fault.SourceMayRecover(err) {
			err = nil
		}
		return outbound.Resource{}, err
	}
	if about.Size > s.opts.MaxUpload {
		return about, request.FileTooLarge(s.opts.MaxUpload)
	}
	if about.Size > 0 {
		err = s.Edge.CheckQuota(c, about.Size)
	}
	return about, err
}

// nameOfSource returns the name of a file to which its client gives none.
func nameOfSource(u *url.URL, about outbound.Resource) string {
	if about.Filename != "" {
		return about.Filename
	}
	if name := path.Base(u.Path); name != "/" && name != "." {
		return name
	}
	return u.Hostname()
}

// accept returns the request of a download whose asset is like spec.
func accept(source string, r createRequest, spec asset.Spec) download.Request {
	guess := spec.ContentType
	if r.mimeType != "" {
		guess = ""
	}
	return download.Request{
		Source: source, Asset: asset.PublicID(uuid.NewString()), Name: path.Base(r.name), Title: spec.Name, Type: r.mimeType, Guess: guess,
		FilePath: spec.FilePath, Place: spec.Place, Tags: spec.Tags, Metadata: []byte(spec.Metadata), Preview: spec.Preview,
	}
}

// downloadPayload is the request of a download in its task.
type downloadPayload struct {
	SourceURL string   `json:"source_url"`
	Name      string   `json:"name"`
	Tags      []string `json:"tags"`
}

// downloadResult is the result of a download in its task.
type downloadResult struct {
	Success bool           `json:"success"`
	Asset   asset.PublicID `json:"asset_id,omitempty"`
	Name    string         `json:"asset_name,omitempty"`
	Size    int64          `json:"bytes_downloaded"`
	Code    string         `json:"error_code,omitempty"`
	Error   string         `json:"error,omitempty"`
}

// downloadProgress is how far a download is. Its names are those of the message asset_download.
type downloadProgress struct {
	Total    int64   `json:"bytes_total"` // 0 = the source does not send it
	Fetched  int64   `json:"bytes_downloaded"`
	Progress float64 `json:"progress"`        // 0..1
	Error    string  `json:"error,omitempty"` // of the last attempt, which another one follows
}

// newTask renders a task without its result.
func newTask[Request, Result, Failure any](kind task.Kind, t task.Task[Request, Result, Failure], payload any) taskDetail {
	return taskDetail{
		ID: string(t.ID), IdempotencyKey: kind.WorkflowID(t.ID), TaskName: "task:" + string(kind), Payload: payload, Status: string(t.State),
		CreateTime: edge.Timestamp(t.CreatedAt), UpdateTime: edge.Timestamp(t.UpdatedAt), StartedAt: edge.TimestampOrNil(t.StartedAt),
		CompletedAt: edge.TimestampOrNil(t.EndedAt),
	}
}

// downloadTask renders a download as a task.
func downloadTask(d download.Download) taskDetail {
	r := d.Requested.Request
	body := newTask(task.Download, d, downloadPayload{SourceURL: r.Source, Name: r.Name, Tags: append([]string{}, r.Tags...)})
	switch {
	case d.Done != nil:
		body.Result = downloadResult{Success: true, Asset: d.Done.Asset, Name: d.Done.Name, Size: d.Done.Size}
	case d.Failure != nil:
		body.ErrorMessage, body.Result = d.Failure.Message, downloadResult{Name: d.Failure.Name, Code: d.Failure.Code, Error: d.Failure.Message}
	case d.State == task.Running:
		p := d.Progress
		body.Progress = downloadProgress{Total: p.Bytes, Fetched: p.Done, Progress: p.Fraction(), Error: p.Problem}
	}
	return body
}

// importRequest is the body of POST /assets/import.
type importRequest struct {
	PublishedAssetIDs []string `json:"published_asset_ids"`
	ShareID           string   `json:"share_id"` // of the hosted service; this service shares no files by such ids
}

// importedAsset is a file of an import.
type importedAsset struct {
	libraryAsset
	InLibrary bool `json:"in_library"` // always true: an import adds the file to the library
	Public    bool `json:"public"`     // always false: accounts do not publish files
}

// maxImported bounds the files of one import.
const maxImported = 100

// postImport answers with the files of the caller's library that have these ids: POST /assets/import. Accounts do not
// publish files, so every file that can be imported is in the library already, and a file of another account is not
// found.
func (s *library) postImport(c *gin.Context) error {
	var req importRequest
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	if len(req.PublishedAssetIDs) == 0 || len(req.PublishedAssetIDs) > maxImported {
		return httperr.Invalidf("published_asset_ids must name 1 to %d files", maxImported)
	}
	page := make([]asset.Asset, 0, len(req.PublishedAssetIDs))
	for _, text := range req.PublishedAssetIDs {
		id, err := asset.ParsePublicID(strings.ToLower(text))
		if err != nil {
			return fault.Wrap(err, fault.NotFound, fault.CodeNotFound, "no published file has this id")
		}
		a, err := s.View.ByPublicID(c.Request.Context(), edge.Caller(c).Account, id)
		if err != nil {
			return err
		}
		page = append(page, a)
	}
	bodies, err := s.bodies(c, page)
	if err != nil {
		return err
	}
	imported := make([]importedAsset, len(bodies))
	for i, b := range bodies {
		imported[i] = importedAsset{libraryAsset: b, InLibrary: true}
	}
	return edge.OK(c, map[string]any{"assets": imported}, nil)
}

// maxPreviewImage bounds the picture that the description of a URL embeds, in bytes.
const maxPreviewImage = 1 << 20

// previewImage returns the content of a small picture as a data URL, or "" for other content. A picture that cannot
// be fetched is left out of the description.
func (s *library) previewImage(ctx context.Context, address string, about outbound.Resource) string {
	kind, _, err := mime.ParseMediaType(about.ContentType)
	if err != nil || !strings.HasPrefix(kind, "image/") || about.Size <= 0 || about.Size > maxPreviewImage {
		return ""
	}
	source, err := s.Internet.Fetch(ctx, address, outbound.Bounds{Bytes: maxPreviewImage, Total: fetchStall, Stall: fetchStall}, nil)
	if err != nil {
		return ""
	}
	defer source.Close()
	data, err := io.ReadAll(source) // at most maxPreviewImage
	if err != nil {
		return ""
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// Exports packs files of accounts into archives; export.Service implements it.
type Exports interface {
	// Create accepts an export, or returns an equal export that is under way.
	Create(ctx context.Context, account string, r export.Request, requestID string) (export.Export, error)
	// Get returns an export of the account. An unknown export is NotFound.
	Get(ctx context.Context, account string, id task.ID) (export.Export, error)
	// Named returns the export of the account whose archive has that name. An unknown name is NotFound.
	Named(ctx context.Context, account, name string) (export.Export, error)
}

// exportBody bounds the request of an export, in bytes: two thousand ids and as many names fit.
const exportBody = 1 << 20

// exportRoutes are the routes of exports.
func (s *library) exportRoutes() []edge.Route {
	return edge.Cloud(
		edge.Route{Method: http.MethodPost, Path: "/assets/export", Access: edge.Store, Limit: exportBody, Gate: s.lists, Handle: s.postExport},
		edge.Route{Method: http.MethodGet, Path: "/assets/exports/:name", Handle: s.getExport},
	)
}

// postExport accepts an export: POST /assets/export.
func (s *library) postExport(c *gin.Context) error {
	var req export.Request
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	e, err := s.Exports.Create(c.Request.Context(), edge.Caller(c).Account, req, edge.RequestID(c))
	return edge.Answer(c, http.StatusAccepted, taskBody{
		TaskID: string(e.ID), Status: string(e.State),
		Message: "The files are being packed; the task shows the progress.",
	}, err)
}

// getExport redirects to an archive: GET /assets/exports/{name}. The link needs no credential and expires soon.
func (s *library) getExport(c *gin.Context) error {
	ctx, account := c.Request.Context(), edge.Caller(c).Account
	if strings.ContainsRune(c.Param("name"), 0) {
		return fault.New(fault.NotFound, fault.CodeNotFound, "there is no such export")
	}
	e, err := s.Exports.Named(ctx, account, c.Param("name"))
	if err != nil {
		return err
	}
	if e.Done == nil {
		return fault.New(fault.NotFound, fault.CodeNotFound, "this export is not ready, or it failed")
	}
	a, err := s.View.Asset(ctx, account, e.Done.Asset)
	if err != nil {
		return err
	}
	link, _ := s.Links.Sign(string(a.ID), a.Hash.String(), e.Requested.Name, a.ContentType)
	c.Header("Cache-Control", "no-store")
	return edge.OK(c, map[string]string{"url": s.Edge.BaseURL(c.Request) + "/api" + link}, nil)
}

// exportResult is the result of an export. Missing files are listed up to a bound; the rest are counted.
type exportResult struct {
	Success          bool             `json:"success"`
	ExportName       string           `json:"export_name,omitempty"`
	ExportSize       int64            `json:"export_size,omitempty"`
	UncompressedSize int64            `json:"uncompressed_size,omitempty"`
	AssetsTotal      int              `json:"assets_total"`
	AssetsAttempted  int              `json:"assets_attempted"`
	AssetsSucceeded  int              `json:"assets_succeeded"`
	AssetsFailed     int              `json:"assets_failed"`
	FailedAssets     []export.Missing `json:"failed_assets,omitempty"`
	ExpiresAt        *string          `json:"expires_at,omitempty"` // when the archive expires; not in the hosted service's API
	Error            string           `json:"error,omitempty"`
}

// exportTask renders an export as a task.
func exportTask(e export.Export) taskDetail {
	body := newTask(task.Export, e, e.Requested.Request)
	switch {
	case e.Done != nil:
		body.Result = completed(*e.Done)
	case e.Failure != nil:
		body.ErrorMessage, body.Result = e.Failure.Message, failed(*e.Failure)
	}
	return body
}

func completed(d export.CompletedV1) *exportResult {
	return &exportResult{
		Success: true, ExportName: d.Name, ExportSize: d.Size, UncompressedSize: d.Bytes, AssetsTotal: d.Files, AssetsAttempted: d.Files,
		AssetsSucceeded: d.Packed, AssetsFailed: d.Files - d.Packed, FailedAssets: d.Missing, ExpiresAt: edge.TimestampOrNil(d.ExpiresAt),
	}
}

func failed(f export.FailedV1) *exportResult {
	return &exportResult{AssetsTotal: f.Files, AssetsAttempted: f.Files, AssetsFailed: f.Files, FailedAssets: f.Missing, Error: f.Message}
}
