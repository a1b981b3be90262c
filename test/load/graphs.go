//go:build linux

package load

import (
	"fmt"
	"hash/crc32"
	"strings"
)

// Each graph saves one picture under a prefix of its own, so that a second run would save a file with number 2, and
// in a colour of its own, so that no job is answered from the cache.
func colour(prefix string) uint32 { return crc32.ChecksumIEEE([]byte(prefix)) & 0xffffff }

// Cheap is a graph of milliseconds. A probe does not wait behind the load.
func Cheap(prefix string) string {
	return fmt.Sprintf(`{"front":%t,"prompt":{
		"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":%d}},
		"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
		"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":%q}}}}`, strings.Contains(prefix, "probe"), colour(prefix),
		prefix)
}

// Long is a graph of seconds.
func Long(prefix string) string {
	return fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"EmptyImage","inputs":{"width":1536,"height":1536,"batch_size":1,"color":%d}},
		"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":31,"sigma":2.0}},
		"3":{"class_type":"ImageSharpen","inputs":{"image":["2",0],"sharpen_radius":31,"sigma":2.0,"alpha":1.0}},
		"4":{"class_type":"ImageBlur","inputs":{"image":["3",0],"blur_radius":31,"sigma":2.0}},
		"5":{"class_type":"ImageScale","inputs":{"image":["4",0],"upscale_method":"lanczos","width":256,"height":256,"crop":"disabled"}},
		"6":{"class_type":"SaveImage","inputs":{"images":["5",0],"filename_prefix":%q}}}}`, colour(prefix), prefix)
}

// classGraph is the body of a submission of a graph with the deployment as a node.
func classGraph(prefix string) []byte {
	return fmt.Appendf(nil, `{"workflow":{
		"1":{"class_type":"Deployment.%s","inputs":{"color":%d}},
		"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
		"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":%q}}}}`, Deployment, colour(prefix), prefix)
}

func painted(prefix string) string {
	return fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"Partner_sim_image","inputs":{"prompt":%q}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":%q}}}}`, prefix+" [sim:delay=700ms]", prefix)
}

// Rendered is a graph for a ComfyUI server.
func Rendered(prefix string) string {
	return fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"CheckpointLoaderSimple","inputs":{"ckpt_name":"random-sd15.safetensors"}},
		"2":{"class_type":"CLIPTextEncode","inputs":{"text":"a cat","clip":["1",1]}},
		"3":{"class_type":"EmptyLatentImage","inputs":{"width":64,"height":64,"batch_size":1}},
		"4":{"class_type":"KSampler","inputs":{"model":["1",0],"positive":["2",0],"negative":["2",0],"latent_image":["3",0],"seed":%d,
			"steps":5,"cfg":7.0,"sampler_name":"euler","scheduler":"normal","denoise":1.0}},
		"5":{"class_type":"VAEDecode","inputs":{"samples":["4",0],"vae":["1",2]}},
		"6":{"class_type":"SaveImage","inputs":{"images":["5",0],"filename_prefix":%q}}}}`, colour(prefix), prefix)
}
