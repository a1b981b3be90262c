// Package machinestest has the part of the API of Kubernetes that pools of machines use, with a controller that keeps as many pods as the
// Deployment has replicas.
package machinestest

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/pool"
)

// Cluster is a cluster with one Deployment, named comfy in the namespace gpu.
type Cluster struct {
	Started func(pod string) (ip string) // nil = no pod has an address
	Stopped func(pod string)

	t       *testing.T
	server  *httptest.Server
	mu      sync.Mutex
	number  int
	version int
	wanted  int // replicas
	pods    map[string]*pod
	full    bool
	refuse  int
	most    int // replicas
}

type pod struct {
	Metadata struct {
		Name            string            `json:"name"`
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
	Status struct {
		Phase string `json:"phase"`
		PodIP string `json:"podIP,omitempty"`
	} `json:"status"`
	number int
}

const token = "token-of-the-cluster"

// New starts the API.
func New(t *testing.T) *Cluster {
	t.Helper()
	c := &Cluster{t: t, pods: map[string]*pod{}}
	mux := http.NewServeMux()
	const scale = "/apis/apps/v1/namespaces/gpu/deployments/comfy/scale"
	mux.HandleFunc("GET "+scale, c.scale)
	mux.HandleFunc("PATCH "+scale, c.resize)
	mux.HandleFunc("GET /api/v1/namespaces/gpu/pods", c.list)
	mux.HandleFunc("GET /api/v1/namespaces/gpu/pods/{pod}", c.show)
	mux.HandleFunc("PATCH /api/v1/namespaces/gpu/pods/{pod}", c.patch)
	mux.HandleFunc("DELETE /api/v1/namespaces/gpu/pods/{pod}", c.remove)
	c.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			http.Error(w, "password: hunter2", http.StatusUnauthorized)
		case r.Method == http.MethodPatch && r.Header.Get("Content-Type") != "application/merge-patch+json",
			r.Method != http.MethodPatch && r.ContentLength != 0:
			http.Error(w, "password: hunter2", http.StatusUnsupportedMediaType)
		case c.refuse != 0:
			http.Error(w, "password: hunter2", c.refuse)
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(c.server.Close)
	return c
}

// Provider returns the keys of a pool of the Deployment; with a wrong token the API refuses it.
func (c *Cluster) Provider(port int, wrong string) pool.Provider {
	c.t.Helper()
	dir := c.t.TempDir()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw})
	for name, body := range map[string]string{"ca": string(authority), "token": token + wrong + "\n"} {
		require.NoError(c.t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600))
	}
	return pool.Provider{
		Kind: pool.Kubernetes, Deployment: "comfy", Namespace: "gpu", Port: port, Server: c.server.URL,
		TokenFile: filepath.Join(dir, "token"), CAFile: filepath.Join(dir, "ca"),
	}
}

// Refuse makes the API answer everything with a status; 0 = it answers.
func (c *Cluster) Refuse(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = status
}

// Fill leaves no place for further pods.
func (c *Cluster) Fill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.full = true
}

// Resize changes the replicas, as somebody else does.
func (c *Cluster) Resize(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted += more
	c.control()
}

// Evict ends a pod, which the Deployment replaces.
func (c *Cluster) Evict(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(name)
	c.control()
}

// Pods returns the pods that exist, the replicas, and how many replicas there were at most.
func (c *Cluster) Pods() (names []string, replicas, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.pods)), c.wanted, c.most
}

// control keeps as many pods as there are replicas. It ends the pod with the lowest cost, and of several the newest.
func (c *Cluster) control() {
	c.version++
	c.most = max(c.most, c.wanted)
	for len(c.pods) < c.wanted && !c.full {
		c.number++
		p := &pod{number: c.number}
		p.Metadata.Name, p.Metadata.ResourceVersion = fmt.Sprintf("comfy-%d", c.number), strconv.Itoa(c.version)
		if p.Status.Phase = "Running"; c.Started != nil {
			p.Status.PodIP = c.Started(p.Metadata.Name)
		}
		c.pods[p.Metadata.Name] = p
	}
	for len(c.pods) > c.wanted {
		all := slices.SortedFunc(maps.Values(c.pods), func(a, b *pod) int {
			if a, b := cost(a), cost(b); a != b {
				return a - b
			}
			return b.number - a.number
		})
		c.end(all[0].Metadata.Name)
	}
}

func cost(p *pod) int {
	n, _ := strconv.Atoi(p.Metadata.Annotations["controller.kubernetes.io/pod-deletion-cost"])
	return n
}

func (c *Cluster) end(name string) {
	if c.pods[name] != nil && c.Stopped != nil {
		c.Stopped(name)
	}
	delete(c.pods, name)
}

func answer(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

func (c *Cluster) scale(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"metadata": map[string]string{"name": "comfy", "resourceVersion": strconv.Itoa(c.version)},
		"spec":     map[string]int{"replicas": c.wanted}, "status": map[string]any{"replicas": len(c.pods), "selector": "app=comfy"},
	})
}

func (c *Cluster) resize(w http.ResponseWriter, r *http.Request) {
	var patch struct {
		Metadata struct{ ResourceVersion string }
		Spec     struct{ Replicas *int }
	}
	if json.NewDecoder(r.Body).Decode(&patch) != nil || patch.Spec.Replicas == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if patch.Metadata.ResourceVersion != strconv.Itoa(c.version) {
		w.WriteHeader(http.StatusConflict)
		return
	}
	c.wanted = *patch.Spec.Replicas
	c.control()
	c.scale(w, r)
}

func (c *Cluster) list(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("labelSelector") != "app=comfy" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	newest := slices.SortedFunc(maps.Values(c.pods), func(a, b *pod) int { return b.number - a.number }) // the order is not promised
	answer(w, map[string]any{"items": newest})
}

func (c *Cluster) find(w http.ResponseWriter, r *http.Request) *pod {
	p := c.pods[r.PathValue("pod")]
	if p == nil {
		w.WriteHeader(http.StatusNotFound)
	}
	return p
}

func (c *Cluster) show(w http.ResponseWriter, r *http.Request) {
	if p := c.find(w, r); p != nil {
		answer(w, p)
	}
}

func (c *Cluster) patch(w http.ResponseWriter, r *http.Request) {
	p := c.find(w, r)
	if p == nil {
		return
	}
	before := p.Metadata.ResourceVersion
	changed := *p
	changed.Metadata.Annotations = maps.Clone(p.Metadata.Annotations)
	if json.NewDecoder(r.Body).Decode(&changed) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if v := changed.Metadata.ResourceVersion; v != "" && v != before {
		w.WriteHeader(http.StatusConflict)
		return
	}
	c.version++
	changed.Metadata.ResourceVersion = strconv.Itoa(c.version)
	c.pods[p.Metadata.Name] = &changed
	answer(w, changed)
}

// remove deletes a pod, which the Deployment replaces at once.
func (c *Cluster) remove(w http.ResponseWriter, r *http.Request) {
	if p := c.find(w, r); p != nil {
		c.end(p.Metadata.Name)
		c.control()
		answer(w, p)
	}
}
