package console

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// maxPacked bounds the files of an archive.
const maxPacked = 1000

// archiveTime bounds the writing of an archive.
const archiveTime = 30 * time.Minute

// archive sends the files of some jobs as one archive: GET /console/jobs/files.zip?id=…
func (s *Surface) archive(c *gin.Context, v page.Visitor) error {
	chosen, err := s.chosen(c, v, c.QueryArray("id"))
	if err != nil {
		return err
	}
	var entries []packed
	for _, j := range chosen {
		for _, o := range jobio.Outputs(j) {
			e, err := s.pack(c.Request.Context(), j, o)
			if fault.Is(err, fault.NotFound) {
				continue // the file was deleted
			}
			if err != nil {
				return err
			}
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return fault.New(fault.NotFound, fault.CodeNotFound, "These jobs have no files.")
	}
	if len(entries) > maxPacked {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "These jobs have %d files; an archive has at most %d.", len(entries), maxPacked)
	}
	h := c.Writer.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", content.Disposition("attachment", "millrace-"+time.Now().UTC().Format("20060102-150405")+".zip"))
	h.Set("Cache-Control", "no-store")
	ctx, cancel := context.WithTimeout(c.Request.Context(), archiveTime)
	defer cancel()
	if err := s.write(ctx, c.Writer, entries); err != nil && !errors.Is(err, context.Canceled) {
		s.Edge.Logger.Error("archive broke off", "request_id", edge.RequestID(c), "error", err)
		panic(http11Abort) // the answer has begun: cut the connection, so that the browser sees a failed download
	}
	return nil
}

// packed is a file to be put into an archive.
type packed struct {
	files.Entry
	name string
	at   time.Time
}

func (s *Surface) pack(ctx context.Context, j job.Job, o jobio.Output) (packed, error) {
	hash, err := blob.ParseRef(o.File.Hash)
	if err != nil {
		return packed{}, fault.Wrap(err, fault.NotFound, fault.CodeNotFound, "This file has no content.")
	}
	e, err := s.Files.Linked(ctx, asset.ID(o.File.Asset), hash)
	return packed{e, archiveName(j.PublicID(), o.Node, o.File.Filename), o.File.SavedAt}, err
}

// archiveName returns the path of a file in an archive, in a folder of its job. Clients choose the ids of nodes, so
// an id must not lead out of that folder when the archive is unpacked.
func archiveName(id job.PublicID, node, filename string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, node+"-"+filename)
	return string(id)[:8] + "/" + plain
}

// write writes an archive. Its files are not compressed again: pictures and films are compressed already. Files that have
// lost their bytes are listed in a file of the archive.
func (s *Surface) write(ctx context.Context, w io.Writer, entries []packed) error {
	archive := zip.NewWriter(w)
	seen := map[string]int{}
	var lost []string
	for _, e := range entries {
		if seen[e.name]++; seen[e.name] > 1 {
			folder, name := path.Split(e.name)
			e.name = fmt.Sprintf("%s%d-%s", folder, seen[e.name], name)
		}
		if err := s.copy(ctx, archive, e); fault.Is(err, fault.NotFound) {
			lost = append(lost, e.name)
		} else if err != nil {
			return err
		}
	}
	if err := writeMissingList(archive, lost); err != nil {
		return err
	}
	return archive.Close()
}

// copy adds a file to an archive. If its bytes are gone, it returns NotFound and adds nothing.
func (s *Surface) copy(ctx context.Context, archive *zip.Writer, e packed) error {
	r, err := s.Files.Open(ctx, e.Entry)
	if err != nil {
		return err
	}
	defer r.Close()
	to, err := archive.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Store, Modified: e.at})
	if err != nil {
		return err
	}
	_, err = io.Copy(to, r)
	return err
}

// writeMissingList adds the names of files that are not in an archive, if there are any.
func writeMissingList(archive *zip.Writer, names []string) error {
	if len(names) == 0 {
		return nil
	}
	to, err := archive.Create("MISSING.txt")
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, "The stored bytes of these files are gone:\n"+strings.Join(names, "\n")+"\n")
	return err
}
