package image

import (
	"bytes"
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// sentLevel is the deflate level of pictures that are sent; each is read once.
const sentLevel = 1

// SaveImageWebsocket sends every frame to the clients that watch the job, as a complete PNG file.
func SaveImageWebsocket() *node.Class {
	return &node.Class{
		Name: "SaveImageWebsocket", DisplayName: "Save Image (Websocket)", Category: "image", Module: "custom_nodes.websocket_image_save",
		Description: "Sends the images in full size through the WebSocket of the client that submitted the graph, as PNG files. Nothing is kept.",
		Inputs:      []node.Input{declare.Image("images", "The images to send.")},
		OutputNode:  true,
		Uncached:    true,
		Cost: func(_ node.Args, pixels int64) time.Duration {
			return time.Duration(pixels*100) + 20*time.Millisecond
		},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im := call.Image("images")
			for i := range im.Frames() {
				var b bytes.Buffer
				if err := codec.EncodePNG(ctx, &b, im, i, codec.PNGOptions{Level: sentLevel}); err != nil {
					return node.Result{}, err
				}
				if b.Len() > node.MaxPicture {
					return node.Result{}, fault.New(fault.Exhausted, fault.CodePixelLimit,
						"the picture has %d bytes; the WebSocket carries at most %d: use SaveImage", b.Len(), node.MaxPicture)
				}
				if call.Live != nil {
					call.Live.Picture("image/png", b.Bytes())
				}
			}
			return node.Result{Outputs: []node.Value{}}, nil
		},
	}
}
