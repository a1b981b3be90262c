package main

import "sync/atomic"

// graph is a graph in API format.
type graph map[string]any

func node(class string, inputs map[string]any) map[string]any {
	return map[string]any{"class_type": class, "inputs": inputs}
}

// seed makes each graph different, so that no cache has its results.
var seed atomic.Int64

// onePicture is the usual graph from text to one saved picture of side pixels.
func onePicture(checkpoint string, side, steps int) graph {
	return graph{
		"1": node("CheckpointLoaderSimple", map[string]any{"ckpt_name": checkpoint}),
		"2": node("CLIPTextEncode", map[string]any{"text": "a mill at a river", "clip": []any{"1", 1}}),
		"3": node("CLIPTextEncode", map[string]any{"text": "", "clip": []any{"1", 1}}),
		"4": node("EmptyLatentImage", map[string]any{"width": side, "height": side, "batch_size": 1}),
		"5": node("KSampler", map[string]any{
			"model": []any{"1", 0}, "positive": []any{"2", 0}, "negative": []any{"3", 0}, "latent_image": []any{"4", 0},
			"seed": seed.Add(1), "steps": steps, "cfg": 7.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0,
		}),
		"6": node("VAEDecode", map[string]any{"samples": []any{"5", 0}, "vae": []any{"1", 2}}),
		"7": node("SaveImage", map[string]any{"images": []any{"6", 0}, "filename_prefix": "bench"}),
	}
}
