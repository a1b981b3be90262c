package driving

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// save copies the files of a node's output to the account, and returns the output with the names of the copies. sent are
// the pictures that the node has sent, or nil.
func (d *Driver) save(ctx context.Context, r *Run, c *compiled, id string, out comfyui.Output, sent *sentPictures,
) (map[string][]any, []job.OutputFile, error) {
	if out.Err != nil {
		return nil, nil, out.Err
	}
	renaming := renaming{root: c.root, copies: map[string][]node.File{}}
	var files NodeFiles
	index := 0
	if sent != nil {
		files, index, renaming.sent = sent.files, len(sent.shown), sent.shown
	} else {
		files = r.Files(id)
	}
	for i, f := range c.placed(id, out.Files) {
		key := fileKey(out.Files[i].Name, out.Files[i].Subfolder, string(f.Type))
		for one := range sequence(f) {
			saved, err := d.copy(ctx, r, c, files, one, index)
			if fault.CodeOf(err) == fault.CodeServerFileNotFound && (f.Workflow || one.Name != f.Name && len(renaming.copies[key]) > 0) {
				break
			}
			if err != nil {
				return nil, nil, fmt.Errorf("copy %s of node %s: %w", one.Name, id, unnamed(err, f, one))
			}
			renaming.copies[key] = append(renaming.copies[key], saved)
			if one.Name != f.Name {
				c.members[id] = append(c.members[id], one)
			}
			index++
		}
	}
	ui, err := renaming.output(out.Raw)
	if err == nil && renaming.missing > 0 {
		err = picturesMissed(id)
	}
	if err == nil {
		err = d.keepKeyed(ctx, r, files, ui)
	}
	return ui, files.Saved(), err
}

// numberPattern is the part of a name that stands for the number of a file, as ffmpeg writes sequences of pictures.
var numberPattern = regexp.MustCompile(`%(?:0([1-9]))?d`)

// sequence returns the files that a name stands for: itself, or the files whose numbers, from 1, take the place of the pattern in
// the name. The caller stops at the first number that the server lacks.
func sequence(f comfyui.File) iter.Seq[comfyui.File] {
	at := numberPattern.FindStringSubmatchIndex(f.Name)
	return func(yield func(comfyui.File) bool) {
		if at == nil {
			yield(f)
			return
		}
		for n := 1; ; n++ {
			one := f
			one.Name = f.Name[:at[0]] + fmt.Sprintf(f.Name[at[0]:at[1]], n) + f.Name[at[1]:]
			if !yield(one) {
				return
			}
		}
	}
}

// unnamed makes it a final error if the first file of a sequence is missing: the server does not list the files, so another attempt would
// not find them either.
func unnamed(err error, named, one comfyui.File) error {
	if fault.CodeOf(err) != fault.CodeServerFileNotFound || named.Name == one.Name {
		return err
	}
	return fault.Wrap(err, fault.Invalid, "", "the node names its files %q, and the server has no file %q", named.Name, one.Name)
}

func fileKey(name, subfolder, folder string) string {
	f := comfyui.FileOf(name, subfolder, comfyui.Folder(folder))
	return path.Join(folder, f.Subfolder, f.Name)
}

// numbered splits the name of a saved file as servers write it: prefix, counter, rest.
var numbered = regexp.MustCompile(`^(.*)_(\d{3,})((?:_|[-.][0-9A-Za-z]{1,16})?(?:\.[^.]*)?)$`)

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

// renaming gives the files of an output their names in the account.
type renaming struct {
	root    string                 // folder of the files that the prompt saved
	copies  map[string][]node.File // by fileKey
	sent    []node.File            // pictures that the node has sent and the output has not named yet
	missing int                    // pictures that the output names and no message brought
}

// output returns the output of a node with the names of the copied files. Members that are not lists are left out.
func (r *renaming) output(raw json.RawMessage) (map[string][]any, error) {
	if len(raw) == 0 {
		return r.rest(nil), nil
	}
	var shown map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&shown); err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, fault.CodeServerGarbage, "the output of the node is not an object")
	}
	ui := make(map[string][]any, len(shown))
	for key, value := range shown {
		if list, ok := value.([]any); ok {
			ui[key] = r.list(list)
		}
	}
	return r.rest(ui), nil
}

// rest adds the pictures that the output does not name.
func (r *renaming) rest(ui map[string][]any) map[string][]any {
	if ui == nil && len(r.sent) > 0 {
		ui = map[string][]any{}
	}
	for _, file := range r.sent {
		ui["images"] = append(ui["images"], file)
	}
	return ui
}

func (r *renaming) list(items []any) []any {
	out := make([]any, 0, len(items))
	for _, item := range items {
		switch item := item.(type) {
		case []any:
			out = append(out, r.list(item))
		case map[string]any:
			out = append(out, r.object(item)...)
		case string:
			out = append(out, r.text(item))
		default:
			out = append(out, item)
		}
	}
	return out
}

// text returns a text of an output. A path on the machine of the server to a file of the prompt becomes the name of the copy.
func (r *renaming) text(text string) string {
	if !strings.Contains(text, r.root+"/") || strings.ContainsAny(text, "\n") {
		return text
	}
	name := path.Base(text)
	for key, copies := range r.copies {
		if path.Base(key) == name {
			return path.Join(copies[0].Subfolder, copies[0].Filename)
		}
	}
	return name
}

// object returns an element of an output with its copied file. An element that names a sequence becomes one element for each file.
func (r *renaming) object(element map[string]any) []any {
	name, _ := element["filename"].(string)
	subfolder, _ := element["subfolder"].(string)
	folder, _ := element["type"].(string)
	copies := r.copies[fileKey(name, subfolder, folder)]
	if element["source"] == "websocket" && name == "" {
		if len(r.sent) == 0 {
			r.missing++
			return []any{element}
		}
		copies, r.sent = r.sent[:1], r.sent[1:]
	}
	if len(copies) == 0 {
		for key, value := range element {
			switch value := value.(type) {
			case []any:
				element[key] = r.list(value)
			case map[string]any:
				if inner := r.object(value); len(inner) == 1 {
					element[key] = inner[0]
				}
			}
		}
		return []any{element}
	}
	if workflow, ok := element["workflow"].(string); ok {
		delete(element, "workflow")
		if beside := r.copies[fileKey(workflow, subfolder, folder)]; len(beside) == 1 {
			element["workflow"] = beside[0].Filename
		}
	}
	delete(element, "fullpath") // a path on the server's machine
	out := make([]any, len(copies))
	for i, file := range copies {
		one := maps.Clone(element)
		one["filename"], one["subfolder"], one["type"] = file.Filename, file.Subfolder, file.Folder
		out[i] = one
	}
	return out
}

// keepFiles notes the files of a node of the graph. The files of expansions are left out: the server's cache may name them in the
// outputs of later prompts, like those of a cached node.
func (f *follower) keepFiles(id string, out comfyui.Output) {
	if f.c.node(id) != nil && !f.cached[id] && out.Err == nil {
		f.files[id] = f.c.placed(id, out.Files)
	}
}

// made returns the files of recorded nodes: the account has copies.
func (f *follower) made() (files []comfyui.File) {
	for id, some := range f.files {
		if f.recorded[id] && f.c.saves(id) {
			files = append(files, f.c.removable(append(f.c.members[id], some...))...)
		}
	}
	for _, folder := range f.c.folders() {
		files = append(files, comfyui.File{Name: folderNoteName, Subfolder: folder, Type: comfyui.FolderOutput})
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
