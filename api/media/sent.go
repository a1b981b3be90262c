package media

import (
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/fault"
)

// sentRoute is the route of the tooling nodes by which a painting program sends the pictures of a graph and fetches its results. On
// a ComfyUI server they are in its memory; here they are files of the account.
const sentRoute = "/api/etn/image/:id"

const (
	sentFor   = 24 * time.Hour // how long a picture is kept that was sent; a graph that was submitted keeps its pictures
	sentAgain = 12 * time.Hour // a picture that is sent again is not stored if it is kept for that long
)

// sentID matches the ids that clients choose.
var sentID = regexp.MustCompile(`^[0-9A-Za-z_-]{1,128}$`)

type sentResponse struct {
	Status string `json:"status"`
}

// putSent stores a picture: PUT /api/etn/image/{id}. As on a server, an id keeps its first picture.
func (s *Surface) putSent(c *gin.Context) error {
	id, account := c.Param("id"), edge.Caller(c).Account
	if !sentID.MatchString(id) {
		return httperr.Invalidf("the id of a picture has 1 to 128 letters, digits, hyphens or underscores")
	}
	place := files.SentPlace(id)
	switch e, err := s.Files.Lookup(c.Request.Context(), account, place); {
	case err == nil && e.ExpiresAt != nil && time.Until(*e.ExpiresAt) > sentAgain:
		// The connection of a client that is still sending would break, and the client would not read the answer.
		if _, err := request.Copy(c, io.Discard, s.opts.UploadIdle); err != nil {
			return err
		}
		return edge.OK(c, sentResponse{"cached"}, nil)
	case err != nil && !fault.Is(err, fault.NotFound):
		return err
	}
	w, err := s.Files.Create(c.Request.Context())
	if err != nil {
		return err
	}
	defer w.Abort()
	size, err := request.Copy(c, w, s.opts.UploadIdle)
	if err != nil {
		return err
	}
	info, err := s.inspect(c.Request.Context(), account, w, size)
	if err != nil {
		return err
	}
	expires := time.Now().UTC().Add(sentFor).Truncate(time.Millisecond)
	if _, err := s.commit(c, w, files.Upload{
		Account: account, Place: place, Overwrite: true, ContentType: "image/" + string(info.Format), Width: info.Width, Height: info.Height,
		ExpiresAt: &expires,
	}); err != nil {
		return err
	}
	return edge.Answer(c, http.StatusCreated, sentResponse{"success"}, nil)
}

// getSent serves a picture that was sent, or one that a node of a job made: GET /api/etn/image/{id}.
func (s *Surface) getSent(c *gin.Context) error {
	id, account := c.Param("id"), edge.Caller(c).Account
	if !sentID.MatchString(id) {
		return fault.New(fault.NotFound, fault.CodeNotFound, "there is no such file")
	}
	place := files.SentPlace(id)
	if made, err := asset.ParsePublicID(id); err == nil {
		place.Filename = files.AssetName(made)
	}
	e, err := s.Files.Lookup(c.Request.Context(), account, place)
	if fault.Is(err, fault.NotFound) {
		e, err = s.Files.Lookup(c.Request.Context(), account, files.SentPlace(id))
	}
	if err != nil {
		return err
	}
	return content.ServeBytes(c, s.Files, content.File{Entry: e, Name: e.Place.Filename})
}
