package image

import (
	"bytes"
	"context"
	"io"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// SaveImageWebsocket sends every frame to the clients that watch the job, as a complete PNG file, and keeps it for those that do not.
func SaveImageWebsocket() *node.Class {
	return &node.Class{
		Name: "SaveImageWebsocket", DisplayName: "Save Image (Websocket)", Category: "image", Module: "custom_nodes.websocket_image_save",
		Description: "Sends the images in full size through the WebSocket of the client that submitted the graph, as PNG files, " +
			"and keeps the files.",
		Inputs:     []node.Input{declare.Image("images", "The images to send.")},
		OutputNode: true,
		Uncached:   true,
		Cost:       encodeCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im := call.Image("images")
			files := make([]any, im.Frames())
			for i := range im.Frames() {
				var b bytes.Buffer
				if err := codec.EncodePNG(ctx, &b, im, i, codec.PNGOptions{Level: savedLevel}); err != nil {
					return node.Result{}, err
				}
				if b.Len() > node.MaxPicture {
					return node.Result{}, fault.New(fault.Exhausted, fault.CodePixelLimit,
						"the picture has %d bytes; the WebSocket carries at most %d: use SaveImage", b.Len(), node.MaxPicture)
				}
				if call.Live != nil {
					call.Live.Picture("image/png", b.Bytes())
				}
				file, err := call.Files.Save(ctx, node.Save{
					Folder: node.FolderOutput, Prefix: node.SentPrefix, Suffix: "_.png", ContentType: "image/png", Index: i,
					Width: im.Width(), Height: im.Height(),
				}, func(w io.Writer) error {
					_, err := w.Write(b.Bytes())
					return err
				})
				if err != nil {
					return node.Result{}, err
				}
				files[i] = file
			}
			return node.Result{Outputs: []node.Value{}, UI: map[string][]any{"images": files}}, nil
		},
	}
}
