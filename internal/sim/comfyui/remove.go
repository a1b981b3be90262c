package comfyui

import (
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// maxRemoved and maxRemovalBytes bound a request to remove files.
const (
	maxRemoved      = 1000
	maxRemovalBytes = 1 << 20
)

// removal is the body of POST /lossless/remove.
type removal struct {
	Prompt string `json:"prompt_id"`
	Files  []struct {
		Filename  string      `json:"filename"`
		Subfolder string      `json:"subfolder"`
		Type      node.Folder `json:"type"`
	} `json:"files"`
}

// removeFiles serves POST /lossless/remove of the node pack.
func (s *Server) removeFiles(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength <= 0 || r.ContentLength > maxRemovalBytes {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	var body removal
	err := json.NewDecoder(r.Body).Decode(&body)
	var keys []fileKey
	if err == nil {
		keys, err = body.keys(s.past(body.Prompt))
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": err.Error()})
		return
	}
	removed := 0
	for _, key := range keys {
		if s.files.remove(key) {
			removed++
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"removed": removed})
}

// past returns what the history has of a prompt, or nil.
func (s *Server) past(id string) *entry {
	e, _ := s.queue.past(id)
	return e
}

// keys returns the named files. e is what the history has of the prompt, or nil.
func (b removal) keys(e *entry) ([]fileKey, error) {
	if id, err := uuid.Parse(b.Prompt); err != nil || id.String() != b.Prompt {
		return nil, errors.New("prompt_id is not the id of a prompt of Millrace")
	}
	if b.Files == nil || len(b.Files) > maxRemoved {
		return nil, errors.New("files is not a list of at most 1000 files")
	}
	var keys []fileKey
	for _, f := range b.Files {
		parts := []string{f.Filename}
		if f.Subfolder != "" {
			parts = append(strings.Split(f.Subfolder, "/"), f.Filename)
		}
		for _, part := range parts {
			if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "/\\\x00") {
				return nil, errors.New("a name leads out of its folder")
			}
		}
		key := fileKey{f.Type, path.Join(parts...)}
		switch {
		case f.Type == node.FolderOutput && strings.HasPrefix(key.name, "millrace/"+b.Prompt+"/"):
		case f.Type == node.FolderTemp && e.made(b.Prompt, key):
		default:
			return nil, errors.New("a file is not one of the prompt in the output or temp folder")
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// made reports whether a client like Millrace sent the prompt, and its outputs name the file.
func (e *entry) made(prompt string, key fileKey) bool {
	if e == nil || e.Prompt.client() != prompt {
		return false
	}
	for _, output := range e.Outputs {
		for _, files := range output {
			list, _ := files.([]any)
			for _, file := range list {
				f, _ := file.(map[string]any)
				name, _ := f["filename"].(string)
				subfolder, _ := f["subfolder"].(string)
				if f["type"] == string(key.folder) && path.Join(subfolder, name) == key.name {
					return true
				}
			}
		}
	}
	return false
}

// remove removes a file and reports whether it existed.
func (f *fileStore) remove(key fileKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.byKey[key]
	delete(f.byKey, key)
	return ok
}

// Files returns the files in a folder of the machine, with the folders in which they are, in order.
func (m *Machine) Files(folder node.Folder) []string { return m.files.names(folder) }

// names returns the files in a folder, in order.
func (f *fileStore) names(folder node.Folder) (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.byKey {
		if key.folder == folder {
			names = append(names, key.name)
		}
	}
	slices.Sort(names)
	return names
}
