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
	contents, err := r.contents(dir, format)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "millrace", Arch: t.Arch, Platform: t.OS, Version: r.Version, Section: "net", MTime: r.Time,
		Maintainer: "The Millrace authors <maintainers@millrace.invalid>", Homepage: "https://github.com/millrace-dev/millrace", License: "MIT",
		Description: "Runs ComfyUI-format node graphs as a durable service.\nOne program serves asset upload, model router and workflow cloud.",
		Overridables: nfpm.Overridables{
			Depends:    []string{postgresOf[format]},
			Recommends: []string{"ffmpeg"},
			Contents:   contents,
			Scripts: nfpm.Scripts{
				PostInstall: r.source("postinstall.sh"), PreRemove: r.source("preremove.sh"), PostRemove: r.source("postremove.sh"),
			},
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

// postgresOf names the package with the programs of PostgreSQL, by format.
var postgresOf = map[string]string{"deb": "postgresql", "rpm": "postgresql-server"}

// source returns the path of a file of the packages in the sources.
func (r Release) source(name string) string {
	return filepath.Join(r.Root, "deploy", "release", "package", name)
}

// contents are the files that a package installs: the programs, the service with its user and its settings, completions of
// shells, the manual and the licence.
func (r Release) contents(dir, format string) (files.Contents, error) {
	var all files.Contents
	add := func(source, destination, kind string, mode os.FileMode) {
		all = append(all, &files.Content{
			Source: source, Destination: destination, Type: kind, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.Time},
		})
	}
	for _, p := range r.Programs {
		add(filepath.Join(dir, p.Name), "/usr/bin/"+p.Name, files.TypeFile, 0o755)
	}
	add(r.source("millrace.service"), "/usr/lib/systemd/system/millrace.service", files.TypeFile, 0o644)
	add(r.source("millrace.sysusers"), "/usr/lib/sysusers.d/millrace.conf", files.TypeFile, 0o644)
	add(r.source("millrace.env"), "/etc/millrace/millrace.env", files.TypeConfigNoReplace, 0o640) // it may have secrets
	add(filepath.Join(r.Root, "LICENSE"), "/usr/share/doc/millrace/copyright", files.TypeFile, 0o644)
	for _, own := range []string{"/etc/millrace", "/usr/share/doc/millrace"} {
		add("", own, files.TypeDir, 0o755) // rpm removes only directories that the package lists
	}
	for _, c := range completions {
		to := c.deb
		if format == "rpm" {
			to = c.rpm
		}
		add(filepath.Join(r.manual(), c.shell), to, files.TypeFile, 0o644)
	}
	pages, err := filepath.Glob(filepath.Join(r.manual(), "*.1"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		add(page, "/usr/share/man/man1/"+filepath.Base(page), files.TypeFile, 0o644)
	}
	return all, nil
}
