package comfyui

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/sim/comfyui/classes"
)

// classSampler is the class that takes steps.
const classSampler = "KSampler"

// checkpoint stands for a model with its text encoder and VAE.
type checkpoint struct{ name string }

// modelClasses are the classes that need a model, and others that are not native.
func (s *Server) modelClasses() []*node.Class {
	all := slices.Concat([]*node.Class{textEncoder(), s.sampler()}, classes.Latents(), []*node.Class{partner()})
	if s.opts.Models == "" { // else it depends on what is in the folder
		all = append(all, s.loader())
	}
	if s.opts.Pack {
		all = append(all, classes.Pack()...)
	}
	return all
}

// checkpoints returns the names of the checkpoints that the server has: those of its options, and the files in its folder.
func (s *Server) checkpoints() []string {
	all := slices.Clone(s.opts.Checkpoints)
	if s.opts.Models == "" {
		return all
	}
	root := filepath.Join(s.opts.Models, "checkpoints")
	//nolint:errcheck // a folder that is not there has no files
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && node.IsModelFile(path) {
			name, _ := filepath.Rel(root, path)
			all = append(all, filepath.ToSlash(name))
		}
		return nil
	})
	return all
}

// readModels offers the checkpoints that are in the folder now.
func (s *Server) readModels() error {
	if s.opts.Models == "" {
		return nil
	}
	return s.classes.ExtendFrom(node.Servers, s.loader())
}

func (s *Server) loader() *node.Class {
	return &node.Class{
		Name: "CheckpointLoaderSimple", DisplayName: "Load Checkpoint", Category: "loaders", Module: "nodes",
		Inputs:  []node.Input{{Name: "ckpt_name", Type: node.Combo, Options: s.checkpoints()}},
		Outputs: []node.Output{{Type: classes.Model}, {Type: classes.Clip}, {Type: classes.VAE}},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			name, _ := call.Args["ckpt_name"].(string)
			if s.faults.happens(MissingModel) {
				return node.Result{}, &classes.Exception{
					Kind: "FileNotFoundError", Text: "Model in folder 'checkpoints' with filename '" + name + "' not found.",
				}
			}
			model, fresh := s.cache.load(name)
			if fresh {
				s.ledger.load(name)
				if err := s.pause(ctx, s.opts.Load); err != nil {
					return node.Result{}, err
				}
			}
			return node.Result{Outputs: []node.Value{model, model, model}}, nil
		},
	}
}

func textEncoder() *node.Class {
	return &node.Class{
		Name: "CLIPTextEncode", DisplayName: "CLIP Text Encode (Prompt)", Category: "conditioning", Module: "nodes",
		Inputs:  []node.Input{{Name: "text", Type: node.String, Multiline: true, DynamicPrompts: true}, classes.Required("clip", classes.Clip)},
		Outputs: []node.Output{{Type: classes.Conditioning}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			model, ok := call.Args["clip"].(*checkpoint)
			if !ok {
				return node.Result{}, &classes.Exception{Kind: "RuntimeError", Text: "ERROR: clip input is invalid: None"}
			}
			return node.Result{Outputs: []node.Value{fmt.Sprintf("%s: %v", model.name, call.Args["text"])}}, nil
		},
	}
}

// secretsKey is the key of a prompt's credentials in the context of its nodes.
type secretsKey struct{}

// partner stands for the classes that call a service of Comfy.org: it fails without a credential, and shows the one that it
// was given, as a careless class may.
func partner() *node.Class {
	return &node.Class{
		Name: "SimPartner", DisplayName: "Simulated partner", Category: "api node", Module: "comfy_api_nodes.nodes_sim", OutputNode: true,
		Uncached: true,
		Inputs:   []node.Input{{Name: "prompt", Type: node.String}},
		Outputs:  []node.Output{{Type: node.String}},
		Run: func(ctx context.Context, _ *node.Call) (node.Result, error) {
			secrets, _ := ctx.Value(secretsKey{}).(map[string]string)
			key := cmp.Or(secrets["api_key_comfy_org"], secrets["auth_token_comfy_org"])
			if key == "" {
				return node.Result{}, &classes.Exception{Kind: "Exception", Text: "Unauthorized: Please login first to use this node."}
			}
			text := "signed in with " + key
			return node.Result{Outputs: []node.Value{text}, UI: map[string][]any{"text": {text}}}, nil
		},
	}
}

func (s *Server) sampler() *node.Class {
	return &node.Class{
		Name: classSampler, DisplayName: "KSampler", Category: "sampling", Module: "nodes",
		Inputs: []node.Input{
			classes.Required("model", classes.Model),
			{Name: "seed", Type: node.Int, Default: 0, Min: 0, Max: math.MaxInt, Control: true},
			classes.Integer("steps", 20, 1, 10000),
			{Name: "cfg", Type: node.Float, Default: 8.0, Min: 0.0, Max: 100.0, Step: 0.1, Round: 0.01},
			{Name: "sampler_name", Type: node.Combo, Options: []string{"euler", "euler_ancestral", "dpmpp_2m"}},
			{Name: "scheduler", Type: node.Combo, Options: []string{"simple", "normal", "karras"}},
			classes.Required("positive", classes.Conditioning), classes.Required("negative", classes.Conditioning),
			classes.Required("latent_image", classes.Latent),
			{Name: "denoise", Type: node.Float, Default: 1.0, Min: 0.0, Max: 1.0, Step: 0.01},
		},
		Outputs: []node.Output{{Type: classes.Latent}},
		Run:     s.sample,
	}
}

// sample fills a latent with noise that depends on all arguments, in the requested number of steps.
func (s *Server) sample(ctx context.Context, call *node.Call) (node.Result, error) {
	steps := call.Int("steps")
	model, isModel := call.Args["model"].(*checkpoint)
	from, isLatent := call.Args["latent_image"].(*classes.Samples)
	if !isModel || !isLatent {
		return node.Result{}, &classes.Exception{Kind: "AttributeError", Text: "'NoneType' object has no attribute 'model'"}
	}
	if err := s.samplerFault(ctx); err != nil {
		return node.Result{}, err
	}
	seed, err := json.Marshal([]any{model.name, pairs(node.Args{
		"seed": call.Args["seed"], "steps": steps, "cfg": call.Args["cfg"], "sampler": call.Args["sampler_name"],
		"scheduler": call.Args["scheduler"],
		"positive":  call.Args["positive"], "negative": call.Args["negative"], "denoise": call.Args["denoise"], "from": from.Values,
		"more": from.More,
	})})
	if err != nil {
		return node.Result{}, fmt.Errorf("seed of a sampler: %w", err)
	}
	to := classes.NewSamples(from.Frames, from.Height, from.Width)
	to.Noise(seed)
	for step := 1; step <= steps; step++ {
		if err := s.pause(ctx, s.opts.Step); err != nil {
			return node.Result{}, err
		}
		picture, err := to.Preview()
		if err != nil {
			return node.Result{}, err
		}
		call.Live.Progress(step, steps)
		call.Live.Preview("image/jpeg", picture)
	}
	return node.Result{Outputs: []node.Value{to}}, nil
}

// samplerFault causes the faults of a sampler.
func (s *Server) samplerFault(ctx context.Context) error {
	switch {
	case s.faults.happens(OutOfMemory):
		s.cache.free(true, false)
		return &classes.Exception{Kind: "torch.OutOfMemoryError", Text: "Allocation on device 0 would exceed allowed memory. (out of memory)"}
	case s.faults.happens(Raise):
		return &classes.Exception{Kind: "RuntimeError", Text: "cannot read /home/somebody/ComfyUI/models/checkpoints/broken.safetensors"}
	case s.faults.happens(BadValue):
		return &classes.Exception{Kind: "ValueError", Text: "expected sequence of length 77"}
	case s.crash != nil && s.faults.happens(Crash):
		go s.crash()
		<-ctx.Done()
	case s.faults.happens(Hang):
		select {
		case <-ctx.Done():
		case <-s.faults.freed():
		}
	}
	return nil
}

// pause takes the time of a step. It ends early with the prompt.
func (s *Server) pause(ctx context.Context, d time.Duration) error {
	if err := pause.For(ctx, d); err != nil {
		return err
	}
	if s.queue.isInterrupted() {
		return errInterrupted
	}
	return nil
}
