package driving

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/fault"
)

// signatures are the first bytes of files by the suffix of their name, each at its offset. They detect a page that a
// server, or a proxy in front of it, returns in place of the file.
var signatures = map[string][]signature{
	".png":    {{0, "\x89PNG\r\n\x1a\n"}},
	".apng":   {{0, "\x89PNG\r\n\x1a\n"}},
	".jpg":    {{0, "\xff\xd8\xff"}},
	".jpeg":   {{0, "\xff\xd8\xff"}},
	".webp":   {{0, "RIFF"}},
	".gif":    {{0, "GIF8"}},
	".wav":    {{0, "RIFF"}},
	".flac":   {{0, "fLaC"}, {0, "ID3"}},
	".mp3":    {{0, "ID3"}, {0, "\xff"}},
	".opus":   {{0, "OggS"}},
	".ogg":    {{0, "OggS"}},
	".mp4":    {{4, "ftyp"}},
	".mov":    {{4, "ftyp"}, {4, "moov"}, {4, "mdat"}, {4, "wide"}},
	".webm":   {{0, "\x1aE\xdf\xa3"}},
	".mkv":    {{0, "\x1aE\xdf\xa3"}},
	".exr":    {{0, "v/1\x01"}},
	".glb":    {{0, "glTF"}},
	".latent": {{8, "{"}},
}

type signature struct {
	offset int
	bytes  string
}

// fetched is a file of a server whose first bytes match its name.
type fetched struct {
	*bufio.Reader
	io.Closer

	mediaType string // "" = the server does not say
}

// fetch opens a file of a server, of at most limit bytes and at most the operator's limit. The caller closes it.
func (d *Driver) fetch(ctx context.Context, s comfyui.Server, f comfyui.File, limit int64) (*fetched, error) {
	limit = min(limit, d.opts.MaxOutput)
	content, err := s.Fetch(ctx, f, limit)
	if err != nil {
		return nil, tooLarge(err, f, limit)
	}
	r := bufio.NewReaderSize(content, 64<<10)
	if err := checkBeginning(r, f); err != nil {
		return nil, errors.Join(tooLarge(err, f, limit), content.Close())
	}
	return &fetched{r, content, content.MediaType}, nil
}

// checkBeginning refuses a file whose first bytes do not match the suffix of its name. A file with another suffix may
// begin with any bytes.
func checkBeginning(r *bufio.Reader, f comfyui.File) error {
	wanted, known := signatures[strings.ToLower(path.Ext(f.Name))]
	if !known {
		return nil
	}
	head, err := r.Peek(longestBeginning)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for _, w := range wanted {
		if len(head) >= w.offset && bytes.HasPrefix(head[w.offset:], []byte(w.bytes)) {
			return nil
		}
	}
	return fault.New(fault.Unavailable, fault.CodeServerGarbage, "the content that the server returns for %s is not a file of this type",
		f.Name)
}

// longestBeginning is the number of bytes of a file that are checked.
const longestBeginning = 16

// moveFiles copies the files of the account that a node names to the server. Values that do not name such a file are
// left to the server.
func (c *compiled) moveFiles(ctx context.Context, n *graph.PlanNode) error {
	class, _ := c.r.Classes.Lookup(n.Class)
	for _, in := range class.Inputs {
		name, given := n.Constants[in.Name].(string)
		if in.Folder == "" || !given {
			continue
		}
		move := c.moveFile
		switch {
		case in.Directory:
			move = c.moveFolder
		case remote.Sent(n.Class) == in.Name:
			move = c.sendKeyed
		}
		stored, err := move(ctx, n.ID, name)
		if fault.Is(err, fault.NotFound) && slices.Contains(in.Options, name) {
			continue
		}
		if err != nil {
			return err
		}
		c.prompt[n.ID].Inputs[in.Name] = stored
	}
	return nil
}

func (c *compiled) moveFile(ctx context.Context, id, name string) (string, error) {
	file, err := c.r.Files(id).Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info := file.Info()
	return c.d.uploaded.ensure(ctx, c.r, upload{
		digest: info.Hash, suffix: suffixOf(info.Name), listed: c.topLevel[id], size: info.Size, body: file,
	})
}

// moveFolder copies the files in a folder of the account to a folder of the server, whose name stands for their names and content.
func (c *compiled) moveFolder(ctx context.Context, id, name string) (string, error) {
	files := c.r.Files(id)
	names, err := node.InDirectory(ctx, files, name)
	if err != nil {
		return "", err
	}
	within := func(file string) string { return strings.TrimPrefix(file, node.CleanDirectory(name)+"/") }
	sum := blake3.New()
	for _, file := range names {
		info, err := files.Stat(ctx, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%q %s\n", within(file), info.Hash) //nolint:errcheck // a hash takes everything
	}
	folder := comfyui.FilesFolder + "/folder-" + hex.EncodeToString(sum.Sum(nil))
	if c.topLevel[id] {
		folder = strings.Replace(folder, "/", "-", 1)
	}
	if c.d.uploaded.known(c.r, folder) != "" {
		return folder, nil
	}
	for _, file := range names {
		if err := c.putFile(ctx, files, file, path.Join(folder, within(file))); err != nil {
			return "", err
		}
	}
	c.d.uploaded.remember(c.r, folder, folder)
	return folder, nil
}

func (c *compiled) putFile(ctx context.Context, files node.Files, name, as string) error {
	file, err := files.Open(ctx, name)
	if err != nil {
		return err
	}
	defer file.Close() // read only
	_, err = c.r.Server.Put(ctx, comfyui.Upload{Name: path.Base(as), Subfolder: path.Dir(as), Size: file.Info().Size, Body: file})
	return err
}

// listFiles reports whether a prompt was refused because classes of packs read only files that lie directly in the input folder. The
// files of these nodes must then be moved there.
func (c *compiled) listFiles(err error) bool {
	var refused *comfyui.Refusal
	if !errors.As(err, &refused) {
		return false
	}
	found := false
	for id, e := range refused.Nodes {
		n := c.node(id)
		if n == nil || c.topLevel[id] {
			continue
		}
		class, _ := c.r.Classes.Lookup(n.Class)
		for _, in := range class.Inputs {
			if in.Folder != "" && slices.ContainsFunc(e.Errors, func(e comfyui.ValidationError) bool {
				return e.Type == "value_not_in_list" && strings.HasPrefix(e.Details, in.Name+": ")
			}) {
				c.topLevel[id], found = true, true
			}
		}
	}
	return found
}

// makeFolders creates the folders into which classes of packs save, because not every class creates them.
func (c *compiled) makeFolders(ctx context.Context) error {
	for _, folder := range c.folders() {
		_, err := c.r.Server.Put(ctx, comfyui.Upload{
			Name: folderNoteName, Subfolder: folder, Folder: comfyui.FolderOutput, Size: int64(len(folderNote)),
			Body: strings.NewReader(folderNote),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// folders returns the folders into which classes of packs save.
func (c *compiled) folders() (folders []string) {
	for i := range c.r.Segment.Nodes {
		n := &c.r.Segment.Nodes[i]
		class, _ := c.r.Classes.Lookup(n.Class)
		if _, given := c.prompt[n.ID].Inputs[prefixInput]; !given || !class.OutputNode || !class.OfPack() {
			continue
		}
		folder := c.root
		if prefix, ok := c.prompt[n.ID].Inputs[prefixInput].(string); ok {
			folder = path.Dir(prefix)
		}
		for _, folder := range []string{folder, folder + "/" + folder, c.sequenceFolder(n.ID)} { // SaveStringKJ repeats it
			if folder != "" && !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
	}
	return folders
}

// sequenceSaver is a class that makes a folder with the name of its prefix, and puts files whose names begin with the prefix there. Its
// output names the last part of the folder only.
const sequenceSaver = "Save Image Sequence (mtb)"

// sequenceFolder returns the folder of the files of a node if its class is sequenceSaver, or "".
func (c *compiled) sequenceFolder(id string) string {
	prefix, ok := c.prompt[id].Inputs[prefixInput].(string)
	if !ok || c.prompt[id].Class != sequenceSaver {
		return ""
	}
	return prefix + "/" + path.Dir(prefix)
}

// placed returns the files of an output in the folders into which the node has put them.
func (c *compiled) placed(id string, files []comfyui.File) []comfyui.File {
	folder := c.sequenceFolder(id)
	if folder == "" {
		return files
	}
	files = slices.Clone(files)
	for i := range files {
		files[i].Subfolder = folder
	}
	return files
}

// folderNoteName and folderNote are the name and the content of the file with which a folder is created.
const folderNoteName, folderNote = "folder.txt", "This folder was created for the files of one prompt.\n"
