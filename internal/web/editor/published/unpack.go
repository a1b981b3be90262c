package published

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// static is the folder of the wheel with the files for browsers. The rest of the wheel is for Python.
const static = "comfyui_frontend_package/static"

const (
	maxFiles    = 10_000    // version 1.58.1 has 1,704
	maxUnpacked = 512 << 20 // bytes; version 1.58.1 has 124 MB
)

// bounds bound the unpacked archive.
type bounds struct {
	files int
	bytes int64
}

// unpack writes the files below static into dir. It refuses an archive with a name that leads out of it, with entries
// other than files and folders, or beyond the bounds.
func unpack(archive *os.File, dir string, limit bounds) error {
	info, err := archive.Stat()
	if err != nil {
		return err
	}
	content, err := zip.NewReader(archive, info.Size())
	if err != nil {
		return err
	}
	if len(content.File) > limit.files {
		return fmt.Errorf("%d files; at most %d are unpacked", len(content.File), limit.files)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := limit.bytes
	for _, file := range content.File {
		if err := check(file); err != nil {
			return err
		}
		if !strings.HasPrefix(file.Name, static+"/") || file.Mode().IsDir() {
			continue
		}
		n, err := write(root, file, left)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		left -= n
	}
	if _, err := root.Stat(static + "/index.html"); err != nil {
		return fmt.Errorf("the archive contains no editor: %w", err)
	}
	return nil
}

// check refuses entries that no regular wheel has.
func check(file *zip.File) error {
	if name := strings.TrimSuffix(file.Name, "/"); !fs.ValidPath(name) || strings.Contains(name, `\`) {
		return fmt.Errorf("%q leads out of the archive", file.Name)
	}
	if mode := file.Mode(); !mode.IsRegular() && !mode.IsDir() {
		return fmt.Errorf("%q is neither a file nor a folder", file.Name)
	}
	return nil
}

// write unpacks one file of at most left bytes, regardless of the size in its header, and returns its size.
func write(root *os.Root, file *zip.File, left int64) (int64, error) {
	if err := root.MkdirAll(path.Dir(file.Name), 0o750); err != nil {
		return 0, err
	}
	from, err := file.Open()
	if err != nil {
		return 0, err
	}
	defer from.Close()
	to, err := root.OpenFile(file.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(to, io.LimitReader(from, left+1))
	if err == nil && n > left {
		err = errors.New("the unpacked archive exceeds its bound")
	}
	return n, errors.Join(err, to.Close())
}
