// Package catalogue keeps in memory the lists that ComfyUI servers offer to an editor besides their node classes:
// model files, embeddings, and the web files of custom nodes. It promises that an answer never waits for a server:
// answers come from the last listing of each server, and a server that does not respond keeps its last listing until
// it is removed. Classes and the health of servers are left to other packages.
package catalogue

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Member is one registered server.
type Member struct {
	Address string
	Server  comfyui.Inspector
}

// Options configure a Catalogue. The zero value works.
type Options struct {
	// Web is the address of the server whose web files of custom nodes are served; "" means no server. These files
	// run in the browsers of everybody who opens the editor, so the operator has to choose the server.
	Web   string
	Every time.Duration // between two listings of a server; default 15 s
	Log   *slog.Logger  // nil = no log
}

// Timing of the catalogue.
const (
	defaultEvery = 15 * time.Second
	memberTick   = time.Second      // between two checks for new members
	readWithin   = 20 * time.Second // time limit of an answer
)

// Catalogue holds the listings of all servers. It is safe for concurrent use.
type Catalogue struct {
	members func() []Member
	opts    Options

	mu         sync.Mutex // guards the fields below
	byAddress  map[string]*listing
	models     comfyui.Models // the models of all servers
	extensions []string
}

// listing is the content of one server when it was last read.
type listing struct {
	models     comfyui.Models
	extensions []string
	at         time.Time
}

// New returns an empty catalogue of the servers that members returns. Run fills it.
func New(members func() []Member, opts Options) *Catalogue {
	opts.Every = cmp.Or(opts.Every, defaultEvery)
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	return &Catalogue{members: members, opts: opts, byAddress: map[string]*listing{}}
}

// Run keeps the catalogue current until ctx ends.
func (c *Catalogue) Run(ctx context.Context) error {
	c.Refresh(ctx)
	for range pause.Every(ctx, min(memberTick, c.opts.Every)) {
		c.Refresh(ctx)
	}
	return nil
}

// Refresh removes the listings of servers that are no longer members, and reads the servers that are due.
func (c *Catalogue) Refresh(ctx context.Context) {
	members := c.members()
	due := c.claimStale(members)
	var reads sync.WaitGroup
	for _, m := range due {
		reads.Go(func() { c.read(ctx, m) })
	}
	reads.Wait()
	c.merge(members)
}

// claimStale returns the members whose listing is old, and marks them as being read, so that a server that does not answer
// is tried again only after Every.
func (c *Catalogue) claimStale(members []Member) []Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	for address := range c.byAddress {
		if !slices.ContainsFunc(members, func(m Member) bool { return m.Address == address }) {
			delete(c.byAddress, address)
		}
	}
	var due []Member
	for _, m := range members {
		l := c.byAddress[m.Address]
		if l == nil {
			l = &listing{}
			c.byAddress[m.Address] = l
		}
		if time.Since(l.at) >= c.opts.Every {
			l.at = time.Now()
			due = append(due, m)
		}
	}
	return due
}

// read reads the listing of one server.
func (c *Catalogue) read(ctx context.Context, m Member) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	models, err := m.Server.Models(ctx)
	var extensions []string
	if m.Address == c.opts.Web {
		var webErr error
		extensions, webErr = m.Server.Extensions(ctx)
		err = errors.Join(err, webErr)
	}
	if err != nil {
		c.opts.Log.Debug("model list read failed", "server", m.Address, "error", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.byAddress[m.Address]; l != nil {
		l.models, l.extensions = models, slices.DeleteFunc(extensions, ofTheEditor)
	}
}

// ofTheEditor reports whether a web file belongs to the editor that comes with a server.
func ofTheEditor(path string) bool { return strings.HasPrefix(path, "/extensions/core/") }

// merge combines all listings, in the order of the members.
func (c *Catalogue) merge(members []Member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := comfyui.Models{Files: map[string][]string{}}
	c.extensions = nil
	for _, m := range members {
		l := c.byAddress[m.Address]
		for _, folder := range l.models.Folders {
			if !slices.Contains(all.Folders, folder) {
				all.Folders = append(all.Folders, folder)
			}
			all.Files[folder] = append(all.Files[folder], l.models.Files[folder]...)
		}
		all.Embeddings = append(all.Embeddings, l.models.Embeddings...)
		c.extensions = append(c.extensions, l.extensions...)
	}
	for folder, files := range all.Files {
		all.Files[folder] = distinct(files)
	}
	all.Embeddings = distinct(all.Embeddings)
	c.models = all
}

// distinct returns names in order, without duplicates.
func distinct(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// Models returns the files of all servers, by folder and in order, and the embeddings. The caller must not change the
// result.
func (c *Catalogue) Models() comfyui.Models {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.models
}

// Extensions returns the paths of the scripts of custom nodes that an editor loads.
func (c *Catalogue) Extensions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.extensions)
}

// HasWebFile reports whether a path may name a web file: it is in the folder of a custom node that has scripts.
func (c *Catalogue) HasWebFile(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	pack, ok := packOf(path)
	return ok && slices.ContainsFunc(c.extensions, func(script string) bool { return strings.HasPrefix(script, pack) })
}

// packOf returns the folder of the custom node to which a path belongs: "/extensions/name/".
func packOf(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, "/extensions/")
	name, file, deep := strings.Cut(rest, "/")
	return "/extensions/" + name + "/", ok && deep && name != "" && file != ""
}

// WebFile opens a web file of a custom node. The caller closes it. A path for which HasWebFile is
// false is NotFound.
func (c *Catalogue) WebFile(ctx context.Context, path string) (*comfyui.Download, error) {
	if c.HasWebFile(path) {
		for _, m := range c.members() {
			if m.Address == c.opts.Web {
				return m.Server.WebFile(ctx, path)
			}
		}
	}
	return nil, fault.New(fault.NotFound, fault.CodeServerFileNotFound, "the ComfyUI server has no such web file")
}
