package files

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Bounds of names. A component fits every common file system; a path fits a URL.
const (
	maxName = 255
	maxPath = 1024
)

// assetPrefix begins a name that identifies one asset independently of its path. References in a submission are
// resolved to such names.
const assetPrefix = "asset:"

// AssetName returns the name under which Open finds the asset.
func AssetName(id asset.PublicID) string { return assetPrefix + string(id) }

// ParseName parses a file name in the form of graphs, "name" or "sub/name", with an optional annotation " [input]", "
// [output]" or " [temp]". Without an annotation, the file is in folder. A name that leads out of its folder is
// Invalid.
func ParseName(name string, folder node.Folder) (asset.Place, error) {
	for _, f := range []node.Folder{node.FolderInput, node.FolderOutput, node.FolderTemp} {
		if bare, ok := strings.CutSuffix(name, " ["+string(f)+"]"); ok {
			name, folder = bare, f
			break
		}
	}
	return NewPlace(folder, name)
}

// NewPlace checks a path relative to its folder and splits it. The path must be clean: no empty,
// "." or ".." component, no backslash, no drive letter, no control character, valid UTF-8.
func NewPlace(folder node.Folder, relative string) (asset.Place, error) {
	if err := checkFolder(folder); err != nil {
		return asset.Place{}, err
	}
	if err := CheckPath(relative); err != nil {
		return asset.Place{}, err
	}
	dir, file := path.Split(relative)
	return asset.Place{Folder: string(folder), Subfolder: strings.TrimSuffix(dir, "/"), Filename: file}, nil
}

// WeightPlace returns the place of a weight: a model file that ComfyUI servers have in a folder such as checkpoints, under a name that
// may have subfolders.
func WeightPlace(folder, name string) (asset.Place, error) {
	if folder == "" || len(folder) > maxWeightFolder || strings.Trim(folder, weightFolder) != "" || folder[0] == '.' {
		return asset.Place{}, fault.New(fault.Invalid, fault.CodeInvalidRequest,
			"the folder of a weight must be one name, such as checkpoints or loras, in letters, digits and . _ -")
	}
	if strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return asset.Place{}, unsafePath("a component begins with a dot")
	}
	if err := CheckPath(name); err != nil {
		return asset.Place{}, err
	}
	return NewPlace(node.FolderInput, asset.ModelFile(folder, name))
}

const (
	maxWeightFolder = 64
	weightFolder    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

func checkFolder(folder node.Folder) error {
	switch folder {
	case node.FolderInput, node.FolderOutput, node.FolderTemp:
		return nil
	case node.FolderModels: // it is listed only
	}
	return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the folder must be input, output or temp")
}

// CheckPath returns Invalid unless p is a safe relative path.
func CheckPath(p string) error {
	switch {
	case p == "":
		return unsafePath("it is empty")
	case len(p) > maxPath:
		return unsafePath("it is too long")
	case !utf8.ValidString(p) || strings.ContainsFunc(p, isControl):
		return unsafePath("it contains characters that are not allowed")
	case strings.ContainsRune(p, '\\'):
		return unsafePath("it contains a backslash")
	case len(p) >= 2 && p[1] == ':' && isLetter(p[0]):
		return unsafePath("it has a drive letter")
	}
	for part := range strings.SplitSeq(p, "/") {
		switch {
		case part == "":
			return unsafePath("it is absolute or has an empty component")
		case part == "." || part == "..":
			return unsafePath("it leads out of its folder")
		case len(part) > maxName:
			return unsafePath("a component is too long")
		}
	}
	return nil
}

func unsafePath(why string) error {
	return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the file path is not usable: %s", why)
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// Join returns the path of a place below its folder.
func Join(p asset.Place) string { return path.Join(p.Subfolder, p.Filename) }

// Numbered returns the n-th alternative of a file name, "stem (n).ext", or the name itself for 0.
func Numbered(filename string, n int) string {
	if n == 0 {
		return filename
	}
	ext := path.Ext(filename)
	if ext == filename {
		ext = "" // a dot file has no extension
	}
	suffix := " (" + strconv.Itoa(n) + ")" + ext
	stem := strings.TrimSuffix(filename, ext)
	for len(stem)+len(suffix) > maxName {
		_, size := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-size]
	}
	return stem + suffix
}

// Counters returns every prefix whose counter a file of this name advances, with the counter: the name
// "a_00005_00001_.png" advances the prefix "a" to 5 and "a_00005" to 1.
func Counters(filename string) (prefixes []string, numbers []int64) {
	for i := range len(filename) {
		if filename[i] != '_' || i == 0 {
			continue
		}
		if n, ok := leadingNumber(filename[i+1:]); ok {
			prefixes, numbers = append(prefixes, filename[:i]), append(numbers, n)
		}
	}
	return prefixes, numbers
}

// maxDigits bounds the digits of a counter, so that no name can overflow one.
const maxDigits = 9

func leadingNumber(s string) (int64, bool) {
	var n int64
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		if i == maxDigits {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
		i++
	}
	return n, i > 0
}
