package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the formats that are made
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages writes the packages of a linux target.
func (r Release) packages(t Target, dir string) error {
	for _, format := range []string{"deb", "rpm"} {
		if err := r.pack(t, dir, format); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return nil
}

func (r Release) pack(t Target, dir, format string) (err error) {
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "millrace", Arch: t.Arch, Platform: t.OS, Version: r.Version, Section: "net", MTime: r.Time,
		Maintainer: "The Millrace authors <maintainers@millrace.invalid>", Homepage: "https://github.com/millrace-dev/millrace", License: "MIT",
		Description: "Runs ComfyUI-format node graphs as a durable service.\nOne program serves asset upload, model router and workflow cloud.",
		Overridables: nfpm.Overridables{
			Recommends: []string{"postgresql", "ffmpeg"},
			Contents:   r.contents(dir),
		},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.Out, r.name(t)+"."+format))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return packager.Package(info, f)
}

// contents are the files that a package installs.
func (r Release) contents(dir string) files.Contents {
	var all files.Contents
	for _, p := range r.Programs {
		all = append(all, &files.Content{
			Source: filepath.Join(dir, p.Name), Destination: "/usr/bin/" + p.Name, FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.Time},
		})
	}
	return append(all, &files.Content{
		Source: filepath.Join(r.Root, "LICENSE"), Destination: "/usr/share/doc/millrace/copyright",
		FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: r.Time},
	})
}
