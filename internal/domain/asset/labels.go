package asset

import (
	"path"
	"slices"
	"strings"
)

// Labels of the folders of files. Each asset except an archive has exactly one of them, as its first label.
const (
	LabelInput  = "input"
	LabelOutput = "output"
	LabelTemp   = "temp"
	LabelModels = "models"
)

// LabelExport is the first label of an archive, which editors list neither among inputs nor among outputs. Owners may
// use the word as a tag.
const LabelExport = "export"

// IsPlaceLabel reports whether a tag names the folder of a file. Such a label is derived from the file; owners cannot
// set it.
func IsPlaceLabel(tag string) bool {
	return tag == LabelInput || tag == LabelOutput || tag == LabelTemp || tag == LabelModels
}

// modelsFolder holds uploaded model files: models/<category>/<name> below the input folder.
const modelsFolder = "models/"

// ModelPath splits the path of a model file into its category and the name by which loaders of that category find it.
func (p Place) ModelPath() (category, name string, ok bool) {
	if p.Folder != LabelInput {
		return "", "", false
	}
	rest, ok := strings.CutPrefix(path.Join(p.Subfolder, p.Filename), modelsFolder)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// ModelFile returns the path of a model file.
func ModelFile(category, name string) string { return modelsFolder + category + "/" + name }

// Placed returns the labels that are derived from the folder of a file: one of the four folder labels, and the
// category of a model. The folder of a file without a Place is one of its tags.
func (a Asset) Placed() []string {
	if a.Place != nil {
		if category, _, ok := a.Place.ModelPath(); ok {
			return slices.Compact([]string{LabelModels, category})
		}
		return []string{a.Place.Folder}
	}
	for _, word := range []string{LabelOutput, LabelTemp, LabelModels} {
		if slices.Contains(a.Tags, word) {
			return []string{word}
		}
	}
	switch a.Origin {
	case Hosted:
		return []string{LabelOutput}
	case Archived:
		return []string{LabelExport}
	case Uploaded, Referenced, Produced:
	}
	return []string{LabelInput}
}

// Labels returns the labels by which the asset is listed: those of its folder, then its owner's tags. Tags that name
// another folder are left out, so that each file belongs to one of the four folders.
func (a Asset) Labels() []string {
	labels := a.Placed()
	placed := len(labels)
	for _, tag := range a.Tags {
		if !IsPlaceLabel(tag) && !slices.Contains(labels[:placed], tag) {
			labels = append(labels, tag)
		}
	}
	return labels
}

// Title returns the title of the asset: the owner's name for it, else the last part of its path, else its id.
func (a Asset) Title() string {
	switch {
	case a.Name != "":
		return a.Name
	case a.FilePath != nil:
		return path.Base(*a.FilePath)
	case a.Place != nil:
		return a.Place.Filename
	default:
		return string(a.ID)
	}
}
