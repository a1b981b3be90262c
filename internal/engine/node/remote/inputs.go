package remote

import (
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// uploadFolder is the folder of servers into which this program puts files. Only choices that list the folders of a server's input
// folder contain it, or the other folder that servers have there.
const (
	uploadFolder = "millrace"
	modelsFolder = "3d"
)

// Inputs with these names offer files, or folders, of the input folder if the server lists none, because the folder has none.
var (
	fileInputs   = []string{"image", "video", "audio", "file", "latent"}
	folderInputs = []string{"directory", "folder", "input_folder"}
)

// adoptInputs finds the choices of node packs that list the server's input folder without saying so, and makes them choices of the
// account's files. The names of the server's own files, and those of other accounts, are then not offered.
func (d *Document) adoptInputs() {
	inFolder := map[string]bool{}
	for _, def := range d.Classes {
		for i := range def.inputs {
			for _, name := range def.inputs[i].listed {
				inFolder[name] = strings.Contains(name, ".")
			}
		}
	}
	for _, def := range d.Classes {
		for i := range def.inputs {
			if in := &def.inputs[i]; in.Type == node.Combo && in.Folder == "" && !in.open {
				in.adopt(inFolder)
			}
		}
	}
}

// adopt changes an input that lists files, or folders, of the server's input folder.
func (in *input) adopt(inFolder map[string]bool) {
	files := slices.DeleteFunc(slices.Clone(in.Options), func(choice string) bool { return !strings.Contains(choice, ".") })
	listsFiles := len(files) > 0 && !slices.ContainsFunc(files, func(name string) bool {
		_, media := node.MediaType(name) // another input may have been listed before the file was there
		return !inFolder[name] && !(media && slices.Contains(fileInputs, in.Name))
	})
	empty := len(in.Options) == 0
	switch {
	case slices.Contains(in.Options, uploadFolder), slices.Contains(in.Options, modelsFolder) && len(files) == 0,
		empty && slices.Contains(folderInputs, in.Name):
		in.offer(nil)
		in.Directory, in.Options = true, nil
	case listsFiles, empty && slices.Contains(fileInputs, in.Name):
		in.offer(map[string]bool{in.Name + "_upload": slices.Contains([]string{"image", "video", "audio"}, in.Name)})
	default:
		return
	}
	in.Declared = nil
}
