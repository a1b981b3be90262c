package cloud

import (
	"net/http"
	"runtime"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/fault"
)

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
	c.PureJSON(http.StatusOK, s.Features())
	return nil
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
}

// contractVersion is the release of the self-hosted runtime whose behaviour this
// surface follows; clients compare it.
const contractVersion = "0.33.0"

// getSystemStats: GET /system_stats. It is public, as editors ask for it before they have a key: without one that is
// valid, it shows the release of the contract and nothing of this machine or program.
func (s *Surface) getSystemStats(c *gin.Context) error {
	if err := s.Edge.Authorize(c, edge.Read); fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Denied) {
		c.PureJSON(http.StatusOK, systemStats{
			System: systemInfo{
				OS: "unknown", PythonVersion: "none", ComfyUIVersion: contractVersion, FrontendVersion: "none",
				Templates: "none", CloudVersion: "unknown", PyTorchVersion: "none", Argv: []string{"millrace"},
			},
			Devices: []deviceInfo{{Name: "cpu", Type: "cpu"}},
		})
		return nil
	} else if err != nil {
		return err
	}
	total, free := memory()
	c.PureJSON(http.StatusOK, systemStats{
		System: systemInfo{
			OS: runtime.GOOS, PythonVersion: "none", ComfyUIVersion: contractVersion, FrontendVersion: "none",
			Templates: "none", CloudVersion: s.opts.Version, PyTorchVersion: "none", Argv: []string{"millrace"},
			RAMTotal: total, RAMFree: free,
		},
		Devices: s.devices(deviceInfo{Name: "cpu", Type: "cpu", VRAMTotal: total, VRAMFree: free}),
	})
	return nil
}

// devices returns this machine's device, followed by those of the servers.
func (s *Surface) devices(own deviceInfo) []deviceInfo {
	all := []deviceInfo{own}
	if s.Devices == nil {
		return all
	}
	for i, d := range s.Devices() {
		all = append(all, deviceInfo{
			Name: d.Name, Type: d.Type, Index: i + 1, VRAMTotal: uint64(max(0, d.Total)),
			VRAMFree: uint64(max(0, d.Free)),
		})
	}
	return all
}

// getUser says whether the caller may use the service: GET /user.
func (s *Surface) getUser(c *gin.Context) error {
	status := "active"
	if !edge.Caller(c).Active {
		status = "waitlisted"
	}
	c.PureJSON(http.StatusOK, gin.H{"status": status})
	return nil
}

// postFree takes the self-hosted runtime's request to free memory: POST /free. Values
// and models are not kept between jobs, so there is nothing to do.
func (s *Surface) postFree(c *gin.Context) error {
	c.Status(http.StatusOK)
	return nil
}
