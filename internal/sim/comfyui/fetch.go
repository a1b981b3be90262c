package comfyui

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
)

// weightFolders are the folders of models into which weights are fetched.
var weightFolders = []string{"checkpoints", "loras", "vae"}

// weightTries is how often a weight is asked for in a row without receiving a byte.
const weightTries = 3

// weight is the body of POST /lossless/fetch or /lossless/evict, and the work on it.
type weight struct {
	URL     string `json:"url"`
	Folder  string `json:"folder"`
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Reserve int64  `json:"reserve"`
	BLAKE3  string `json:"blake3"`
	SHA256  string `json:"sha256"`

	hash       func() hash.Hash
	wanted     string
	done, sent int64
	lacks      int64 // bytes that the disk lacks
	report     func(map[string]any)
}

var (
	errBreaks = errors.New("the server has no connection to Millrace") // the part is kept
	errFull   = errors.New("the disk of the server is full")
)

// handleWeight serves the routes of the node pack that work on a weight.
func (s *Server) handleWeight(fetches bool, work func(*weight, context.Context, string) (map[string]any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f := weight{hash: func() hash.Hash { return blob.NewHash() }}
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRemovalBytes)).Decode(&f)
		if err = cmp.Or(err, f.check(fetches)); err != nil {
			writeJSON(w, http.StatusBadRequest, map[string]any{"error": err.Error()})
			return
		}
		if f.wanted = f.BLAKE3; s.opts.NoBLAKE3 {
			f.hash, f.wanted = sha256.New, f.SHA256
		}
		if f.wanted == "" {
			writeJSON(w, http.StatusUnprocessableEntity, map[string]any{"error": "the server can only check a sha256"})
			return
		}
		f.report = func(of map[string]any) {
			json.NewEncoder(w).Encode(of)         //nolint:errcheck,errchkjson // the client has left
			http.NewResponseController(w).Flush() //nolint:errcheck // the client has left
		}
		f.report(map[string]any{"done": 0})
		result, err := work(&f, r.Context(), s.opts.Models)
		if err != nil {
			result = map[string]any{"error": err.Error(), "lacks": f.lacks}
		}
		f.report(result)
	}
}

// check refuses names outside the folders of models.
func (f *weight) check(fetches bool) error {
	if !slices.Contains(weightFolders, f.Folder) {
		return errors.New("folder is not one of the folders of models")
	}
	for part := range strings.SplitSeq(f.Name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.ContainsAny(part, "\\:\x00") {
			return errors.New("name leads out of its folder or is hidden")
		}
	}
	if !node.IsModelFile(f.Name) {
		return errors.New("name does not end as the files of the folder do")
	}
	if fetches && !strings.HasPrefix(f.URL, "http://") && !strings.HasPrefix(f.URL, "https://") {
		return errors.New("url is not a link of Millrace")
	}
	return nil
}

// present reports whether the path is a file with the bytes of the weight, and whether it exists.
func (f *weight) present(path string) (same, exists bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false, !errors.Is(err, fs.ErrNotExist)
	}
	raw, err := os.ReadFile(path)
	h := f.hash()
	h.Write(raw)
	return err == nil && hex.EncodeToString(h.Sum(nil)) == f.wanted, true
}

// evict removes the file, if it has the bytes of the weight.
func (f *weight) evict(_ context.Context, root string) (map[string]any, error) {
	path := filepath.Join(root, f.Folder, filepath.FromSlash(f.Name))
	same, _ := f.present(path)
	return map[string]any{"removed": same && os.Remove(path) == nil}, nil
}

// fetch fetches the file, unless it is there.
func (f *weight) fetch(ctx context.Context, root string) (map[string]any, error) {
	path := filepath.Join(root, f.Folder, filepath.FromSlash(f.Name))
	switch same, exists := f.present(path); {
	case same:
		return map[string]any{"present": true}, nil
	case exists:
		return nil, fmt.Errorf("the server has another file with this name in its folder %s", f.Folder)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	part := filepath.Join(filepath.Dir(path), fmt.Sprintf(".millrace-%.16s.part", f.wanted))
	file, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = errors.Join(f.fill(ctx, file), file.Close())
	if err == nil {
		err = os.Link(part, path)
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = errFull
	}
	if !errors.Is(err, errBreaks) {
		os.Remove(part) //nolint:errcheck // the test looks for it
	}
	return map[string]any{"sent": f.sent}, err
}

// fill appends what a file lacks.
func (f *weight) fill(ctx context.Context, file *os.File) (err error) {
	h := f.hash()
	if f.done, err = io.Copy(h, file); err != nil {
		return err
	}
	if f.lacks, err = disk.Lacking(filepath.Dir(file.Name()), f.Size-f.done+f.Reserve); err != nil || f.lacks > 0 {
		return fmt.Errorf("the disk of the server has too little space for %d bytes", f.Size)
	}
	for tries := weightTries; f.done < f.Size; {
		n, err := f.receive(ctx, io.MultiWriter(file, h))
		if tries--; n > 0 {
			tries = weightTries
		}
		if f.done, f.sent = f.done+n, f.sent+n; err != nil {
			return err
		}
		if tries == 0 || ctx.Err() != nil {
			return errBreaks
		}
		f.report(map[string]any{"done": f.done})
	}
	if hex.EncodeToString(h.Sum(nil)) != f.wanted {
		return errors.New("what Millrace sent does not have the hash of the weight")
	}
	return nil
}

// receive writes what one connection brings. A connection that breaks is no error.
func (f *weight) receive(ctx context.Context, to io.Writer) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, http.NoBody)
	if err != nil {
		return 0, err
	}
	if f.done > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", f.done))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close() // read only
	if res.StatusCode >= http.StatusBadRequest {
		return 0, fmt.Errorf("Millrace answers the request for the file with status %d", res.StatusCode)
	}
	n, err := io.Copy(to, res.Body)
	if errors.Is(err, syscall.ENOSPC) {
		return n, err
	}
	return n, nil
}
