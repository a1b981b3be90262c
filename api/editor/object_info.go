package editor

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/ordered"
)

// maxOffered bounds the file names that one input offers as choices.
const maxOffered = 1000

// maxRendered bounds the cached renderings of all definitions. Accounts with the same files share a rendering.
const maxRendered = 64

func (s *Surface) definitionRoutes() []edge.Route {
	if s.Classes == nil {
		return nil
	}
	return edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: "/object_info", Handle: s.getObjectInfo},
		edge.Route{Method: http.MethodGet, Path: "/object_info/:class", Handle: s.getClassInfo},
	)
}

// getObjectInfo defines every class: GET /object_info. Only the choices of file inputs and the classes of deployments
// differ between accounts, so the answer is rendered once for each set of these.
func (s *Surface) getObjectInfo(c *gin.Context) error {
	offered, err := s.offered(c.Request.Context(), edge.Caller(c).Account)
	if err != nil {
		return err
	}
	r, err := s.definitions.get(offered, s.Edge.FromEditor(c))
	if err != nil {
		return err
	}
	h := c.Writer.Header()
	h.Set("ETag", r.etag)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Encoding, Authorization, X-API-Key, Sec-Fetch-Site, Referer")
	if edge.Unchanged(c, r.etag) {
		return nil
	}
	body := r.plain
	if edge.AcceptsGzip(c.Request) {
		h.Set("Content-Encoding", "gzip")
		body = r.compressed
	}
	c.Data(http.StatusOK, "application/json; charset=utf-8", body)
	return nil
}

// getClassInfo defines one class; an unknown one is {}: GET /object_info/{class}.
func (s *Surface) getClassInfo(c *gin.Context) error {
	offered, err := s.offered(c.Request.Context(), edge.Caller(c).Account)
	if err != nil {
		return err
	}
	classes, err := s.Classes.With(offered.own...)
	if err != nil {
		return err
	}
	body, err := classes.Definitions(c.Request.Context(), offered, c.Param("class"))
	if err != nil {
		return err
	}
	if !s.Edge.FromEditor(c) {
		return edge.OK(c, body, nil)
	}
	raw, err := json.Marshal(body)
	if err == nil {
		raw, err = withoutSignIn(s.Classes, raw)
	}
	if err != nil {
		return err
	}
	c.Header("Vary", "Sec-Fetch-Site")
	c.Data(http.StatusOK, "application/json; charset=utf-8", raw)
	return nil
}

// withoutSignIn returns definitions in which the partner classes of this service are not marked api_node. The
// published editor runs marked classes only for users who are signed in to another service; the users of this service
// have signed in here.
func withoutSignIn(classes *node.Registry, definitions []byte) ([]byte, error) {
	members, err := ordered.Members(definitions)
	if err != nil {
		return nil, fmt.Errorf("read the definitions: %w", err)
	}
	for i, m := range members {
		if class, ok := classes.Lookup(m.Name); ok && class.Partner {
			members[i].Raw = bytes.Replace(m.Raw, []byte(`"api_node":true`), []byte(`"api_node":false`), 1) // quotes inside strings are escaped
		}
	}
	return ordered.Object(members), nil
}

// offered reads the classes of the account's deployments, and the names of its files that file inputs offer as choices.
func (s *Surface) offered(ctx context.Context, owner string) (offered offeredFiles, err error) {
	if s.Own != nil {
		if offered.own, err = s.Own(ctx, owner); err != nil {
			return offered, err
		}
	}
	offered.names = map[node.Folder][]string{}
	for _, folder := range s.definitions.folders {
		list, err := s.NodeFiles.ForAccount(owner).List(ctx, folder, maxOffered)
		if err != nil {
			return offered, fmt.Errorf("list the files of folder %s: %w", folder, err)
		}
		offered.names[folder] = list
	}
	return offered, nil
}

// offeredFiles are the files of an account whose names were read before. Definitions do not use the other methods.
type offeredFiles struct {
	node.Files
	names map[node.Folder][]string
	own   []*node.Class
}

// List implements node.Files.
func (o offeredFiles) List(_ context.Context, folder node.Folder, limit int) ([]string, error) {
	names := o.names[folder]
	return names[:min(limit, len(names))], nil
}

// definitions renders all classes, once for each set of file names.
type definitions struct {
	classes *node.Registry
	folders []node.Folder // folders whose files inputs offer

	mu       sync.Mutex // held during rendering, so that equal definitions are rendered once
	rendered *simplelru.LRU[[sha256.Size]byte, *rendering]
}

type rendering struct {
	plain, compressed []byte
	etag              string
}

func newDefinitions(classes *node.Registry) *definitions {
	rendered, err := simplelru.NewLRU[[sha256.Size]byte, *rendering](maxRendered, nil)
	if err != nil {
		panic(err) // the bound is a constant
	}
	d := &definitions{classes: classes, rendered: rendered}
	if classes == nil {
		return d
	}
	for _, class := range classes.Classes() {
		for _, in := range class.Inputs {
			if in.Folder != "" && !slices.Contains(d.folders, in.Folder) {
				d.folders = append(d.folders, in.Folder)
			}
		}
	}
	return d
}

// get returns the definitions for the editor that this service serves (here), or for other clients.
func (d *definitions) get(offered offeredFiles, here bool) (*rendering, error) {
	key, err := d.key(offered, here)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r, ok := d.rendered.Get(key); ok {
		return r, nil
	}
	r, err := d.render(offered, here)
	if err != nil {
		return nil, err
	}
	d.rendered.Add(key, r)
	return r, nil
}

func (d *definitions) key(offered offeredFiles, here bool) (key [sha256.Size]byte, err error) {
	// read before the classes: a rendering may be newer than its key, but not older
	generation := d.classes.Generation()
	var own node.Definitions
	classes, err := node.NewRegistry(offered.own...)
	if err == nil {
		own, err = classes.Definitions(context.Background(), nil)
	}
	if err != nil {
		return key, err
	}
	// maps are rendered in the order of their keys
	raw, err := json.Marshal(map[string]any{"offered": offered.names, "own": own, "generation": generation, "here": here})
	if err != nil {
		return key, err
	}
	return sha256.Sum256(raw), nil
}

func (d *definitions) render(offered offeredFiles, here bool) (*rendering, error) {
	classes, err := d.classes.With(offered.own...)
	if err != nil {
		return nil, err
	}
	all, err := classes.Definitions(context.Background(), offered)
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(all)
	if err == nil && here {
		plain, err = withoutSignIn(d.classes, plain)
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return &rendering{plain: plain, compressed: b.Bytes(), etag: edge.ETag(plain)}, nil
}
