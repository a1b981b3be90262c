package media

import (
	"fmt"
	"net/http"
	"regexp"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maskLayers are the files of one mask, null for missing layers.
type maskLayers struct {
	Mask          *string `json:"mask"`
	Paint         *string `json:"paint"`
	Painted       *string `json:"painted"`
	PaintedMasked *string `json:"painted_masked"`
}

// layerName matches the names under which editors upload the layers of a mask. All four layers have the same text
// around the kind.
var layerName = regexp.MustCompile(`^(.*?)(painted-masked|painted|paint|mask)(-[^/]*)$`)

// getMaskLayers returns the files that belong to the same mask as the named file: GET /files/mask-layers?filename=.
func (s *Surface) getMaskLayers(c *gin.Context) error {
	name := c.Query("filename")
	if name == "" {
		return httperr.Invalidf("the parameter filename is required")
	}
	own, err := s.layer(c, name)
	if err != nil {
		return err
	}
	if own == nil {
		return fault.New(fault.NotFound, fault.CodeNotFound, "this file does not exist")
	}
	var layers maskLayers
	if parts := layerName.FindStringSubmatch(name); parts != nil {
		for kind, into := range map[string]**string{
			"mask": &layers.Mask, "paint": &layers.Paint, "painted": &layers.Painted, "painted-masked": &layers.PaintedMasked,
		} {
			if *into, err = s.layer(c, fmt.Sprint(parts[1], kind, parts[3])); err != nil {
				return err
			}
		}
	}
	c.PureJSON(http.StatusOK, layers)
	return nil
}

// layer returns the name if the caller has an input of that name, otherwise nil.
func (s *Surface) layer(c *gin.Context, name string) (*string, error) {
	place, err := files.NewPlace(node.FolderInput, name)
	if err != nil {
		return nil, err
	}
	e, err := s.find(c.Request.Context(), edge.Caller(c), place)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return &e.Place.Filename, err
}
