package comfyui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/sim/comfyui/classes"
)

// tooling simulates the node pack through which a painting program sends and fetches pictures: they are kept in the memory of the
// server, under keys.
type tooling struct {
	checkpoints []string

	mu       sync.Mutex        // guards pictures
	pictures map[string][]byte // by key
}

func newTooling(checkpoints []string) *tooling {
	return &tooling{checkpoints: checkpoints, pictures: map[string][]byte{}}
}

func (t *tooling) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/etn/image/{key}", t.get)
	mux.HandleFunc("PUT /api/etn/image/{key}", t.put)
	mux.HandleFunc("GET /api/etn/model_info/{folder}", t.models)
	mux.HandleFunc("GET /api/etn/languages", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, []map[string]string{{"name": "German", "code": "de"}})
	})
	mux.HandleFunc("GET /api/etn/translate/{lang}/{text}", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "pack", Value: "1"})
		writeJSON(w, http.StatusOK, r.PathValue("lang")+": "+r.PathValue("text"))
	})
}

func (t *tooling) picture(key string) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	raw, ok := t.pictures[key]
	return raw, ok
}

func (t *tooling) keep(key string, raw []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pictures[key] = raw
}

func (t *tooling) get(w http.ResponseWriter, r *http.Request) {
	raw, ok := t.picture(r.PathValue("key"))
	if !ok {
		writeJSON(w, http.StatusNotFound, map[string]string{"error": "Image not found"})
		return
	}
	w.Header().Set("Content-Type", "image/png")
	writeBody(w, raw)
}

func (t *tooling) put(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	t.keep(r.PathValue("key"), raw)
	writeJSON(w, http.StatusCreated, map[string]string{"status": "success"})
}

func (t *tooling) models(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("folder") != "checkpoints" {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "Invalid folder path, must be one of checkpoints"})
		return
	}
	found := map[string]any{}
	query, part := r.URL.Query(), t.checkpoints
	if query.Has("limit") {
		offset, _ := strconv.Atoi(query.Get("offset"))
		limit, _ := strconv.Atoi(query.Get("limit"))
		part = part[min(offset, len(part)):min(offset+limit, len(part))]
		found["_meta"] = map[string]any{"offset": offset, "count": len(part), "total": len(t.checkpoints)}
	}
	for _, name := range part {
		found[name] = map[string]any{"base_model": "sd15", "is_inpaint": false, "type": "eps"}
	}
	writeJSON(w, http.StatusOK, found)
}

// classes are the classes that read and write the pictures.
func (t *tooling) classes() []*node.Class {
	return []*node.Class{
		{
			Name: "ETN_LoadImageCache", DisplayName: "Load Image from Cache", Category: "external_tooling", Module: "custom_nodes.tooling",
			Inputs: []node.Input{{Name: "id", Type: node.String}}, Outputs: []node.Output{{Type: node.Image}, {Type: node.Mask}}, Run: t.load,
		},
		{
			Name: "ETN_SaveImageCache", DisplayName: "Save Image to Cache", Category: "external_tooling", Module: "custom_nodes.tooling",
			Inputs: []node.Input{
				classes.Required("images", node.Image), {Name: "format", Type: node.Combo, Options: []string{"PNG", "JPEG"}, Default: "PNG"},
			},
			OutputNode: true, Run: t.save,
		},
	}
}

func (t *tooling) load(ctx context.Context, call *node.Call) (node.Result, error) {
	key, _ := call.Args["id"].(string)
	raw, ok := t.picture(key)
	if !ok {
		return node.Result{}, &classes.Exception{Kind: "ValueError", Text: fmt.Sprintf("Image with ID %s not found in cache.", key)}
	}
	engine := raster.Engine{MaxPixels: call.MaxPixels}
	pic, err := codec.Decode(ctx, engine, bytes.NewReader(raw))
	if err != nil {
		return node.Result{}, err
	}
	mask, err := engine.Channel(ctx, pic.Image, 0) // the pack's mask is the alpha, or else the first channel
	if pic.Mask != nil {
		mask, err = engine.InvertMask(ctx, pic.Mask)
	}
	return node.Result{Outputs: []node.Value{pic.Image, mask}}, err
}

func (t *tooling) save(ctx context.Context, call *node.Call) (node.Result, error) {
	im := call.Image("images")
	var shown []any
	for i := range im.Frames() {
		var b bytes.Buffer
		if err := codec.EncodePNG(ctx, &b, im, i, codec.PNGOptions{}); err != nil {
			return node.Result{}, err
		}
		key := fmt.Sprintf("%x", [16]byte(uuid.New()))
		t.keep(key, b.Bytes())
		shown = append(shown, map[string]any{"source": "http", "id": key, "content-type": "image/png", "type": "output"})
	}
	return node.Result{UI: map[string][]any{"images": shown}}, nil
}
