package asset

import (
	"path"
	"slices"
	"strings"
)

// Words that say where a file belongs. Each asset has exactly one of them, as its first label, but an archive.
const (
	LabelInput  = "input"
	LabelOutput = "output"
	LabelTemp   = "temp"
	LabelModels = "models"
)

// LabelExport is the first label of an archive: editors show it neither among inputs nor among outputs. Owners may
// use the word as well.
const LabelExport = "export"

// IsPlaceLabel reports a word that says where a file belongs: it follows from the file and is no tag that
// an owner gives or takes.
func IsPlaceLabel(tag string) bool {
	return tag == LabelInput || tag == LabelOutput || tag == LabelTemp || tag == LabelModels
}

// modelsFolder holds uploaded model files: models/<category>/<name> below the input folder.
const modelsFolder = "models/"

// ModelPath splits the place of a model file into its category and what loaders of that category call it.
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

// Placed returns the labels that follow from where a file belongs: one of the four words, and the category
// of a model. A file without a place says it by a tag.
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

// Labels returns what the asset is listed by: where it belongs, then its owner's tags. Tags that name
// another of the four places than its own are left out, so that these divide all files among them.
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

// Title returns what the asset is called: the owner's name for it, else the last part of its path, else
// its id.
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
