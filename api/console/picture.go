package console

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// Pictures stores pictures; media.Surface implements it.
type Pictures interface {
	// StorePicture stores a picture as an input of an account, within the bounds of uploads.
	StorePicture(c *gin.Context, account, filename string, picture []byte) (files.Entry, error)
}

// loading stores a picture and returns a graph that loads it. It uses the graph of the page if that loads a picture;
// otherwise it returns a graph that scales the picture, by default to its own size, and saves it.
func (s *Surface) loading(c *gin.Context, v page.Visitor, given workflowFile) (json.RawMessage, error) {
	var prompt json.RawMessage
	loader := ""
	if c.PostForm("prompt") != "" {
		var g *graph.Graph
		var err error
		if prompt, g, err = filled(c); err != nil {
			return nil, err
		}
		loader = loaderOf(g)
	}
	if err := s.Edge.CheckSpace(c, v.Account); err != nil {
		return nil, err
	}
	kept, err := s.Pictures.StorePicture(c, v.Account, given.name, given.data)
	if err != nil {
		return nil, err
	}
	if loader == "" {
		return scaling(kept)
	}
	name, err := json.Marshal(files.Join(kept.Place))
	if err != nil {
		return nil, err
	}
	prompt, _, err = job.Assign(prompt, []job.Assignment{{Target: loader + ".image", Value: name}})
	return prompt, err
}

// loaderOf returns the id of the first node that loads a picture by a literal name, or "" if there is no such node.
func loaderOf(g *graph.Graph) string {
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			if _, named := in.Value.(string); named && in.Name == "image" && slices.Contains(loaders, n.Class) {
				return n.ID
			}
		}
	}
	return ""
}

// scaling returns a graph that loads a picture, scales it and saves it.
func scaling(of files.Entry) (json.RawMessage, error) {
	name, err := json.Marshal(of.Place.Filename)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"1":{"class_type":"LoadImage","inputs":{"image":%s}},`+
		`"2":{"class_type":"ImageScale","inputs":{"image":["1",0],"upscale_method":"lanczos","width":%d,"height":%d,"crop":"disabled"}},`+
		`"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"scaled"}}}`, name, of.Width, of.Height), nil
}
