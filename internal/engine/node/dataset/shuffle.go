package dataset

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/random"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ShuffleImageTextDataset changes the order of images and, in the same way, of their texts.
func ShuffleImageTextDataset() *node.Class {
	return shuffled(node.Class{
		Name: "ShuffleImageTextDataset", DisplayName: "Shuffle Pairs of Image-Text", Category: "image/batch",
		Description: "Puts the images of a list and their texts into another order, which the seed chooses.",
	}, declare.Image("images", "The images."), node.Input{
		Name: "texts", Type: node.String, ForceInput: true,
		Tooltip: "The text of each image.",
	})
}

// ShuffleVideoDataset changes the order of videos.
func ShuffleVideoDataset() *node.Class {
	return shuffled(node.Class{
		Name: "ShuffleVideoDataset", DisplayName: "Shuffle Videos List", Category: "video/batch",
		Description: "Puts the videos of a list into another order, which the seed chooses.",
	}, videos())
}

// ShuffleVideoTextDataset changes the order of videos and, in the same way, of their texts.
func ShuffleVideoTextDataset() *node.Class {
	return shuffled(node.Class{
		Name: "ShuffleVideoTextDataset", DisplayName: "Shuffle Pairs of Video-Text", Category: "dataset/video",
		Description: "Puts the videos of a list and their texts into another order, which the seed chooses.",
	}, videos(), declare.Text("texts", "The text of each video."))
}

func videos() node.Input {
	return node.Input{Name: "videos", Type: node.Video, Tooltip: "The videos."}
}

// shuffled is a class that puts several lists into the same new order.
func shuffled(c node.Class, lists ...node.Input) *node.Class {
	c.Module, c.Experimental, c.InputIsList = module, true, true
	c.SearchAliases = []string{"shuffle", "randomize", "mix"}
	c.Inputs = append(lists, seed())
	for _, in := range lists {
		c.Outputs = append(c.Outputs, node.Output{Type: in.Type, Name: in.Name, IsList: true})
	}
	c.Run = func(_ context.Context, call *node.Call) (node.Result, error) {
		seed := call.Int("seed")
		order := random.ForNumPy(uint64(seed)).Permutation(len(call.Lists[lists[0].Name]))
		var res node.Result
		for _, l := range lists {
			values, out := call.Lists[l.Name], node.List{}
			for _, from := range order {
				if from >= len(values) {
					return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "input %s has %d values; it needs %d, as many as input %s", l.Name,
						len(values), len(order), lists[0].Name)
				}
				out = append(out, values[from])
			}
			res.Outputs = append(res.Outputs, out)
		}
		return res, nil
	}
	return &c
}
