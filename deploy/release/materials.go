package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// materials writes the bill of materials of a target, in CycloneDX: every module that is part of its programs, as the
// programs themselves name them.
func (r Release) materials(t Target, dir string) (err error) {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.Time.Format(time.RFC3339),
		Component: &cdx.Component{Type: cdx.ComponentTypeApplication, Name: "millrace", Version: r.Version},
	}
	modules := map[string]cdx.Component{}
	for _, p := range r.Programs {
		info, err := buildinfo.ReadFile(filepath.Join(dir, p.Name))
		if err != nil {
			return err
		}
		toolchain := strings.TrimPrefix(info.GoVersion, "go")
		modules["std@"+toolchain] = component("std", toolchain)
		for _, m := range info.Deps {
			for m.Replace != nil {
				m = m.Replace
			}
			if m.Version == "" { // a folder of this repository
				continue
			}
			modules[m.Path+"@"+m.Version] = component(m.Path, m.Version)
		}
	}
	all := make([]cdx.Component, 0, len(modules))
	for _, m := range modules {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b cdx.Component) int { return strings.Compare(a.PackageURL, b.PackageURL) })
	bom.Components = &all
	f, err := os.Create(filepath.Join(r.Out, r.name(t)+".sbom.json"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

func component(path, version string) cdx.Component {
	url := fmt.Sprintf("pkg:golang/%s@%s", path, version)
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: path, Version: version, PackageURL: url}
}
