package media

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/preview"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// maxImageSide bounds the edges of an uploaded image.
const maxImageSide = 16384

// maxFramePixels bounds the pixels of all frames of an uploaded image together.
const maxFramePixels = 1 << 30

// uploadResponse answers both upload routes.
type uploadResponse struct {
	Name      string         `json:"name"`
	Subfolder string         `json:"subfolder"`
	Type      string         `json:"type"`
	Asset     uploadedAsset  `json:"asset"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

type uploadedAsset struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Hash     string `json:"asset_hash"`
	Size     int64  `json:"size"`
	MIMEType string `json:"mime_type"`
}

func (s *Surface) uploaded(c *gin.Context, e files.Entry, metadata map[string]any) error {
	c.JSON(http.StatusOK, uploadResponse{
		Name: e.Place.Filename, Subfolder: e.Place.Subfolder, Type: e.Place.Folder, Metadata: metadata,
		Asset: uploadedAsset{
			ID: string(e.Asset), Name: e.Place.Filename, Hash: e.Hash.String(), Size: e.Size, MIMEType: e.ContentType,
		},
	})
	return nil
}

// imageUpload is an uploaded file that was received and inspected. The caller must close its writer.
type imageUpload struct {
	form  *request.Form
	w     blob.Writer
	info  codec.Info // of an image
	place asset.Place

	contentType string
}

// postImage stores an image, a sound or a video: POST /upload/image.
func (s *Surface) postImage(c *gin.Context) error {
	up, err := s.receiveImage(c, true)
	if up.w != nil {
		defer up.w.Abort()
	}
	if err != nil {
		return err
	}
	overwrite, _ := up.form.Get("overwrite")
	e, err := s.commit(c, up.w, files.Upload{
		Account: edge.Caller(c).Account, Place: up.place, Overwrite: overwrite == "true" || overwrite == "1",
		ContentType: up.contentType, Width: up.info.Width, Height: up.info.Height,
	})
	if err != nil {
		return err
	}
	return s.uploaded(c, e, nil)
}

// StorePicture stores a picture as an input of an account, within the bounds of POST /upload/image. It chooses another
// name if the account has a file of that name.
func (s *Surface) StorePicture(c *gin.Context, account, filename string, picture []byte) (files.Entry, error) {
	size := int64(len(picture))
	if size > s.opts.MaxImage {
		return files.Entry{}, fault.New(fault.Invalid, fault.CodeFileTooLarge, "the image file is too large")
	}
	place, err := files.NewPlace(node.FolderInput, path.Base(filename))
	if err != nil {
		return files.Entry{}, err
	}
	info, err := s.inspect(c.Request.Context(), account, bytes.NewReader(picture), size)
	if err != nil {
		return files.Entry{}, err
	}
	w, err := s.Files.Create(c.Request.Context())
	if err != nil {
		return files.Entry{}, err
	}
	defer w.Abort()
	if _, err := w.Write(picture); err != nil {
		return files.Entry{}, fmt.Errorf("store a picture: %w", err)
	}
	return s.commit(c, w, files.Upload{
		Account: account, Place: place, ContentType: "image/" + string(info.Format), Width: info.Width, Height: info.Height,
	})
}

// commit commits the bytes and records the file.
func (s *Surface) commit(c *gin.Context, w blob.Writer, u files.Upload) (files.Entry, error) {
	if _, size := w.Sum(); size > 0 {
		if err := s.Edge.CheckQuotaOf(c, u.Account, size); err != nil {
			return files.Entry{}, err
		}
	}
	stored, err := w.Commit(c.Request.Context())
	if err != nil {
		return files.Entry{}, err
	}
	u.RequestID = edge.RequestID(c)
	u.Hash, u.Fresh, u.Size = stored.Ref, stored.Created, stored.Size
	return s.Files.Upload(c.Request.Context(), u)
}

// receiveImage reads the request and checks that the file is an image within the limits. If media is set, it also
// accepts sounds and videos by the extension of the name; the node that reads such a file checks its content.
func (s *Surface) receiveImage(c *gin.Context, media bool) (imageUpload, error) {
	var up imageUpload
	fields := map[string]request.Occurrence{ // of a repeated field the first counts, as on a ComfyUI server: clients repeat overwrite
		"type": request.Repeated, "subfolder": request.Repeated, "overwrite": request.Repeated, "original_ref": request.Repeated,
	}
	fr := request.FormReader{
		File: "image", Limit: s.opts.MaxImage, Idle: s.opts.UploadIdle, Fields: fields,
		Open: func(map[string][]string) (io.Writer, error) {
			var err error
			up.w, err = s.Files.Create(c.Request.Context())
			return up.w, err
		},
	}
	var err error
	if up.form, err = fr.Read(c); err != nil {
		return up, tooLargeIsInvalid(err)
	}
	if !up.form.HasFile {
		return up, httperr.Invalidf("the file part image is required")
	}
	if up.place, err = placeOf(up.form); err != nil {
		return up, err
	}
	if kind, ok := node.MediaType(up.form.Filename); ok && media { // clients also upload sounds and videos
		up.contentType = kind
		return up, nil
	}
	up.info, err = s.inspect(c.Request.Context(), edge.Caller(c).Account, up.w, up.form.Size)
	up.contentType = "image/" + string(up.info.Format)
	return up, err
}

// tooLargeIsInvalid turns the error for a file over the limit into 400, the status of the upload routes.
func tooLargeIsInvalid(err error) error {
	if fault.CodeOf(err) == fault.CodeBodyTooLarge {
		return fault.Wrap(err, fault.Invalid, fault.CodeFileTooLarge, "the image file is too large")
	}
	return err
}

// placeOf parses the place of an upload.
func placeOf(f *request.Form) (asset.Place, error) {
	folder := node.FolderInput
	if v, ok := f.Get("type"); ok && v != "" {
		folder = node.Folder(v)
	}
	place, err := files.NewPlace(folder, f.Filename)
	place.Subfolder = ""
	if sub, _ := f.Get("subfolder"); sub != "" && err == nil {
		return files.NewPlace(folder, path.Clean(sub)+"/"+place.Filename)
	}
	return place, err
}

// inspect reads an image's header, not its pixels.
func (s *Surface) inspect(ctx context.Context, account string, r io.ReaderAt, size int64) (codec.Info, error) {
	release, err := s.claimImage(ctx, account)
	if err != nil {
		return codec.Info{}, err
	}
	defer release()
	info, err := codec.Stat(raster.Engine{MaxPixels: maxFramePixels}, io.NewSectionReader(r, 0, size))
	switch {
	case err != nil:
		return codec.Info{}, invalidImage(err)
	case info.Width > maxImageSide || info.Height > maxImageSide:
		return codec.Info{}, fault.New(fault.Invalid, fault.CodeInvalidImage, "an edge of the image has more than %d pixels", maxImageSide)
	case int64(info.Width)*int64(info.Height) > maxViewPixels:
		return codec.Info{}, fault.New(fault.Invalid, fault.CodeInvalidImage, "the image has more than %d megapixels", maxViewPixels/1_000_000)
	}
	return info, nil
}

// originalRef names the original image of a mask.
type originalRef struct {
	Filename  string `json:"filename"`
	Subfolder string `json:"subfolder"`
	Type      string `json:"type"`
}

// postMask stores the original image with the alpha channel of an uploaded mask: POST /upload/mask.
func (s *Surface) postMask(c *gin.Context) error {
	up, err := s.receiveImage(c, false)
	if up.w != nil {
		defer up.w.Abort()
	}
	if err != nil {
		return err
	}
	up.place.Subfolder = "" // the subfolder of a mask has no effect
	original, err := s.original(c, up.form)
	if err != nil {
		return err
	}
	w, err := s.applyMask(c.Request.Context(), original, up)
	if err != nil {
		return err
	}
	defer w.Abort()
	e, err := s.commit(c, w, files.Upload{
		Account: edge.Caller(c).Account, Place: up.place, ContentType: "image/png", Width: up.info.Width, Height: up.info.Height,
	})
	if err != nil {
		return err
	}
	return s.uploaded(c, e, map[string]any{"is_mask": true, "original_hash": original.Hash.String()})
}

// original returns the image that original_ref names. Every error of the reference is 400.
func (s *Surface) original(c *gin.Context, f *request.Form) (files.Entry, error) {
	raw, _ := f.Get("original_ref")
	var ref originalRef
	if err := json.Unmarshal([]byte(raw), &ref); err != nil || ref.Filename == "" {
		return files.Entry{}, httperr.Invalidf("original_ref must be a JSON object with the filename of the original image")
	}
	folder := node.Folder(ref.Type)
	folder = cmp.Or(folder, node.FolderOutput)
	name := ref.Filename
	if ref.Subfolder != "" {
		name = ref.Subfolder + "/" + name
	}
	place, err := files.NewPlace(folder, name)
	if err != nil {
		return files.Entry{}, err
	}
	e, err := s.Files.Lookup(c.Request.Context(), edge.Caller(c).Account, place)
	if fault.Is(err, fault.NotFound) {
		return files.Entry{}, httperr.Invalidf("the original image %s does not exist", ref.Filename)
	}
	return e, err
}

// applyMask writes the original with the alpha channel of the mask. The caller must close the returned writer.
func (s *Surface) applyMask(ctx context.Context, original files.Entry, up imageUpload) (blob.Writer, error) {
	release, err := s.claimImage(ctx, original.Account)
	if err != nil {
		return nil, err
	}
	defer release()
	r, err := s.Files.Open(ctx, original)
	if err != nil {
		return nil, fmt.Errorf("open the original of a mask: %w", err)
	}
	defer r.Close()
	w, err := s.Files.Create(ctx)
	if err != nil {
		return nil, err
	}
	mask := io.NewSectionReader(up.w, 0, up.form.Size)
	if err := preview.ApplyMask(ctx, raster.Engine{MaxPixels: maxViewPixels}, w, r, mask); err != nil {
		return nil, errors.Join(invalidImage(err), w.Abort())
	}
	return w, nil
}

// claimImage waits for a slot to decode an image.
func (s *Surface) claimImage(ctx context.Context, account string) (release func(), err error) {
	return s.images.Begin(ctx, account)
}
