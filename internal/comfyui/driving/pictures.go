package driving

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// sentPictures are the pictures that a node has sent over the socket, which no file of the server holds.
type sentPictures struct {
	files NodeFiles
	shown []node.File
}

// pictureSender is ComfyUI's class that sends pictures and puts out nothing else. Other classes of this kind put out one element
// for each picture.
const pictureSender = "SaveImageWebsocket"

// preview handles a picture of a running node. Servers send the results of a node in the same form as its previews: a picture of an
// output node is a result if it is lossless, or if the node has sent it itself, without the metadata that servers add.
func (f *follower) preview(ctx context.Context, e comfyui.Preview) error {
	id := cmp.Or(e.Node, f.current)
	within, ok := f.locate(id, job.Expansion{Parent: e.Parent, Display: e.Display, Real: e.Real})
	switch {
	case !ok || f.recorded[id]:
		return nil
	case e.MediaType == pngType && (within != nil || f.c.shows(f.r.Classes, id)), e.Node == "" && f.c.shows(f.r.Classes, id):
		return f.keepPicture(ctx, id, e)
	}
	f.r.Recorder.Preview(id, e.MediaType, e.Image)
	return nil
}

const pngType = "image/png"

// keepPicture sends a picture to watching clients and stores it in the account, for clients that do not watch.
func (f *follower) keepPicture(ctx context.Context, id string, e comfyui.Preview) error {
	f.r.Recorder.Picture(id, e.MediaType, e.Image)
	sent := f.pictures[id]
	if sent == nil {
		sent = &sentPictures{files: f.r.Files(id)}
		f.pictures[id] = sent
	}
	save := node.Save{
		Folder: node.FolderOutput, Prefix: "websocket", Suffix: "_.png", ContentType: e.MediaType, Index: len(sent.shown),
	}
	if e.MediaType != pngType {
		save.Suffix = "_.jpg"
	}
	save.Width, save.Height = pngSize(bufio.NewReader(bytes.NewReader(e.Image)))
	saved, err := sent.files.Save(ctx, save, func(w io.Writer) error {
		_, err := w.Write(e.Image)
		return err
	})
	if err != nil {
		f.current = id
		return err
	}
	sent.shown = append(sent.shown, saved)
	return nil
}

// sends reports whether a node sends pictures.
func (f *follower) sends(id string) bool {
	n := f.c.node(id)
	return f.pictures[id] != nil || n != nil && n.Class == pictureSender
}

// checkPictures returns an error if a node may have sent pictures while no socket was open.
func (f *follower) checkPictures(id string) error {
	if !f.watched[id] && f.sends(id) {
		f.current = id
		return picturesMissed(id)
	}
	return nil
}

func picturesMissed(id string) error {
	return fault.New(fault.Unavailable, fault.CodePicturesMissed, "the pictures that node %s sent over the socket were missed", id)
}
