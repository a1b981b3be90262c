package served

// Graph is a node graph in API format.
type Graph map[string]any

// Node is a node of a class with its inputs.
func Node(class string, inputs map[string]any) map[string]any {
	return map[string]any{"class_type": class, "inputs": inputs}
}

// Text2Img is the usual graph for a ComfyUI server: a checkpoint, two texts, a sampler and a saved picture.
func Text2Img(seed, steps int) Graph {
	return Graph{
		"1": Node("CheckpointLoaderSimple", map[string]any{"ckpt_name": "random-sd15.safetensors"}),
		"2": Node("CLIPTextEncode", map[string]any{"text": "a photo of a cat", "clip": []any{"1", 1}}),
		"3": Node("CLIPTextEncode", map[string]any{"text": "", "clip": []any{"1", 1}}),
		"4": Node("EmptyLatentImage", map[string]any{"width": 64, "height": 64, "batch_size": 1}),
		"5": Node("KSampler", map[string]any{
			"model": []any{"1", 0}, "positive": []any{"2", 0}, "negative": []any{"3", 0}, "latent_image": []any{"4", 0},
			"seed": seed, "steps": steps, "cfg": 7.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0,
		}),
		"6": Node("VAEDecode", map[string]any{"samples": []any{"5", 0}, "vae": []any{"1", 2}}),
		"7": Node("SaveImage", map[string]any{"images": []any{"6", 0}, "filename_prefix": "gpu"}),
	}
}
