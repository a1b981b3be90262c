// Package cloud serves the jobs of the cloud contract, as clients of the hosted service and of a self-hosted runtime know
// them: submissions, the queue, the history and what a job is now. It promises the shapes of that contract, also where
// the v2 surface says the same thing otherwise. Files are left to package media, what an editor keeps to package
// editor, and messages to package live.
package cloud

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/projections/hidden"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Lists reads jobs by offset.
type Lists interface {
	// ListAt returns the jobs that o selects, with the number of all.
	ListAt(ctx context.Context, account string, o jobs.Order) ([]job.Job, int64, error)
}

// History is what accounts have taken out of the lists of finished jobs.
type History interface {
	// Hide takes finished jobs out; ids that name none are ignored.
	Hide(ctx context.Context, account string, ids []string, requestID string) error
	// Clear takes all finished jobs out.
	Clear(ctx context.Context, account, requestID string) error
	// ListAt leaves out hidden jobs.
	Lists
	// Hiding returns which jobs are hidden; nil if none ever was.
	Hiding(ctx context.Context, account string) (*hidden.Hiding, error)
	// Hides reports whether it hides a finished job.
	Hides(ctx context.Context, account string, h *hidden.Hiding, id job.ID) (bool, error)
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge    *edge.Edge
	Jobs    jobio.Commands
	Reader  jobio.Reader
	Queue   jobio.Queue
	Sources jobio.Sources
	History History // nil = nothing is ever hidden
	Waits   jobio.Waits
	Devices Devices // nil = there are no ComfyUI servers
}

// Devices returns the devices of all ComfyUI servers that answer.
type Devices func() []server.Device

// Options are the tunables of the surface.
type Options struct {
	MaxPrompt    int64  // bytes of a submission
	MaxUpload    int64  // bytes of an uploaded file, shown in features
	Assets       bool   // the deployment has assets, shown in features
	RuntimeNames bool   // exception types in the names of the self-hosted runtime
	RawStatus    bool   // GET /job/{id}/status says success and error as newer clients expect
	Version      string // shown in system_stats
}

// Surface serves the routes of this package.
type Surface struct {
	Deps
	opts   Options
	recent *sourceCache
}

// New returns the surface.
func New(deps Deps, opts Options) *Surface {
	return &Surface{Deps: deps, opts: opts, recent: newSourceCache(sourceCacheBytes)}
}

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route {
	return slices.Concat(s.systemRoutes(), s.promptRoutes(), s.statusRoutes(), s.queueRoutes(), s.jobRoutes(), s.historyRoutes())
}

func (s *Surface) statusRoutes() []edge.Route {
	return edge.Cloud(edge.Route{Method: http.MethodGet, Path: "/job/:id/status", Handle: edge.Of(s.job, s.getStatus)})
}

type statusResponse struct {
	ID          job.PublicID       `json:"id"`
	Status      string             `json:"status"`
	RawStatus   string             `json:"raw_status"`
	CreatedAt   string             `json:"created_at"`
	UpdatedAt   string             `json:"updated_at"`
	LastUpdate  string             `json:"last_state_update"`
	Inference   *string            `json:"assigned_inference"`
	ErrorDetail *string            `json:"error_message"`
	Waiting     *jobio.WaitingBody `json:"waiting,omitempty"` // for a ComfyUI server
}

// getStatus says how far a job is: GET /job/{id}/status.
func (s *Surface) getStatus(c *gin.Context, j job.Job) error {
	body := statusResponse{
		ID: j.PublicID(), Status: contractState(j.State), RawStatus: raw(j), CreatedAt: edge.Timestamp(j.SubmittedAt),
		UpdatedAt: edge.Timestamp(j.UpdatedAt), LastUpdate: edge.Timestamp(j.UpdatedAt),
	}
	if s.opts.RawStatus {
		body.Status = polled(j.State)
	}
	if j.Error != nil {
		body.ErrorDetail = &j.Error.Message
	}
	waiting, err := jobio.Waiting(c.Request.Context(), s.Waits, j)
	if err != nil {
		return err
	}
	body.Waiting = waiting[j.ID]
	return edge.OK(c, body, nil)
}

// contractState is the state in the five words of the cloud contract.
func contractState(s job.State) string {
	switch s {
	case job.Queued:
		return "pending"
	case job.Running, job.Canceling:
		return "in_progress"
	case job.Succeeded:
		return "completed"
	case job.Canceled:
		return "cancelled"
	case job.Failed, job.Expired:
		return "failed"
	}
	return "failed"
}

// polled is the state in the words that clients of the hosted service's current
// documentation poll for.
func polled(s job.State) string {
	switch s {
	case job.Succeeded:
		return "success"
	case job.Failed, job.Expired:
		return "error"
	case job.Queued, job.Running, job.Canceling, job.Canceled:
	}
	return contractState(s)
}

// raw is the state in the hosted service's own vocabulary.
func raw(j job.Job) string {
	switch j.State {
	case job.Queued:
		return "queued_limited"
	case job.Running:
		if j.StartedAt == nil {
			return "allocated"
		}
		return "executing"
	case job.Canceling:
		return "cancel_requested"
	case job.Succeeded:
		return "success"
	case job.Canceled:
		return "cancelled"
	case job.Expired:
		return "lost"
	case job.Failed:
	}
	return "error"
}

func (s *Surface) systemRoutes() []edge.Route {
	return edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: "/features", Access: edge.Public, Handle: s.getFeatures},
		edge.Route{Method: http.MethodGet, Path: "/system_stats", Access: edge.Public, Handle: s.getSystemStats},
		edge.Route{Method: http.MethodGet, Path: "/user", Handle: s.getUser},
		edge.Route{Method: http.MethodPost, Path: "/free", Access: edge.Write, Handle: s.postFree},
	)
}

// Features is the map of GET /features, which the WebSocket sends too when a client
// opens with its own flags.
func (s *Surface) Features() map[string]any {
	return map[string]any{
		"supports_preview_metadata": true,
		"supports_model_type_tags":  false,
		"max_upload_size":           s.opts.MaxUpload,
		"extension":                 map[string]any{"manager": map[string]any{"supports_v4": false}},
		"node_replacements":         false,
		"assets":                    s.opts.Assets,
	}
}

// getFeatures: GET /features.
func (s *Surface) getFeatures(c *gin.Context) error {
	return edge.OK(c, s.Features(), nil)
}

type systemStats struct {
	System  systemInfo   `json:"system"`
	Devices []deviceInfo `json:"devices"`
}

type systemInfo struct {
	OS              string   `json:"os"`
	PythonVersion   string   `json:"python_version"`
	EmbeddedPython  bool     `json:"embedded_python"`
	ComfyUIVersion  string   `json:"comfyui_version"`
	FrontendVersion string   `json:"comfyui_frontend_version"`
	Templates       string   `json:"workflow_templates_version"`
	CloudVersion    string   `json:"cloud_version"`
	PyTorchVersion  string   `json:"pytorch_version"`
	Argv            []string `json:"argv"`
	RAMTotal        uint64   `json:"ram_total"`
	RAMFree         uint64   `json:"ram_free"`
}

type deviceInfo struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Index     int    `json:"index"`
	VRAMTotal uint64 `json:"vram_total"`
	VRAMFree  uint64 `json:"vram_free"`

	TorchTotal uint64 `json:"torch_vram_total"`
	TorchFree  uint64 `json:"torch_vram_free"`
	Machine    string `json:"machine"` // this service, or one of the ComfyUI servers, by number
}

// thisService is the machine of the device that native classes use.
const thisService = "this service"

// contractVersion is the release of the self-hosted runtime whose behaviour this
// surface follows; clients compare it.
const contractVersion = "0.33.0"

// getSystemStats: GET /system_stats. It is public, as editors ask for it before they have a key: without one that is
// valid, it shows the release of the contract and nothing of this machine or program.
func (s *Surface) getSystemStats(c *gin.Context) error {
	if err := s.Edge.Authorize(c, edge.Read); fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Denied) {
		return edge.OK(c, systemStats{
			System: systemInfo{
				OS: "unknown", PythonVersion: "none", ComfyUIVersion: contractVersion, FrontendVersion: "none",
				Templates: "none", CloudVersion: "unknown", PyTorchVersion: "none", Argv: []string{"millrace"},
			},
			Devices: []deviceInfo{{Name: "cpu", Type: "cpu", Machine: thisService}},
		}, nil)
	} else if err != nil {
		return err
	}
	total, free := memory()
	return edge.OK(c, systemStats{
		System: systemInfo{
			OS: runtime.GOOS, PythonVersion: "none", ComfyUIVersion: contractVersion, FrontendVersion: "none",
			Templates: "none", CloudVersion: s.opts.Version, PyTorchVersion: "none", Argv: []string{"millrace"},
			RAMTotal: total, RAMFree: free,
		},
		Devices: s.devices(deviceInfo{Name: "cpu", Type: "cpu", VRAMTotal: total, VRAMFree: free, Machine: thisService}),
	}, nil)
}

// devices returns the devices of the servers, followed by this machine's: clients adapt what they ask for to the first device.
func (s *Surface) devices(own deviceInfo) (all []deviceInfo) {
	if s.Devices != nil {
		for i, d := range s.Devices() {
			all = append(all, deviceInfo{
				Name: d.Name, Type: d.Type, Index: i, VRAMTotal: uint64(max(0, d.Total)),
				VRAMFree: uint64(max(0, d.Free)), TorchTotal: uint64(max(0, d.TorchTotal)), TorchFree: uint64(max(0, d.TorchFree)),
				Machine: fmt.Sprintf("server %d", d.Machine),
			})
		}
	}
	own.Index = len(all)
	return append(all, own)
}

// getUser says whether the caller may use the service: GET /user.
func (s *Surface) getUser(c *gin.Context) error {
	status := "active"
	if !edge.Caller(c).Active {
		status = "waitlisted"
	}
	return edge.OK(c, gin.H{"status": status}, nil)
}

// postFree takes the self-hosted runtime's request to free memory: POST /free. Values
// and models are not kept between jobs, so there is nothing to do.
func (s *Surface) postFree(c *gin.Context) error {
	c.Status(http.StatusOK)
	return nil
}

// job returns the caller's job that the path names.
func (s *Surface) job(c *gin.Context) (job.Job, error) { return jobio.Find(c, s.Reader) }
