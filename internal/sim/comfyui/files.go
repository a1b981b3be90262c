package comfyui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// fileStore is the disk of a machine: the three folders.
type fileStore struct {
	mu    sync.Mutex // guards byKey
	byKey map[fileKey][]byte
}

// fileKey is a folder and a path below it.
type fileKey struct {
	folder node.Folder
	name   string
}

var _ node.Files = (*fileStore)(nil)

func newFileStore() *fileStore { return &fileStore{byKey: map[fileKey][]byte{}} }

func (f *fileStore) read(key fileKey) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, ok := f.byKey[key]
	return raw, ok
}

func (f *fileStore) wipe(folder node.Folder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.byKey {
		if key.folder == folder {
			delete(f.byKey, key)
		}
	}
}

// key reads a name as graphs write it.
func key(name string) fileKey {
	for _, folder := range []node.Folder{node.FolderInput, node.FolderOutput, node.FolderTemp} {
		if rest, ok := strings.CutSuffix(name, " ["+string(folder)+"]"); ok {
			return fileKey{folder, rest}
		}
	}
	return fileKey{node.FolderInput, name}
}

// Open implements node.Files.
func (f *fileStore) Open(ctx context.Context, name string) (node.Content, error) {
	info, err := f.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	raw, _ := f.read(key(name))
	return opened{bytes.NewReader(raw), info}, nil
}

// Stat implements node.Files.
func (f *fileStore) Stat(_ context.Context, name string) (node.Info, error) {
	raw, ok := f.read(key(name))
	if !ok {
		return node.Info{}, fault.New(fault.NotFound, "", "Invalid image file: %s", name)
	}
	return node.Info{Name: name, Hash: "blake3:" + fmt.Sprintf("%x", blob.Sum(raw)), Size: int64(len(raw))}, nil
}

// List implements node.Files: the files that stand directly in the folder.
func (f *fileStore) List(_ context.Context, folder node.Folder, limit int) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for key := range f.byKey {
		if key.folder == folder && !strings.Contains(key.name, "/") {
			names = append(names, key.name)
		}
	}
	slices.Sort(names)
	return names[:min(limit, len(names))], nil
}

// Walk returns the files in a folder, at any depth.
func (f *fileStore) Walk(folder string) []string {
	name, annotated := strings.CutSuffix(folder, " [output]")
	within := fileKey{node.FolderInput, name + "/"}
	if annotated {
		within.folder = node.FolderOutput
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for key := range f.byKey {
		if key.folder == within.folder && strings.HasPrefix(key.name, within.name) {
			names = append(names, key.name)
		}
	}
	slices.Sort(names)
	return names
}

// Save implements node.Files. The counter is 1 + the highest in use for the prefix.
func (f *fileStore) Save(_ context.Context, s node.Save, write func(io.Writer) error) (node.File, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return node.File{}, err
	}
	dir, prefix := path.Split(path.Clean(s.Prefix))
	f.mu.Lock()
	defer f.mu.Unlock()
	highest := 0
	for key := range f.byKey {
		if key.folder != s.Folder {
			continue
		}
		rest, ok := strings.CutPrefix(key.name, dir+prefix+"_")
		digits, _, _ := strings.Cut(rest, "_")
		digits, _, _ = strings.Cut(digits, ".")
		if n, err := strconv.Atoi(digits); ok && err == nil {
			highest = max(highest, n)
		}
	}
	name := fmt.Sprintf("%s_%05d%s", prefix, highest+1, s.Suffix)
	f.byKey[fileKey{s.Folder, dir + name}] = b.Bytes()
	return node.File{Filename: name, Subfolder: strings.TrimSuffix(dir, "/"), Folder: s.Folder}, nil
}

// put stores an upload under its name, or the next free one where other bytes stand there.
func (f *fileStore) put(folder node.Folder, subfolder, name string, raw []byte, overwrite bool) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for i := 1; ; i++ {
		at := fileKey{folder, path.Join(subfolder, name)}
		there, taken := f.byKey[at]
		if !taken || overwrite || bytes.Equal(there, raw) {
			f.byKey[at] = raw
			return name
		}
		name = fmt.Sprintf("%s (%d)%s", stem, i, ext)
	}
}

type opened struct {
	*bytes.Reader
	info node.Info
}

// Close implements io.Closer.
func (opened) Close() error { return nil }

// Info implements node.Content.
func (c opened) Info() node.Info { return c.info }

// upload serves POST /upload/image.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, s.opts.MaxUpload)
	if err := r.ParseMultipartForm(s.opts.MaxUpload); err != nil {
		tooLarge(w, s.opts.MaxUpload)
		return
	}
	file, header, err := r.FormFile("image")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	defer file.Close() // read only
	folder := cmp.Or(node.Folder(r.FormValue("type")), node.FolderInput)
	subfolder := r.FormValue("subfolder")
	if outside(subfolder) || !isFolder(folder) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	raw, err := io.ReadAll(file)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	name := s.files.put(folder, subfolder, header.Filename, raw, r.FormValue("overwrite") == "true")
	writeJSON(w, http.StatusOK, map[string]any{"name": name, "subfolder": subfolder, "type": folder})
}

func outside(name string) bool {
	clean := path.Clean("/" + name)
	return strings.HasPrefix(name, "/") || clean != "/"+path.Clean(name) && name != ""
}

func isFolder(folder node.Folder) bool {
	return folder == node.FolderInput || folder == node.FolderOutput || folder == node.FolderTemp
}

// view serves GET /view.
func (s *Server) view(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	name, subfolder := query.Get("filename"), query.Get("subfolder")
	folder := cmp.Or(node.Folder(query.Get("type")), node.FolderOutput)
	if name == "" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if strings.HasPrefix(name, "/") || strings.Contains(name, "..") || !isFolder(folder) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if outside(subfolder) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	raw, ok := s.files.read(fileKey{folder, path.Join(subfolder, path.Base(name))})
	if !ok || s.faults.happens(LostFile) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", cmp.Or(mime.TypeByExtension(path.Ext(name)), "application/octet-stream"))
	w.Header().Set("Content-Disposition", fmt.Sprintf("filename=%q", path.Base(name)))
	if s.faults.happens(LargeFile) {
		sendPadded(w, raw, s.opts.LargeFile)
		return
	}
	if s.faults.happens(OversizeFile) {
		sendPadded(w, raw, oversizeFile)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	if s.faults.happens(HalfFile) {
		writeBody(w, raw[:len(raw)/2])
		http.NewResponseController(w).Flush() //nolint:errcheck // whoever does not read it has gone
		panic(http.ErrAbortHandler)
	}
	writeBody(w, raw)
}

// oversizeFile is the size that OversizeFile announces.
const oversizeFile = 8 << 30

// sendPadded sends a PNG that is padded to size by chunks of zeros, which viewers skip. It is never complete in
// memory.
func sendPadded(w http.ResponseWriter, raw []byte, size int64) {
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	end := len(raw) - len(chunk("IEND", nil))
	writeBody(w, raw[:end])
	padding := chunk("miPd", make([]byte, 1<<20))
	for left := size - int64(len(raw)); left > 0; left -= int64(len(padding)) {
		if left < int64(len(padding)) {
			padding = chunk("miPd", make([]byte, max(0, left-int64(len(chunk("miPd", nil))))))
		}
		if _, err := w.Write(padding); err != nil {
			return // whoever does not read it any more has gone
		}
	}
	writeBody(w, raw[end:])
}

// chunk returns a chunk of a PNG.
func chunk(kind string, data []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

// writeBody writes an answer. An error means that the client has disconnected.
func writeBody(w http.ResponseWriter, raw []byte) {
	w.Write(raw) // see above
}

// writeJSON answers as aiohttp does.
func writeJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	writeBody(w, raw)
}

func tooLarge(w http.ResponseWriter, limit int64) {
	http.Error(w, fmt.Sprintf("Maximum request body size %d exceeded.", limit), http.StatusRequestEntityTooLarge)
}

// unkept returns a class without the files and the outputs of the native class, which its original does not have.
func unkept(native *node.Class) *node.Class {
	c := *native
	c.Run = func(ctx context.Context, call *node.Call) (node.Result, error) {
		without := *call
		without.Files = discard{call.Files}
		res, err := native.Run(ctx, &without)
		res.UI = nil
		return res, err
	}
	return &c
}

// discard keeps no file.
type discard struct{ node.Files }

func (discard) Save(context.Context, node.Save, func(io.Writer) error) (node.File, error) {
	return node.File{}, nil
}
