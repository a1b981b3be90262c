// Package processes starts ComfyUI processes on this machine and looks after them: one for each GPU, each with a port and
// directories of its own. It promises that a process that ends, does not answer, is stuck or has grown too large is
// started again, and that none outlives this process. Jobs are placed on them as on any other registered server.
package processes

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Options say which processes to start.
type Options struct {
	Dir    string // of ComfyUI, with main.py
	Python string // interpreter; "" = the one of Dir's venv or .venv, else python3
	Args   string // further arguments of main.py, separated by spaces
	GPUs   string // all, none, or numbers separated by commas; "" = all
	Count  int    // processes on each GPU, or on the CPU; 0 = 1
	// RecycleMemory and RecyclePrompts restart a process that has grown beyond them, when it is idle: a share of the machine's
	// memory or a number of bytes, and a number of prompts; "" and 0 = never.
	RecycleMemory  string
	RecyclePrompts int

	// ForPools starts a process for each machine of a pool of the kind process, and none without one. Pools returns the pools.
	ForPools bool
	Pools    func(context.Context) ([]pool.Pool, error)

	Data    string        // directory of the processes' files
	Silence time.Duration // how long a process may give no answer before it is restarted; 0 = 1 minute
	Log     *slog.Logger
}

// ours are arguments of ComfyUI that this package gives.
var ours = []string{
	"--port", "--listen", "--base-directory", "--output-directory", "--input-directory", "--temp-directory", "--user-directory",
	"--database-url", "--cuda-device", "--tls-keyfile", "--tls-certfile",
}

// config is the checked form of Options.
type config struct {
	Options
	args    []string
	devices []string // cpu, gpu, or numbers of GPUs; each has Count processes
	limit   limit
}

// check completes the options, or returns why ComfyUI cannot be started with them.
func (o Options) check(ctx context.Context) (c config, err error) {
	c = config{Options: o, args: strings.Fields(o.Args)}
	if c.Dir, err = filepath.Abs(o.Dir); err != nil {
		return c, err
	}
	if c.Data, err = filepath.Abs(o.Data); err != nil {
		return c, err
	}
	for _, part := range []string{"main.py", "comfy"} {
		if _, err := os.Stat(filepath.Join(c.Dir, part)); err != nil {
			return c, invalid("--comfyui-dir: %s is not the directory of ComfyUI: it has no %s", c.Dir, part)
		}
	}
	for _, arg := range c.args {
		if name, _, _ := strings.Cut(arg, "="); slices.Contains(ours, name) {
			return c, invalid("--comfyui-args: Millrace itself gives %s to each process; leave it out", name)
		}
	}
	if c.limit, err = parseLimit(o.RecycleMemory, o.RecyclePrompts); err != nil {
		return c, err
	}
	if o.Count < 0 || o.Count > maxCount {
		return c, invalid("--comfyui-count must be from 1 to %d", maxCount)
	}
	if c.Python, err = findPython(c.Dir, o.Python); err != nil {
		return c, err
	}
	found, err := examine(ctx, c.Python, c.Dir)
	if err != nil {
		return c, err
	}
	c.Silence = cmp.Or(c.Silence, time.Minute)
	c.devices, err = chooseDevices(o.GPUs, found)
	return c, err
}

// maxCount bounds the processes on one device.
const maxCount = 32

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.CodeInvalidServer, format, args...)
}

// findPython returns the path of the interpreter.
func findPython(dir, given string) (string, error) {
	if given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", invalid("--comfyui-python: %v", err)
		}
		return filepath.Abs(path)
	}
	for _, place := range []string{"venv/bin/python", ".venv/bin/python"} {
		if path := filepath.Join(dir, place); executable(path) {
			return path, nil
		}
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		return "", invalid("%s has no venv and there is no python3: name the interpreter with --comfyui-python", dir)
	}
	return path, nil
}

func executable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}

// machine is what torch finds on this machine.
type machine struct {
	GPUs int  `json:"gpus"`
	MPS  bool `json:"mps"` // the GPU of a Mac, which has no number
}

// question asks an interpreter for its devices.
const question = `import json, torch
mps = getattr(torch.backends, "mps", None)
print(json.dumps({"gpus": torch.cuda.device_count(), "mps": bool(mps and mps.is_available())}))`

// examineWithin bounds the import of torch, which reads gigabytes where the disk is cold.
const examineWithin = 3 * time.Minute

// examine asks the interpreter for its devices, and so finds one that cannot run ComfyUI.
func examine(ctx context.Context, python, dir string) (found machine, err error) {
	ctx, cancel := context.WithTimeout(ctx, examineWithin)
	defer cancel()
	out, err := child.Output(ctx, child.Command{Path: python, Args: []string{"-c", question}, Env: environment(""), Dir: dir, Group: true})
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := lines[len(lines)-1]
	if err == nil {
		err = json.Unmarshal([]byte(last), &found)
	}
	if err != nil {
		return found, invalid("%s cannot import torch, which ComfyUI needs: %s; install ComfyUI's requirements for it, or name another "+
			"interpreter with --comfyui-python", python, cmp.Or(fault.Shorten(last, maxText), err.Error()))
	}
	return found, nil
}

// chooseDevices returns the devices of the processes.
func chooseDevices(gpus string, found machine) ([]string, error) {
	switch gpus {
	case "none":
		return []string{cpu}, nil
	case "", "all":
		if found.GPUs == 0 && found.MPS {
			return []string{"gpu"}, nil
		}
		if found.GPUs == 0 {
			return []string{cpu}, nil
		}
		var all []string
		for n := range found.GPUs {
			all = append(all, strconv.Itoa(n))
		}
		return all, nil
	}
	var chosen []string
	for text := range strings.SplitSeq(gpus, ",") {
		text = strings.TrimSpace(text)
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n >= found.GPUs {
			return nil, invalid("--comfyui-gpus: there is no GPU %q: torch finds %d, counted from 0", text, found.GPUs)
		}
		if !slices.Contains(chosen, text) {
			chosen = append(chosen, text)
		}
	}
	return chosen, nil
}

const cpu = "cpu" // the device of a process without a GPU

// passed are the variables that a process gets from this one, by their beginnings. It gets no other: the environment of Millrace
// has passwords and keys, and node packs are programs of third parties.
var passed = []string{
	"PATH=", "HOME=", "USER=", "LANG=", "LC_", "TZ=", "TMPDIR=", "XDG_", "SSL_CERT_", "LD_LIBRARY_PATH=", "PYTHON", "VIRTUAL_ENV=", "CONDA_",
	"CUDA_", "NVIDIA_", "HIP_", "ROCR_", "HSA_", "AMD_", "TORCH", "PYTORCH_", "TRITON_", "OMP_", "MKL_", "OPENBLAS_", "HF_", "COMFY",
	"http_proxy=", "https_proxy=", "no_proxy=", "HTTP_PROXY=", "HTTPS_PROXY=", "NO_PROXY=",
}

// environment returns the environment of a process on a device.
func environment(device string) []string {
	var env []string
	for _, variable := range os.Environ() {
		if slices.ContainsFunc(passed, func(begin string) bool { return strings.HasPrefix(variable, begin) }) {
			env = append(env, variable)
		}
	}
	if _, err := strconv.Atoi(device); err == nil {
		env = append(env, "CUDA_VISIBLE_DEVICES="+visible(device))
	}
	return append(env, "PYTHONUNBUFFERED=1")
}

// visible returns the name of a GPU in the environment of this process, which may see some only: torch counts those from 0.
func visible(device string) string {
	all := strings.Split(os.Getenv("CUDA_VISIBLE_DEVICES"), ",")
	if n, err := strconv.Atoi(device); err == nil && n < len(all) && all[n] != "" {
		return strings.TrimSpace(all[n])
	}
	return device
}

// arguments returns the arguments of a process that listens on a port and has its files in a directory.
func (c config) arguments(device, dir string, port int) []string {
	args := []string{
		"main.py", "--listen", loopback, "--port", strconv.Itoa(port), "--disable-auto-launch",
		"--output-directory", filepath.Join(dir, "output"), "--input-directory", filepath.Join(dir, "input"),
		"--temp-directory", dir, "--user-directory", filepath.Join(dir, "user"),
		"--database-url", "sqlite:///" + filepath.Join(dir, "comfyui.db"), "--extra-model-paths-config", c.modelPaths(),
	}
	if device == cpu && !slices.Contains(c.args, "--cpu") {
		args = append(args, "--cpu")
	}
	return append(args, c.args...)
}

// models is the folder of the weights that Millrace brings to the processes, beside the models of the directory of ComfyUI.
func (c config) models() string { return filepath.Join(c.Data, "models") }

// modelPaths is the file that tells the processes of that folder.
func (c config) modelPaths() string { return filepath.Join(c.Data, "models.yaml") }

// modelFolders are the folders of models of ComfyUI.
var modelFolders = []string{
	"audio_encoders", "checkpoints", "clip_vision", "controlnet", "diffusion_models", "embeddings", "gligen", "hypernetworks",
	"latent_upscale_models", "loras", "model_patches", "photomaker", "style_models", "text_encoders", "upscale_models", "vae", "vae_approx",
}

// writeModelPaths writes the file of the folders of models: those of ComfyUI, and those that node packs have got weights in. Processes
// may read it meanwhile.
func (c config) writeModelPaths(process string) error {
	if err := os.MkdirAll(c.models(), 0o755); err != nil {
		return err
	}
	there, err := os.ReadDir(c.models())
	if err != nil {
		return err
	}
	folders := map[string]string{"base_path": c.models()}
	for _, name := range modelFolders {
		folders[name] = name
	}
	for _, entry := range there {
		folders[entry.Name()] = entry.Name()
	}
	raw, err := json.Marshal(map[string]any{"millrace": folders}) // JSON is YAML
	if err != nil {
		return err
	}
	temporary := c.modelPaths() + "." + process
	if err := os.WriteFile(temporary, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, c.modelPaths())
}

const loopback = "127.0.0.1"

// maxText bounds a text that a program wrote.
const maxText = 300

// limit is the size beyond which a process is restarted.
type limit struct {
	share   float64 // of the machine's memory; 0 = bytes
	bytes   int64   // 0 = no limit
	prompts int     // 0 = no limit
}

func parseLimit(memory string, prompts int) (limit, error) {
	l := limit{prompts: prompts}
	if prompts < 0 {
		return l, invalid("--comfyui-recycle-prompts must not be negative")
	}
	if memory == "" {
		return l, nil
	}
	if text, ok := strings.CutSuffix(memory, "%"); ok {
		share, err := strconv.ParseFloat(text, 64)
		if err != nil || share <= 0 || share > 100 {
			return l, invalid("--comfyui-recycle-memory takes a share such as 80%%, or bytes such as 24GiB, not %q", memory)
		}
		l.share = share / 100
		return l, nil
	}
	n, err := amount.ParseBytes(memory)
	if err != nil || n <= 0 {
		return l, invalid("--comfyui-recycle-memory takes a share such as 80%%, or bytes such as 24GiB, not %q", memory)
	}
	l.bytes = n
	return l, nil
}
