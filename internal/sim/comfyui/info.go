package comfyui

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// systemStats serves GET /system_stats.
func (s *Server) systemStats(w http.ResponseWriter, _ *http.Request) {
	free := s.opts.Memory - s.cache.used()
	writeJSON(w, http.StatusOK, map[string]any{
		"system": map[string]any{
			"os": "linux", "ram_total": s.opts.Memory, "ram_free": free, "comfyui_version": s.opts.Version,
			"python_version": "3.12.3 (main)", "pytorch_version": "2.9.1+sim", "embedded_python": false, "argv": []string{"main.py"},
		},
		"devices": []any{map[string]any{
			"name": "sim:0 Simulated Device", "type": "sim", "index": 0, "vram_total": s.opts.Memory, "vram_free": free,
			"torch_vram_total": s.cache.used(), "torch_vram_free": 0,
		}},
	})
}

// features serves GET /features.
func (s *Server) features(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.capabilities())
}

func (s *Server) capabilities() map[string]any {
	return map[string]any{"supports_preview_metadata": true, "max_upload_size": s.opts.MaxUpload}
}

// objectInfo serves GET /object_info, of all classes or of one.
func (s *Server) objectInfo(w http.ResponseWriter, r *http.Request) {
	var names []string
	if class := r.PathValue("class"); class != "" {
		names = []string{class}
		if _, ok := s.classes.Lookup(class); !ok {
			writeJSON(w, http.StatusOK, struct{}{})
			return
		}
	}
	if len(names) == 0 && s.hostile(r.Context(), w) {
		return
	}
	if err := s.readModels(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	definitions, err := s.classes.Definitions(r.Context(), s.files, names...)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var more []string
	if len(names) == 0 && s.faults.happens(NamelessClass) {
		more = append(more, "")
	}
	if len(names) == 0 && s.faults.happens(HostileClasses) {
		more = append(more, hostileNames...)
	}
	if len(more) == 0 {
		writeJSON(w, http.StatusOK, definitions)
		return
	}
	raw, err := json.Marshal(definitions)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	begin := "{"
	for _, name := range more {
		begin += `"` + name + `":{"input":{},"output":[],"output_node":true},`
	}
	writeBody(w, append([]byte(begin), raw[1:]...)) // not encoded again, which would mend the names
}

// hostile answers with definitions that take all memory of a careless reader, if a fault says so, and reports whether it did.
func (s *Server) hostile(ctx context.Context, w http.ResponseWriter) bool {
	head, part, parts := "", "", 0
	switch {
	case s.faults.happens(ManyClasses):
		head, part, parts = `{"":{}`, `,"c%d":{}`, 3_000_000
	case s.faults.happens(EndlessClasses):
		head, part, parts = `{"a":{"description":"`, strings.Repeat("a", 1000), math.MaxInt
	case s.faults.happens(DeepClasses):
		head, part, parts = `{"a":`, `{"a":`, 1_000_000
	default:
		return false
	}
	b := bufio.NewWriter(w)
	_, err := b.WriteString(head)
	for i := 0; i < parts && err == nil && ctx.Err() == nil; i++ {
		_, err = b.WriteString(strings.Replace(part, "%d", strconv.Itoa(i), 1))
	}
	if err == nil && strings.HasPrefix(part, ",") {
		_, err = b.WriteString("}")
	}
	if err == nil {
		b.Flush() //nolint:errcheck // the reader may have left
	}
	return true
}

// modelFolders serves GET /models.
func (s *Server) modelFolders(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, []string{"checkpoints", "loras", "vae"})
}

// models serves GET /models/{folder}.
func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("folder") {
	case "checkpoints":
		writeJSON(w, http.StatusOK, s.checkpoints())
	case "loras", "vae":
		writeJSON(w, http.StatusOK, []string{})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// embeddings serves GET /embeddings.
func (s *Server) embeddings(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, []string{})
}

// extensions serves GET /extensions.
func (s *Server) extensions(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, []string{"/extensions/sim-pack/sim.js"})
}

// webFile serves the one file of extensions.
func (s *Server) webFile(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("pack") != "sim-pack" || r.PathValue("file") != "sim.js" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/javascript")
	writeBody(w, []byte("export {};\n"))
}

// queueInfo serves GET /prompt.
func (s *Server) queueInfo(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.remaining())
}

func (s *Server) remaining() map[string]any {
	return map[string]any{"exec_info": map[string]any{"queue_remaining": s.queue.remaining()}}
}

// announce sends the number of prompts to all clients.
func (s *Server) announce() {
	s.sockets.broadcast("status", map[string]any{"status": s.remaining()})
}

// readQueue serves GET /queue.
func (s *Server) readQueue(w http.ResponseWriter, _ *http.Request) {
	running, pending := s.queue.now()
	writeJSON(w, http.StatusOK, map[string]any{"queue_running": running, "queue_pending": pending})
}

// change is the body of the requests that change queue and history.
type change struct {
	Clear     bool     `json:"clear"`
	Delete    []string `json:"delete"`
	Prompt    string   `json:"prompt_id"`
	Unload    bool     `json:"unload_models"`
	FreeCache bool     `json:"free_memory"`
}

// decode reads a body; false means that it was answered already.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, into any) bool {
	body := http.MaxBytesReader(w, r.Body, s.opts.MaxUpload)
	err := json.NewDecoder(body).Decode(into)
	if err == nil {
		return true
	}
	if r.ContentLength > s.opts.MaxUpload {
		tooLarge(w, s.opts.MaxUpload)
		return false
	}
	http.Error(w, "500 Internal Server Error", http.StatusInternalServerError)
	return false
}

// changeQueue serves POST /queue.
func (s *Server) changeQueue(w http.ResponseWriter, r *http.Request) {
	var c change
	if !s.decode(w, r, &c) {
		return
	}
	if c.Clear {
		s.queue.clear(false)
	}
	for _, id := range c.Delete {
		s.ledger.stop(id)
		s.queue.remove(id)
	}
	s.announce()
}

// readHistory serves GET /history, whole or of one prompt.
func (s *Server) readHistory(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if id == "" {
		writeJSON(w, http.StatusOK, s.queue.all())
		return
	}
	entries := map[string]*entry{}
	if e, ok := s.queue.past(id); ok {
		entries[id] = e
	}
	writeJSON(w, http.StatusOK, entries)
}

// changeHistory serves POST /history.
func (s *Server) changeHistory(w http.ResponseWriter, r *http.Request) {
	var c change
	if !s.decode(w, r, &c) {
		return
	}
	if c.Clear {
		s.queue.clear(true)
	}
	for _, id := range c.Delete {
		s.queue.forget(id)
	}
}

// interrupt serves POST /interrupt: without an id it ends whatever runs.
func (s *Server) interrupt(w http.ResponseWriter, r *http.Request) {
	var c change
	if r.ContentLength != 0 && !s.decode(w, r, &c) {
		return
	}
	s.ledger.stop(c.Prompt)
	s.queue.interrupt(c.Prompt)
}

// free serves POST /free.
func (s *Server) free(w http.ResponseWriter, r *http.Request) {
	var c change
	if !s.decode(w, r, &c) {
		return
	}
	s.ledger.freed()
	s.cache.free(c.Unload || c.FreeCache, c.FreeCache)
	s.queue.signal()
}

// cancelJob serves POST /api/jobs/{id}/cancel.
func (s *Server) cancelJob(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s.ledger.stop(id)
	cancelled := s.queue.interrupt(id) || s.queue.remove(id) || s.queue.interrupt(id)
	if cancelled {
		s.announce()
	}
	writeJSON(w, http.StatusOK, map[string]any{"cancelled": cancelled})
}
