// Package comfyui simulates a ComfyUI server on the wire: its HTTP interface, its socket with
// binary previews, its validation errors, queue, history, node cache and files. It computes
// Millrace's native classes as they are, and stands in for checkpoints and samplers with small
// deterministic pictures, so that everything that drives servers can be shown and tested without a
// GPU and without Python. It misbehaves on request; see Fault.
//
// Server is the simulated program, an http.Handler with its own execution thread. Machine gives it
// an address, and can be killed, frozen and started again. What it tells is held against recorded
// answers of a real server; it is no complete ComfyUI.
package comfyui

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
)

// Options are the tunables of a Server. The zero value works.
type Options struct {
	Version     string        // default "0.33.0"
	NoJobs      bool          // no /api/jobs, as before 2026
	Checkpoints []string      // default "random-sd15.safetensors"
	Models      string        // folder of models, whose checkpoints it has besides; "" = none
	Without     []string      // classes that it does not have
	Classes     []*node.Class // that it has besides
	Pack        bool          // the node pack of this repository is installed
	NoBLAKE3    bool          // it can check no BLAKE3, as on releases that do not require the library
	Tooling     bool          // the node pack through which a painting program sends pictures is installed
	Media       *ffmpeg.Tool  // for classes of sound and video; nil = there are none
	Step        time.Duration // of a sampler; default 1 ms
	Load        time.Duration // of a checkpoint that is not loaded; default 20 ms
	Previews    bool          // send previews also where the prompt does not ask for them
	Memory      int64         // of its device, bytes; default 24 GiB
	MaxUpload   int64         // bytes; default 100 MiB
	LargeFile   int64         // of the files that the fault LargeFile makes long; default 2 GiB
	Log         *slog.Logger  // default none
}

// Defaults of the options.
const (
	defaultVersion    = "0.33.0"
	defaultCheckpoint = "random-sd15.safetensors"
	defaultStep       = time.Millisecond
	defaultLoad       = 20 * time.Millisecond
	defaultMemory     = 24 << 30
	defaultMaxUpload  = 100 << 20
	defaultLargeFile  = 2 << 30
)

func (o Options) withDefaults() Options {
	o.Version = cmp.Or(o.Version, defaultVersion)
	if o.Checkpoints == nil {
		o.Checkpoints = []string{defaultCheckpoint}
	}
	o.Step = cmp.Or(o.Step, defaultStep)
	o.Load = cmp.Or(o.Load, defaultLoad)
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	o.MaxUpload = cmp.Or(o.MaxUpload, defaultMaxUpload)
	o.LargeFile = cmp.Or(o.LargeFile, defaultLargeFile)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Server is one simulated ComfyUI. It is safe for concurrent use.
type Server struct {
	opts    Options
	classes *node.Registry
	files   *fileStore
	queue   *queue
	sockets *sockets
	faults  *faults
	cache   *cache
	ledger  *ledger
	mux     *http.ServeMux
	stop    context.CancelFunc
	crash   func() // ends the program and starts it again; nil = it cannot end
	worker  sync.WaitGroup
}

// New returns a server whose execution thread runs. Close ends it.
func New(opts Options) (*Server, error) {
	return newServer(opts, newFileStore(), newFaults(), &ledger{})
}

// newServer starts the program over the files and the records that outlive it.
func newServer(opts Options, files *fileStore, faults *faults, records *ledger) (*Server, error) {
	opts = opts.withDefaults()
	s := &Server{
		opts: opts, files: files, faults: faults, ledger: records, queue: newQueue(), sockets: newSockets(), cache: newCache(),
		mux: http.NewServeMux(),
	}
	native, err := standard.Registry(opts.Media)
	if err != nil {
		return nil, fmt.Errorf("simulated ComfyUI: %w", err)
	}
	var classes []*node.Class
	all := slices.Concat(native.Classes(), s.modelClasses(), opts.Classes)
	if opts.Tooling {
		kept := newTooling(opts.Checkpoints)
		kept.routes(s.mux)
		all = append(all, kept.classes()...)
	}
	for _, c := range all {
		if c.Name == "SaveImageWebsocket" {
			c = unkept(c)
		}
		if !contains(opts.Without, c.Name) {
			classes = append(classes, c)
		}
	}
	if s.classes, err = node.NewRegistry(classes...); err != nil {
		return nil, fmt.Errorf("simulated ComfyUI: %w", err)
	}
	if err := s.readModels(); err != nil {
		return nil, fmt.Errorf("simulated ComfyUI: %w", err)
	}
	s.files.wipe(node.FolderTemp)
	s.routes()
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.worker.Go(func() { s.executePrompts(ctx) })
	return s, nil
}

// Offer changes the classes that the server has in addition to those of its options, without a restart, as some
// custom nodes do.
func (s *Server) Offer(classes ...*node.Class) error { return s.classes.Extend(classes...) }

// Close ends the execution thread, in the middle of whatever it does, and cuts every socket.
func (s *Server) Close() {
	s.stop()
	s.sockets.cut()
	s.worker.Wait()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.faults.replace(w, r) {
		return
	}
	s.mux.ServeHTTP(w, r)
}

// routes registers every route twice: as it is, and below /api.
func (s *Server) routes() {
	for pattern, handle := range map[[2]string]http.HandlerFunc{
		{"GET", "/system_stats"}:        s.systemStats,
		{"GET", "/features"}:            s.features,
		{"GET", "/object_info"}:         s.objectInfo,
		{"GET", "/object_info/{class}"}: s.objectInfo,
		{"GET", "/models"}:              s.modelFolders,
		{"GET", "/models/{folder}"}:     s.models,
		{"GET", "/embeddings"}:          s.embeddings,
		{"GET", "/extensions"}:          s.extensions,
		{"GET", "/prompt"}:              s.queueInfo,
		{"POST", "/prompt"}:             s.submit,
		{"GET", "/queue"}:               s.readQueue,
		{"POST", "/queue"}:              s.changeQueue,
		{"GET", "/history"}:             s.readHistory,
		{"GET", "/history/{id}"}:        s.readHistory,
		{"POST", "/history"}:            s.changeHistory,
		{"POST", "/interrupt"}:          s.interrupt,
		{"POST", "/free"}:               s.free,
		{"GET", "/view"}:                s.view,
		{"POST", "/upload/image"}:       s.upload,
		{"POST", "/upload/mask"}:        s.uploadMask,
		{"GET", "/ws"}:                  s.socket,
	} {
		s.mux.HandleFunc(pattern[0]+" "+pattern[1], handle)
		s.mux.HandleFunc(pattern[0]+" /api"+pattern[1], handle)
	}
	s.mux.HandleFunc("GET /extensions/{pack}/{file}", s.webFile)
	if s.opts.Pack {
		s.mux.HandleFunc("POST /lossless/remove", s.removeFiles)
		s.mux.HandleFunc("POST /lossless/fetch", s.handleWeight(true, (*weight).fetch))
		s.mux.HandleFunc("POST /lossless/evict", s.handleWeight(false, (*weight).evict))
	}
	s.mux.HandleFunc("POST /sim/faults/{name}", s.control)
	s.mux.HandleFunc("DELETE /sim/faults", func(http.ResponseWriter, *http.Request) { s.Clear() })
	s.mux.HandleFunc("GET /sim/runs", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.Runs()) })
	if !s.opts.NoJobs {
		s.mux.HandleFunc("GET /api/jobs", s.listJobs)
		s.mux.HandleFunc("GET /api/jobs/{id}", failing(s.readJob))
		s.mux.HandleFunc("POST /api/jobs/{id}/cancel", s.cancelJob)
	}
}

func contains(list []string, name string) bool {
	for _, one := range list {
		if one == name {
			return true
		}
	}
	return false
}
