package comfyui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// uploadMask serves POST /upload/mask: it stores the picture that original_ref names with the alpha of the one that comes
// with the request, as masks are drawn in the editor.
func (s *Server) uploadMask(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, s.opts.MaxUpload)
	if err := r.ParseMultipartForm(s.opts.MaxUpload); err != nil {
		tooLarge(w, s.opts.MaxUpload)
		return
	}
	file, header, err := r.FormFile("image")
	folder, subfolder := cmp.Or(node.Folder(r.FormValue("type")), node.FolderInput), r.FormValue("subfolder")
	if err != nil || outside(subfolder) || !isFolder(folder) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	defer file.Close() // read only
	var ref struct {
		Filename  string      `json:"filename"`
		Subfolder string      `json:"subfolder"`
		Type      node.Folder `json:"type"`
	}
	if err := json.Unmarshal([]byte(r.FormValue("original_ref")), &ref); err != nil {
		http.Error(w, "500 Internal Server Error", http.StatusInternalServerError)
		return
	}
	name := header.Filename
	original, there := s.original(ref.Filename, ref.Subfolder, ref.Type)
	if there { // nothing is stored for a picture that is not there, and the answer is the same
		masked, err := withAlphaOf(original, file)
		if err != nil {
			http.Error(w, "500 Internal Server Error", http.StatusInternalServerError)
			return
		}
		name = s.files.put(folder, subfolder, name, masked, r.FormValue("overwrite") == "true")
	}
	writeJSON(w, http.StatusOK, map[string]any{"name": name, "subfolder": subfolder, "type": folder})
}

// original returns the picture that a mask is for. A name may say its folder in brackets.
func (s *Server) original(name, subfolder string, folder node.Folder) ([]byte, bool) {
	at := key(name)
	if at.name == name {
		at.folder = cmp.Or(folder, node.FolderOutput)
	}
	if at.name == "" || strings.HasPrefix(at.name, "/") || strings.Contains(at.name, "..") || outside(subfolder) {
		return nil, false
	}
	return s.files.read(fileKey{at.folder, path.Join(subfolder, at.name)})
}

// withAlphaOf returns a picture with the alpha of another one of the same size.
func withAlphaOf(original []byte, mask io.Reader) ([]byte, error) {
	picture, err := nrgba(bytes.NewReader(original))
	if err != nil {
		return nil, err
	}
	alpha, err := nrgba(mask)
	if err != nil {
		return nil, err
	}
	if picture.Bounds() != alpha.Bounds() {
		return nil, fmt.Errorf("images do not match: %v and %v", picture.Bounds(), alpha.Bounds())
	}
	for i := 3; i < len(picture.Pix); i += 4 {
		picture.Pix[i] = alpha.Pix[i]
	}
	var b bytes.Buffer
	err = png.Encode(&b, picture)
	return b.Bytes(), err
}

// nrgba decodes a picture into colours that are not multiplied by their alpha.
func nrgba(r io.Reader) (*image.NRGBA, error) {
	decoded, _, err := image.Decode(r)
	if err != nil {
		return nil, fmt.Errorf("decode a picture: %w", err)
	}
	if same, is := decoded.(*image.NRGBA); is {
		return same, nil
	}
	out := image.NewNRGBA(image.Rect(0, 0, decoded.Bounds().Dx(), decoded.Bounds().Dy()))
	draw.Draw(out, out.Bounds(), decoded, decoded.Bounds().Min, draw.Src)
	return out, nil
}
