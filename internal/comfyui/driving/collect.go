package driving

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// save copies the files of a node's output to the account, and returns the output with the names of the copies.
func (d *Driver) save(ctx context.Context, r *Run, c *compiled, id string, out comfyui.Output) (map[string][]any, []job.OutputFile, error) {
	if out.Err != nil {
		return nil, nil, out.Err
	}
	files := r.Files(id)
	byName := map[string]node.File{}
	for i, f := range out.Files {
		saved, err := d.copy(ctx, r, c, files, f, i)
		if err != nil {
			return nil, nil, fmt.Errorf("copy %s of node %s: %w", f.Name, id, err)
		}
		byName[fileKey(f.Name, f.Subfolder, string(f.Type))] = saved
	}
	ui, err := renamed(out.Raw, byName)
	return ui, files.Saved(), err
}

func fileKey(name, subfolder, folder string) string {
	return folder + "/" + strings.Trim(strings.ReplaceAll(subfolder, `\`, "/"), "/") + "/" + name
}

// numbered splits the name of a saved file as servers write it: prefix, counter, rest.
var numbered = regexp.MustCompile(`^(.*)_(\d{3,})(_?(?:\.[^.]*)?)$`)

// copy streams a file of the server to the account's files.
func (d *Driver) copy(ctx context.Context, r *Run, c *compiled, files NodeFiles, f comfyui.File, index int) (node.File, error) {
	content, err := d.fetch(ctx, r.Server, f, d.opts.MaxOutput)
	if err != nil {
		return node.File{}, err
	}
	defer content.Close() // read only
	stem, suffix := strings.TrimSuffix(f.Name, path.Ext(f.Name)), path.Ext(f.Name)
	if m := numbered.FindStringSubmatch(f.Name); m != nil {
		stem, suffix = m[1], m[3]
	}
	save := node.Save{
		Folder: node.FolderOutput, Prefix: path.Join(c.stripRoot(f), stem), Suffix: suffix, ContentType: content.mediaType, Index: index,
	}
	if f.Type == comfyui.FolderTemp {
		save.Folder = node.FolderTemp
	}
	save.ContentType = cmp.Or(save.ContentType, "application/octet-stream")
	save.Width, save.Height = pngSize(content.Reader)
	saved, err := files.Save(ctx, save, func(w io.Writer) error { return c.copyFile(w, content) })
	return saved, tooLarge(err, f, d.opts.MaxOutput)
}

func tooLarge(err error, f comfyui.File, most int64) error {
	if fault.CodeOf(err) == fault.CodeTooLarge {
		return fault.Wrap(err, fault.Exhausted, fault.CodeOutputTooLarge, "the output %s is larger than %d bytes, the limit for files of servers",
			f.Name, most)
	}
	return err
}

// pngSize returns the size of a picture from the beginning of its PNG file, and 0 for any other file.
func pngSize(r *bufio.Reader) (width, height int) {
	head, err := r.Peek(24)
	if err != nil || string(head[:8]) != "\x89PNG\r\n\x1a\n" {
		return 0, 0
	}
	return int(binary.BigEndian.Uint32(head[16:])), int(binary.BigEndian.Uint32(head[20:]))
}

// renamed returns the output of a node with the names of the copied files. Members that are not lists are left out.
func renamed(raw json.RawMessage, files map[string]node.File) (map[string][]any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var shown map[string]json.RawMessage
	if err := json.Unmarshal(raw, &shown); err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, fault.CodeServerGarbage, "the output of the node is not an object")
	}
	ui := make(map[string][]any, len(shown))
	for key, value := range shown {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			continue
		}
		ui[key] = make([]any, 0, len(list))
		for _, element := range list {
			ui[key] = append(ui[key], renamedFile(element, files))
		}
	}
	return ui, nil
}

func renamedFile(element json.RawMessage, files map[string]node.File) any {
	var f struct {
		Filename  string `json:"filename"`
		Subfolder string `json:"subfolder"`
		Type      string `json:"type"`
	}
	if json.Unmarshal(element, &f) == nil && f.Filename != "" {
		if saved, ok := files[fileKey(f.Filename, f.Subfolder, f.Type)]; ok {
			return saved
		}
	}
	return element
}

// keepFiles notes the files of a node of the graph. The files of expansions are left out: the server's cache may name them in the
// outputs of later prompts, like those of a cached node.
func (f *follower) keepFiles(id string, out comfyui.Output) {
	if f.c.node(id) != nil && !f.cached[id] && out.Err == nil {
		f.files[id] = out.Files
	}
}

// made returns the files of recorded nodes: the account has copies.
func (f *follower) made() (files []comfyui.File) {
	for id, some := range f.files {
		if f.recorded[id] && f.c.saves(id) {
			files = append(files, f.c.removable(some)...)
		}
	}
	return files
}

// exported returns the files through which values left the server. Pictures in the temp folder are left out: the server's cache
// may name them in the outputs of later prompts.
func (f *follower) exported(outcome *comfyui.Outcome) (files []comfyui.File) {
	for _, p := range f.c.outputs {
		for _, file := range f.c.removable(outcome.Outputs[p.id].Files) {
			if file.Type == comfyui.FolderOutput {
				files = append(files, file)
			}
		}
	}
	return files
}

// saves reports whether every prompt runs a node of the graph again, so that no other prompt names its files.
func (c *compiled) saves(id string) bool {
	inputs := c.prompt[id].Inputs
	return inputs[prefixInput] != nil || inputs[distinctInput] != nil
}

// removable returns the files that the server removes on request: those in the temp folder and in the folder of the prompt.
func (c *compiled) removable(files []comfyui.File) []comfyui.File {
	return slices.DeleteFunc(slices.Clone(files), func(f comfyui.File) bool {
		return f.Type != comfyui.FolderTemp && (f.Type != comfyui.FolderOutput || !strings.HasPrefix(f.Subfolder+"/", c.root+"/"))
	})
}
