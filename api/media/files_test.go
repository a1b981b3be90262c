package media_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/webp"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

func TestAnUploadedImageIsViewedThroughASignedLink(t *testing.T) { // W-10, W-11, W-33 to W-35
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	data := apitest.Picture(t, 8, 6, 0)
	up := h.Post(t, "/api/upload/image", "key-a", apitest.File("image", "photo.png", data), apitest.Field("type", "input"),
		apitest.Field("overwrite", "false"))
	require.Equal(t, http.StatusOK, up.Status, up.Body)
	require.Equal(t, "photo.png", up.JSON(t)["name"])
	require.Equal(t, "", up.JSON(t)["subfolder"])
	require.Equal(t, "input", up.JSON(t)["type"])

	for _, target := range []string{h.View("photo.png"), h.View("photo.png", "subfolder", "")} {
		res := h.Get(t, target, "key-a")
		require.Equal(t, http.StatusFound, res.Status)
		link := res.Header.Get("Location")
		require.True(t, strings.HasPrefix(link, h.URL+"/files/"), link)
		got := h.Get(t, link, "")
		require.Equal(t, http.StatusOK, got.Status)
		require.Equal(t, data, got.Body)
		require.Equal(t, "image/png", got.Header.Get("Content-Type"))
		require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
		require.Contains(t, got.Header.Get("Content-Security-Policy"), "sandbox")
		require.Equal(t, "inline; filename=photo.png", got.Header.Get("Content-Disposition"))
	}
	require.Equal(t, http.StatusNotFound, h.Get(t, h.View("photo.png"), "key-b").Status, "another account sees nothing")
	require.Equal(t, http.StatusUnauthorized, h.Get(t, h.View("photo.png"), "").Status)
}

// Two folders keep two files of one name. The answer names the folder, and graphs and /view find the file there.
func TestAnImageIsUploadedIntoASubfolder(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	pictures := map[string]string{"one": apitest.Picture(t, 8, 6, 0), "two/deep": apitest.Picture(t, 6, 8, 1)}
	for sub, data := range pictures {
		up := h.Post(t, "/upload/image", "key-a", apitest.File("image", "photo.png", data), apitest.Field("subfolder", sub+"/"))
		require.Equal(t, http.StatusOK, up.Status, up.Body)
		require.Equal(t, "photo.png", up.JSON(t)["name"])
		require.Equal(t, sub, up.JSON(t)["subfolder"])
	}
	graphs := h.Files.ForAccount("a")
	for sub, data := range pictures {
		require.Equal(t, data, h.Get(t, "/view?type=input&filename=photo.png&subfolder="+sub, "key-a").Body)
		found, err := graphs.Stat(t.Context(), sub+"/photo.png")
		require.NoError(t, err)
		require.Equal(t, apitest.HashOf(data), found.Hash)
	}
	_, err := graphs.Stat(t.Context(), "photo.png")
	require.Error(t, err, "no file lies outside the folders")

	flat := apitest.Picture(t, 4, 4, 2)
	h.Post(t, "/upload/image", "key-a", apitest.File("image", "photo.png", flat), apitest.Field("subfolder", ""))
	for _, name := range []string{"photo.png", "/photo.png", "gone/photo.png"} {
		found, err := graphs.Stat(t.Context(), name)
		require.NoError(t, err, name)
		require.Equal(t, apitest.HashOf(flat), found.Hash, name)
	}
	for _, name := range []string{"//photo.png", "/../photo.png", "/"} {
		_, err := graphs.Stat(t.Context(), name)
		require.Error(t, err, name)
	}
}

func link(t *testing.T, h *apitest.FileHarness, name string) string {
	t.Helper()
	res := h.Get(t, h.View(name), "key-a")
	require.Equal(t, http.StatusFound, res.Status, res.Body)
	return res.Header.Get("Location")
}

func TestSignedLinksServeRangesAndConditions(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	data := apitest.Picture(t, 64, 64, 1)
	h.Post(t, "/upload/image", "key-a", apitest.File("image", "photo.png", data))
	link := link(t, h, "photo.png")

	full := h.Get(t, link, "")
	require.Equal(t, `"`+blob.Sum([]byte(data)).String()+`"`, full.Header.Get("ETag"))
	require.Equal(t, fmt.Sprint(len(data)), full.Header.Get("Content-Length"))
	ranged := h.Get(t, link, "", "Range", "bytes=10-19")
	require.Equal(t, http.StatusPartialContent, ranged.Status)
	require.Equal(t, data[10:20], ranged.Body)
	require.Equal(t, fmt.Sprintf("bytes 10-19/%d", len(data)), ranged.Header.Get("Content-Range"))
	tail := h.Get(t, link, "", "Range", "bytes=-5")
	require.Equal(t, data[len(data)-5:], tail.Body)
	require.Equal(t, http.StatusNotModified, h.Get(t, link, "", "If-None-Match", full.Header.Get("ETag")).Status)
	require.Equal(t, http.StatusOK, h.Get(t, link, "", "If-Range", `"other"`, "Range", "bytes=0-1").Status)
	require.Equal(t, http.StatusPartialContent, h.Get(t, link, "", "If-Range", full.Header.Get("ETag"), "Range", "bytes=0-1").Status)
	require.Equal(t, http.StatusOK, h.Get(t, link, "", "Range", "items=0-1").Status, "a unit that is not known is ignored")
	bad := h.Get(t, link, "", "Range", fmt.Sprintf("bytes=%d-", len(data)))
	require.Equal(t, http.StatusRequestedRangeNotSatisfiable, bad.Status)
	require.Equal(t, "range_not_satisfiable", bad.JSON(t)["code"])
	require.Equal(t, fmt.Sprintf("bytes */%d", len(data)), bad.Header.Get("Content-Range"))
	head := h.Do(t, h.Request(t, http.MethodHead, link, "", nil))
	require.Equal(t, http.StatusOK, head.Status)
	require.Empty(t, head.Body)
	require.Equal(t, fmt.Sprint(len(data)), head.Header.Get("Content-Length"))
}

func TestSignedLinksExpireAndCannotBeChanged(t *testing.T) { // W-34, X-42
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	h.Post(t, "/upload/image", "key-a", apitest.File("image", "photo.png", apitest.Picture(t, 8, 8, 1)))
	link := link(t, h, "photo.png")
	for _, changed := range []string{
		strings.Replace(link, "photo.png", "other.png", 1), strings.Replace(link, "e=", "e=1", 1),
		strings.Replace(link, "image%2Fpng", "text%2Fhtml", 1), link[:len(link)-10], strings.Split(link, "?")[0],
	} {
		require.NotEqual(t, link, changed)
		res := h.Get(t, changed, "")
		require.Equal(t, http.StatusForbidden, res.Status, changed)
		require.Equal(t, "forbidden", res.JSON(t)["code"])
	}
	h.Ahead.Store(int64(time.Hour))
	require.Equal(t, http.StatusForbidden, h.Get(t, link, "").Status)
}

func TestADamagedFileIsNeverServed(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	data := apitest.Picture(t, 64, 64, 1)
	h.Post(t, "/upload/image", "key-a", apitest.File("image", "photo.png", data))
	link := link(t, h, "photo.png")
	require.Equal(t, http.StatusOK, h.Get(t, link, "").Status)
	hex := blob.Sum([]byte(data)).Hex()
	path := filepath.Join(h.Root, "blobs", hex[:2], hex)
	broken := []byte(data)
	broken[len(broken)/2] ^= 1
	require.NoError(t, os.WriteFile(path, broken, 0o600))
	res := h.Get(t, link, "")
	require.Equal(t, http.StatusNotFound, res.Status)
	require.Equal(t, "output_unavailable", res.JSON(t)["code"])
	require.Equal(t, http.StatusNotFound, h.Get(t, link, "", "Range", "bytes=0-3").Status)
}

func TestActiveContentIsNeverShownInPlace(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	for name, contentType := range map[string]string{
		"x.html": "text/html", "x.svg": "image/svg+xml", "x.js": "text/javascript", "x.xhtml": "application/xhtml+xml",
		"x.xml": "application/xml", "x.bin": "nonsense", "x.css": "text/css; charset=utf-8",
	} {
		save := node.Save{Folder: node.FolderOutput, Prefix: name, Suffix: "_" + name, ContentType: contentType}
		f, err := h.Files.ForNode(job.RunRef{Job: job.NewID(), Account: "a", Run: 1}, "1").Save(t.Context(), save, func(w io.Writer) error {
			_, err := io.WriteString(w, "<script>"+name)
			return err
		})
		require.NoError(t, err)
		res := h.Get(t, h.View(f.Filename, "type", "output"), "key-a")
		require.Equal(t, http.StatusFound, res.Status)
		got := h.Get(t, res.Header.Get("Location"), "")
		require.Equal(t, "application/octet-stream", got.Header.Get("Content-Type"), name)
		require.True(t, strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment;"), name)
	}
}

func TestViewRefusals(t *testing.T) { // W-36
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	h.Post(t, "/upload/image", "key-a", apitest.File("image", "photo.png", apitest.Picture(t, 8, 8, 1)))
	for target, want := range map[string]int{
		"/api/view":                                               http.StatusBadRequest,
		"/api/view?filename=":                                     http.StatusBadRequest,
		"/api/view?filename=no.png":                               http.StatusNotFound,
		"/api/view?filename=photo.png":                            http.StatusNotFound, // an input; the default is output
		"/api/view?filename=photo.png&type=models":                http.StatusBadRequest,
		"/api/view?filename=../photo.png&type=input":              http.StatusBadRequest,
		"/api/view?filename=/photo.png&type=input":                http.StatusBadRequest,
		"/api/view?filename=a%00b&type=input":                     http.StatusBadRequest,
		"/api/view?filename=photo.png&type=input&subfolder=../..": http.StatusBadRequest,
		"/api/view?filename=photo.png&type=input&subfolder=x":     http.StatusFound, // inputs lie flat
		"/api/view?filename=photo.png%20%5Binput%5D":              http.StatusFound,
	} {
		require.Equal(t, want, h.Get(t, target, "key-a").Status, target)
	}
}

func TestChannelsAndPreviewsAnswerWithTheImage(t *testing.T) { // W-36
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	h.Post(t, "/upload/image", "key-a", apitest.File("image", "photo.png", apitest.Picture(t, 8, 8, 1)))
	rgb := h.Get(t, h.View("photo.png", "channel", "rgb"), "key-a")
	require.Equal(t, http.StatusOK, rgb.Status)
	require.Equal(t, "image/png", rgb.Header.Get("Content-Type"))
	img, err := png.Decode(strings.NewReader(rgb.Body))
	require.NoError(t, err)
	require.Equal(t, uint8(255), color.NRGBAModel.Convert(img.At(3, 3)).(color.NRGBA).A)
	small := h.Get(t, h.View("photo.png", "preview", "webp;50"), "key-a")
	require.Equal(t, "image/webp", small.Header.Get("Content-Type"))
	_, err = webp.Decode(strings.NewReader(small.Body))
	require.NoError(t, err)
	bare := h.Get(t, h.View("photo.png")+"&preview=webp;50", "key-a")
	require.Equal(t, small.Body, bare.Body, "a bare semicolon, as editors send it")
}

// Clients upload sounds and videos through the route for images; masks are images.
func TestSoundsAndVideosAreUploadedByTheirNames(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	for name, want := range map[string]string{"a.WAV": "audio/wav", "b.mp4": "video/mp4", "c.avi": "application/octet-stream"} {
		res := h.Post(t, "/api/upload/image", "key-a", apitest.File("image", name, "sound"))
		require.Equal(t, http.StatusOK, res.Status, res.Body)
		got := h.Get(t, "/api/view?type=input&filename="+name, "key-a")
		require.Equal(t, want, h.Get(t, got.Header.Get("Location"), "").Header.Get("Content-Type"), name)
	}
	original := h.Post(t, "/api/upload/image", "key-a", apitest.File("image", "o.png", apitest.Picture(t, 8, 8, 1)))
	require.Equal(t, http.StatusOK, original.Status)
	res := h.Post(t, "/api/upload/mask", "key-a", apitest.File("image", "mask.mp4", "no picture"),
		apitest.Field("original_ref", `{"filename":"o.png","subfolder":"","type":"input"}`))
	require.Equal(t, http.StatusBadRequest, res.Status, res.Body)
}

func TestUploadRefusals(t *testing.T) { // W-12, W-16
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{MaxImage: 1 << 20})
	good := apitest.Picture(t, 8, 8, 1)
	for name, parts := range map[string][]apitest.Part{
		"no image":          {apitest.Field("type", "input")},
		"not an image":      {apitest.File("image", "a.png", "hello")},
		"empty":             {apitest.File("image", "a.png", "")},
		"truncated":         {apitest.File("image", "a.png", good[:20])},
		"too wide":          {apitest.File("image", "a.png", wide(t))},
		"too large":         {apitest.File("image", "a.png", good+strings.Repeat("x", 1<<20))},
		"no name":           {apitest.Field("image", good)},
		"leaves its folder": {apitest.File("image", "../a.png", good)},
		"absolute":          {apitest.File("image", "/etc/a.png", good)},
		"hostile subfolder": {apitest.File("image", "a.png", good), apitest.Field("subfolder", "../x")},
		"unknown folder":    {apitest.File("image", "a.png", good), apitest.Field("type", "models")},
		"two images":        {apitest.File("image", "a.png", good), apitest.File("image", "b.png", good)},
		"an endless field":  {apitest.Field("type", strings.Repeat("x", 1<<17)), apitest.File("image", "a.png", good)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := h.Post(t, "/api/upload/image", "key-a", parts...)
			require.Equal(t, http.StatusBadRequest, res.Status, res.Body)
			require.NotEmpty(t, res.JSON(t)["code"])
		})
	}
	t.Run("a read-only key", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, http.StatusForbidden, h.Post(t, "/api/upload/image", "read", apitest.File("image", "a.png", good)).Status)
	})
	t.Run("not multipart", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, http.StatusBadRequest, h.Do(t, h.Request(t, http.MethodPost, "/api/upload/image", "key-a",
			strings.NewReader("{}"))).Status)
	})
	t.Cleanup(func() {
		stored, staged := h.Blobs(t)
		require.Zero(t, stored, "nothing half-written")
		require.Zero(t, staged)
	})
}

// wide is a PNG header that announces 20,000 × 20,000 pixels.
func wide(t *testing.T) string {
	t.Helper()
	data := []byte(apitest.Picture(t, 1, 1, 0))
	data[18], data[19], data[22], data[23] = 0x4e, 0x20, 0x4e, 0x20
	return string(data)
}

func TestUploadNamesThroughTheAPI(t *testing.T) { // W-13
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	name := func(seed uint8, more ...apitest.Part) string {
		res := h.Post(t, "/api/upload/image", "key-a", append([]apitest.Part{apitest.File("image", "p.png", apitest.Picture(t, 8, 8, seed))},
			more...)...)
		require.Equal(t, http.StatusOK, res.Status, res.Body)
		return res.JSON(t)["name"].(string)
	}
	require.Equal(t, "p.png", name(1))
	require.Equal(t, "p.png", name(1))
	require.Equal(t, "p (1).png", name(2))
	require.Equal(t, "p.png", name(3, apitest.Field("overwrite", "true")))
	require.Equal(t, apitest.Picture(t, 8, 8, 3), h.Get(t, link(t, h, "p.png"), "").Body)
	require.Equal(t, "p.png", name(4, apitest.Field("overwrite", "true"), apitest.Field("overwrite", "false")), "the first counts")
}

func TestAMaskedImageHasTheOriginalsColourAndTheMasksAlpha(t *testing.T) { // W-14 to W-16
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	original := apitest.Picture(t, 8, 8, 1)
	h.Post(t, "/api/upload/image", "key-a", apitest.File("image", "photo.png", original))
	mask := image.NewNRGBA(image.Rect(0, 0, 8, 8))
	for i := range mask.Pix {
		mask.Pix[i] = uint8(i)
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, mask))
	ref := `{"filename":"photo.png","subfolder":"","type":"input"}`
	res := h.Post(t, "/api/upload/mask", "key-a", apitest.File("image", "mask.png", b.String()),
		apitest.Field("type", "input"), apitest.Field("subfolder", "clipspace"), apitest.Field("original_ref", ref))
	require.Equal(t, http.StatusOK, res.Status, res.Body)
	require.Equal(t, "mask.png", res.JSON(t)["name"])
	require.Equal(t, "", res.JSON(t)["subfolder"])
	got, err := png.Decode(strings.NewReader(h.Get(t, link(t, h, "mask.png"), "").Body))
	require.NoError(t, err)
	was, err := png.Decode(strings.NewReader(original))
	require.NoError(t, err)
	for y := range 8 {
		for x := range 8 {
			want := was.(*image.NRGBA).NRGBAAt(x, y)
			want.A = mask.NRGBAAt(x, y).A
			require.Equal(t, want, got.(*image.NRGBA).NRGBAAt(x, y))
		}
	}
	for _, bad := range []string{
		"", "{", `{"filename":""}`, `{"filename":"no.png","type":"input"}`,
		`{"filename":"../photo.png","type":"input"}`, `[1]`,
	} {
		res := h.Post(t, "/api/upload/mask", "key-a", apitest.File("image", "mask.png", b.String()), apitest.Field("original_ref", bad))
		require.Equal(t, http.StatusBadRequest, res.Status, bad)
	}
	res = h.Post(t, "/api/upload/mask", "key-a", apitest.File("image", "mask.png", apitest.Picture(t, 4, 4, 0)),
		apitest.Field("original_ref", ref))
	require.Equal(t, "the mask is 4 × 4 pixels large, the original 8 × 8; both must have the same size", res.JSON(t)["message"])
	require.Equal(t, http.StatusBadRequest, res.Status, "another size")
}
