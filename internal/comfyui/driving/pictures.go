package driving

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

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
		Folder: node.FolderOutput, Prefix: node.SentPrefix, Suffix: "_.png", ContentType: e.MediaType, Index: len(sent.shown),
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

// keyedRoute is the tooling nodes' route for pictures that a server keeps in memory under keys. Every driver sends the pictures before
// the prompt, so a repeated prompt finds them on any server.
const keyedRoute = "/api/etn/image/"

// maxKey bounds the key of a picture.
const maxKey = 128

// keyPattern matches the keys under which servers keep pictures.
var keyPattern = regexp.MustCompile(`^[0-9A-Za-z_-]+$`)

// sendKeyed sends a picture of the account to the pack's memory and returns its key there. The key follows from the bytes, so that
// accounts whose pictures are on one server cannot name those of others.
func (c *compiled) sendKeyed(ctx context.Context, id, name string) (string, error) {
	file, err := c.r.Files(id).Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info := file.Info()
	key := comfyui.FilesFolder + "-" + strings.TrimPrefix(info.Hash, "blake3:")
	answer, err := c.r.Server.Ask(ctx, comfyui.PackRequest{
		Method: http.MethodPut, Path: keyedRoute + key, ContentType: info.ContentType, Body: file, Size: info.Size,
	}, maxKeyedAnswer)
	if err != nil {
		return "", err
	}
	if err := answer.Close(); err != nil {
		return "", err
	}
	if answer.Status != http.StatusOK && answer.Status != http.StatusCreated {
		return "", fault.New(fault.Unavailable, fault.CodeServerError, "the server answers with status %d to a picture for its node pack",
			answer.Status)
	}
	return key, nil
}

// maxKeyedAnswer bounds the answer to a picture.
const maxKeyedAnswer = 1 << 20

// keepKeyed copies the pictures that the elements of an output name by their keys, and gives the elements the copies: the id is
// that of the asset, under which clients fetch it by the pack's route, and the name is that of the file.
func (d *Driver) keepKeyed(ctx context.Context, r *Run, files NodeFiles, ui map[string][]any) error {
	for _, member := range slices.Sorted(maps.Keys(ui)) {
		for i, item := range ui[member] {
			element := elementOf(item)
			key, _ := element["id"].(string)
			if element["source"] != "http" || key == "" {
				continue
			}
			saved, asset, err := d.copyKeyed(ctx, r, files, key)
			if err != nil {
				return err
			}
			element["id"] = asset
			element["filename"], element["subfolder"], element["type"] = saved.Filename, saved.Subfolder, saved.Folder
			ui[member][i] = element
		}
	}
	return nil
}

// elementOf returns an element of an output that is an object, or nil.
func elementOf(item any) (element map[string]any) {
	if raw, ok := item.(json.RawMessage); ok {
		if json.Unmarshal(raw, &element) != nil {
			return nil
		}
		return element
	}
	element, _ = item.(map[string]any)
	return element
}

func (d *Driver) copyKeyed(ctx context.Context, r *Run, files NodeFiles, key string) (saved node.File, asset string, err error) {
	if len(key) > maxKey || !keyPattern.MatchString(key) {
		return saved, "", fault.New(fault.Invalid, fault.CodeUnsafeName, "the server names a picture by a key that is not usable")
	}
	answer, err := r.Server.Ask(ctx, comfyui.PackRequest{Method: http.MethodGet, Path: keyedRoute + key}, d.opts.MaxOutput)
	if err != nil {
		return saved, "", err
	}
	defer answer.Close() // read only
	switch answer.Status {
	case http.StatusOK:
	case http.StatusNotFound:
		return saved, "", fault.New(fault.NotFound, fault.CodeServerFileNotFound, "the server no longer has a picture that a node made")
	default:
		return saved, "", fault.New(fault.Unavailable, fault.CodeServerError, "the server answers with status %d for a picture that a node made",
			answer.Status)
	}
	save := node.Save{
		Folder: node.FolderOutput, Prefix: "sent", Suffix: suffixOfType(answer.MediaType),
		ContentType: cmp.Or(answer.MediaType, "application/octet-stream"), Index: len(files.Saved()),
	}
	saved, err = files.Save(ctx, save, func(w io.Writer) error {
		_, err := io.Copy(w, answer)
		return err
	})
	if err != nil {
		return saved, "", err
	}
	all := files.Saved()
	return saved, all[len(all)-1].Asset, nil
}

// suffixOfType returns the suffix of the name of a picture: "_.png" for "image/png".
func suffixOfType(mediaType string) string {
	switch mediaType {
	case "image/jpeg", "image/png", "image/webp":
		return "_." + path.Base(mediaType)
	}
	return "_.bin"
}
