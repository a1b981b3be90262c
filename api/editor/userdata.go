package editor

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/userdata"
)

// Userdata stores the files of editors; userdata.Service implements it.
type Userdata interface {
	// List returns the files directly in a directory, or all files below it.
	List(ctx context.Context, account string, dir userdata.Path, recurse bool) ([]userdata.File, error)
	// Open returns a file and its bytes, which the caller must close.
	Open(ctx context.Context, account string, p userdata.Path) (userdata.File, blob.Reader, error)
	// Save stores data under a path. A path in use is Conflict unless overwrite is set.
	Save(ctx context.Context, account string, p userdata.Path, data []byte, overwrite bool) (userdata.File, error)
	// Delete deletes a file.
	Delete(ctx context.Context, account string, p userdata.Path) error
	// Settings returns the settings of the account's editor. ChangeSettings adds or replaces values.
	Settings(ctx context.Context, account string) (userdata.Settings, error)
	ChangeSettings(ctx context.Context, account string, values userdata.Settings) error
	// Move renames a file.
	Move(ctx context.Context, account string, from, to userdata.Path, overwrite bool) (userdata.File, error)
}

// maxUserdata bounds a file, in bytes. Workflows with pictures inside are smaller.
const maxUserdata = 16 << 20

// userdataRoutes serve the files of editors. The path of a file is one segment with escaped slashes, as in the
// self-hosted runtime.
func (s *Surface) userdataRoutes() []edge.Route {
	if s.Userdata == nil {
		return nil
	}
	const file = "/userdata/*file"
	return edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: "/userdata", Handle: plainTextErrors(s.listUserdata)},
		edge.Route{Method: http.MethodGet, Path: "/v2/userdata", Handle: plainTextErrors(s.listUserdataV2)},
		edge.Route{Method: http.MethodGet, Path: file, Handle: plainTextErrors(s.getUserdata)},
		edge.Route{Method: http.MethodPost, Path: file, Access: edge.Store, Limit: maxUserdata, Handle: plainTextErrors(s.postUserdata)},
		edge.Route{Method: http.MethodDelete, Path: file, Access: edge.Write, Handle: plainTextErrors(s.deleteUserdata)},
	)
}

// plainTextErrors answers a refused request in plain text, the format of these routes.
func plainTextErrors(handle func(*gin.Context) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		err := handle(c)
		if fault.CodeOf(err) == fault.CodeMethodNotAllowed {
			return err
		}
		status := 0
		switch fault.KindOf(err) {
		case fault.Invalid:
			status = http.StatusBadRequest
		case fault.NotFound:
			status = http.StatusNotFound
		case fault.Conflict:
			status = http.StatusConflict
		case fault.Exhausted, fault.Unavailable, fault.Unauthenticated, fault.Denied, fault.Canceled, fault.Internal:
		}
		if err == nil || status == 0 || c.Writer.Written() {
			return err
		}
		message, _ := httperr.PublicText(status, err)
		c.String(status, "%s", message)
		return nil
	}
}

// userPath parses the file that the path names and, after /move/, its new path.
func userPath(c *gin.Context) (file, dest userdata.Path, moving bool, err error) {
	_, rest, _ := strings.Cut(c.Request.URL.EscapedPath(), "/userdata/")
	from, to, moving := strings.Cut(rest, "/move/")
	if strings.Contains(from+to, "/") {
		return "", "", false, fault.New(fault.NotFound, fault.CodeNotFound,
			"there is nothing at this path; escape the slashes in the path of a file")
	}
	if file, err = unescaped(from); err == nil && moving {
		dest, err = unescaped(to)
	}
	return file, dest, moving, err
}

func unescaped(segment string) (userdata.Path, error) {
	text, err := url.PathUnescape(segment)
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, fault.CodeInvalidPath, "the path is not escaped as in a URL")
	}
	return userdata.ParsePath(text)
}

// userFile is the description of a file for full_info. Times are milliseconds.
type userFile struct {
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"`
	Created  int64  `json:"created"`
}

func infoOf(f userdata.File, path string) userFile {
	return userFile{Path: path, Size: f.Size, Modified: f.Modified.UnixMilli(), Created: f.Created.UnixMilli()}
}

// listUserdata: GET /userdata?dir=&recurse=&split=&full_info=. Names are relative to the directory.
func (s *Surface) listUserdata(c *gin.Context) error {
	if _, given := c.GetQuery("dir"); !given {
		return httperr.Invalidf("the parameter dir is required")
	}
	dir, err := userdata.ParseDir(c.Query("dir"))
	if err != nil {
		return err
	}
	found, err := s.Userdata.List(c.Request.Context(), edge.Caller(c).Account, dir, isTrue(c.Query("recurse")))
	if err != nil {
		return err
	}
	list := []any{}
	for _, f := range found {
		name := strings.TrimPrefix(strings.TrimPrefix(string(f.Path), string(dir)), "/")
		switch {
		case isTrue(c.Query("full_info")):
			list = append(list, infoOf(f, name))
		case isTrue(c.Query("split")):
			list = append(list, append([]string{name}, strings.Split(name, "/")...))
		default:
			list = append(list, name)
		}
	}
	return edge.OK(c, list, nil)
}

// userEntry is a file or a directory of GET /v2/userdata. Modified is in seconds.
type userEntry struct {
	Name     string   `json:"name"`
	Path     string   `json:"path"` // relative to the user's root
	Type     string   `json:"type"` // file or directory
	Size     *int64   `json:"size,omitempty"`
	Modified *float64 `json:"modified,omitempty"`
}

// listUserdataV2 lists all directories and files below a directory, directories first: GET /v2/userdata?path=.
func (s *Surface) listUserdataV2(c *gin.Context) error {
	dir, err := userdata.ParseDir(c.Query("path"))
	if err != nil {
		return err
	}
	found, err := s.Userdata.List(c.Request.Context(), edge.Caller(c).Account, dir, true)
	if err != nil {
		return err
	}
	seen, list := map[string]bool{}, []userEntry{}
	for _, f := range found {
		for parent := path.Dir(string(f.Path)); parent != "." && parent != string(dir) && !seen[parent]; parent = path.Dir(parent) {
			seen[parent] = true
			list = append(list, userEntry{Name: path.Base(parent), Path: parent, Type: "directory"})
		}
		modified := float64(f.Modified.UnixMilli()) / 1000
		list = append(list, userEntry{Name: f.Base(), Path: string(f.Path), Type: "file", Size: &f.Size, Modified: &modified})
	}
	slices.SortFunc(list, func(a, b userEntry) int { // "directory" sorts before "file"
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)),
			strings.Compare(a.Path, b.Path))
	})
	return edge.OK(c, list, nil)
}

func isTrue(text string) bool { return strings.EqualFold(text, "true") || text == "1" }

// getUserdata: GET /userdata/{file}.
func (s *Surface) getUserdata(c *gin.Context) error {
	file, _, moving, err := userPath(c)
	if moving {
		c.Header("Allow", http.MethodPost)
		return httperr.MethodNotAllowed(c.Request.Method)
	}
	if err != nil {
		return err
	}
	f, r, err := s.Userdata.Open(c.Request.Context(), edge.Caller(c).Account, file)
	if err != nil {
		return err
	}
	defer r.Close()
	h := c.Writer.Header()
	contentType, disposition := userdataPresentation(c.Request, f)
	h.Set("Content-Type", contentType)
	h.Set("Content-Disposition", content.Disposition(disposition, f.Base()))
	h.Set("Vary", "Sec-Fetch-Dest")
	h.Set("ETag", `"`+f.Hash.Hex()+`"`)
	h.Set("Cache-Control", "private, no-cache")
	return content.ServeReader(c, f.Modified, r)
}

// userdataPresentation lets a browser display no file of a user except a style sheet that a page loads: editors load
// user.css that way. A browser that opens the style sheet as a page saves it.
func userdataPresentation(r *http.Request, f userdata.File) (contentType, disposition string) {
	if r.Header.Get("Sec-Fetch-Dest") == "style" && path.Ext(f.Base()) == ".css" {
		return "text/css; charset=utf-8", "inline"
	}
	return content.OctetStream, "attachment"
}

// postUserdata stores the body, or renames a file: POST /userdata/{file}[/move/{dest}].
func (s *Surface) postUserdata(c *gin.Context) error {
	path, dest, moving, err := userPath(c)
	if err != nil {
		return err
	}
	overwrite := !strings.EqualFold(c.Query("overwrite"), "false")
	var kept userdata.File
	if moving {
		kept, err = s.Userdata.Move(c.Request.Context(), edge.Caller(c).Account, path, dest, overwrite)
	} else {
		var data []byte
		if data, err = request.Read(c); err == nil {
			err = s.Edge.CheckQuota(c, int64(len(data)))
		}
		if err == nil {
			kept, err = s.Userdata.Save(c.Request.Context(), edge.Caller(c).Account, path, data, overwrite)
		}
	}
	if err != nil {
		return err
	}
	if isTrue(c.Query("full_info")) {
		c.PureJSON(http.StatusOK, infoOf(kept, string(kept.Path)))
	} else {
		c.PureJSON(http.StatusOK, kept.Path)
	}
	return nil
}

// deleteUserdata: DELETE /userdata/{file}.
func (s *Surface) deleteUserdata(c *gin.Context) error {
	path, _, moving, err := userPath(c)
	if moving {
		c.Header("Allow", http.MethodPost)
		return httperr.MethodNotAllowed(c.Request.Method)
	}
	if err == nil {
		err = s.Userdata.Delete(c.Request.Context(), edge.Caller(c).Account, path)
	}
	if err != nil {
		return err
	}
	edge.NoContent(c)
	return nil
}
