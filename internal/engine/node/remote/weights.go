package remote

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// folders are the folders of models from which loaders of ComfyUI load, by the names of their inputs.
var folders = map[string]string{
	"ckpt_name": "checkpoints", "config_name": "configs", "lora_name": "loras", "vae_name": "vae", "unet_name": "diffusion_models",
	"control_net_name": "controlnet", "style_model_name": "style_models", "gligen_name": "gligen", "hypernetwork_name": "hypernetworks",
	"clip_name1": "text_encoders", "clip_name2": "text_encoders", "clip_name3": "text_encoders", "clip_name4": "text_encoders",
	"photomaker_model_name": "photomaker", "audio_encoder_name": "audio_encoders", "text_encoder": "text_encoders",
}

// foldersOf are those of classes whose inputs have a name with several meanings.
var foldersOf = map[[2]string]string{
	{"CLIPLoader", "clip_name"}: "text_encoders", {"CLIPVisionLoader", "clip_name"}: "clip_vision",
	{"UpscaleModelLoader", "model_name"}: "upscale_models", {"LatentUpscaleModelLoader", "model_name"}: "latent_upscale_models",
}

// adoptWeights finds the inputs that name model files.
func (d *Document) adoptWeights() {
	for _, def := range d.Classes {
		for i := range def.inputs {
			in := &def.inputs[i]
			if in.Type != node.Combo || in.Folder != "" || in.open {
				continue
			}
			if in.Weights = foldersOf[[2]string{def.Name, in.Name}]; in.Weights == "" {
				in.Weights = folders[in.Name]
			}
			if in.Weights == "" && slices.ContainsFunc(in.Options, node.IsModelFile) {
				in.Weights = node.AnyFolder
			}
		}
	}
}

// Weight is a model file that a class needs and a server lacks. Folder may be node.AnyFolder.
type Weight struct{ Folder, Name string }

// MissingWeights returns the model files that a server lacks to run a node of that class with these constants. ok is false if it lacks
// anything else.
func (d *Document) MissingWeights(class string, constants node.Args) (missing []Weight, ok bool) {
	def, ok := d.Classes[class]
	if !ok {
		return nil, false
	}
	for i := range def.inputs {
		in := &def.inputs[i]
		if in.open || in.Type != node.Combo || in.Folder != "" {
			continue
		}
		choice, given := constants[in.Name].(string)
		switch {
		case !given || slices.Contains(in.Options, choice):
		case !in.MayBeWeight(choice):
			return nil, false
		default:
			missing = append(missing, Weight{in.Weights, choice})
		}
	}
	return missing, true
}
