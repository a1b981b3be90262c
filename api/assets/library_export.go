package assets

import (
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Exports packs files of accounts into archives; export.Service implements it.
type Exports interface {
	// Create accepts an export, or returns an equal export that is under way.
	Create(ctx context.Context, account string, r export.Request, requestID string) (export.Export, error)
	// Get returns an export of the account. An unknown export is NotFound.
	Get(ctx context.Context, account string, id export.ID) (export.Export, error)
	// Named returns the export of the account whose archive has that name. An unknown name is NotFound.
	Named(ctx context.Context, account, name string) (export.Export, error)
}

// exportBody bounds the request of an export, in bytes: two thousand ids and as many names fit.
const exportBody = 1 << 20

// exportRoutes are the routes of exports.
func (s *library) exportRoutes() []edge.Route {
	if s.Exports == nil {
		return nil
	}
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
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusAccepted, taskBody{
		TaskID: string(e.ID), Status: string(e.State),
		Message: "The files are being packed; the task shows the progress.",
	})
	return nil
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
	link, _ := s.Links.Sign(string(a.ID), a.Hash.String(), e.Name, a.ContentType)
	c.Header("Cache-Control", "no-store")
	c.PureJSON(http.StatusOK, map[string]string{"url": s.Edge.BaseURL(c.Request) + "/api" + link})
	return nil
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
	body := taskDetail{
		ID: string(e.ID), IdempotencyKey: e.ID.WorkflowID(), TaskName: "task:export", Payload: e.Request, Status: string(e.State),
		CreateTime: edge.Timestamp(e.CreatedAt), UpdateTime: edge.Timestamp(e.UpdatedAt), StartedAt: edge.TimestampOrNil(e.StartedAt),
		CompletedAt: edge.TimestampOrNil(e.EndedAt),
	}
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
