package node

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
)

// The extensions of each kind of file. A combo with an upload button for a kind offers only files with these
// extensions, as ComfyUI does. Their content is checked when they are read.
var (
	imageNames = []string{".apng", ".avif", ".bmp", ".gif", ".heic", ".ico", ".jpeg", ".jpg", ".png", ".svg", ".tif", ".tiff", ".webp"}
	audioNames = []string{".aac", ".aif", ".aiff", ".flac", ".m4a", ".mp3", ".oga", ".ogg", ".opus", ".wav", ".wma"}
	videoNames = []string{".avi", ".flv", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".ogv", ".webm", ".wmv"}
)

// mediaTypes are the content types of files of sound and video that browsers play; other files have a general type.
var mediaTypes = map[string]string{
	".aac": "audio/aac", ".flac": "audio/flac", ".m4a": "audio/mp4", ".mp3": "audio/mpeg", ".oga": "audio/ogg", ".ogg": "audio/ogg",
	".opus": "audio/ogg", ".wav": "audio/wav", ".m4v": "video/mp4", ".mkv": "video/x-matroska", ".mov": "video/quicktime",
	".mp4": "video/mp4", ".ogv": "video/ogg", ".webm": "video/webm",
}

// MediaType returns the content type of a file of sound or video, by its name. It returns false for any other file.
func MediaType(name string) (string, bool) {
	end := strings.ToLower(path.Ext(name))
	if !slices.Contains(audioNames, end) && !slices.Contains(videoNames, end) {
		return "", false
	}
	if known := mediaTypes[end]; known != "" {
		return known, true
	}
	return "application/octet-stream", true
}

// kinds returns the extensions that a combo offers; nil means all.
func (in Input) kinds() []string {
	switch {
	case in.Extra["image_upload"] == true:
		return imageNames
	case in.Extra["audio_upload"] == true: // a video is offered too, because its sound is used
		return slices.Concat(audioNames, videoNames)
	case in.Extra["video_upload"] == true:
		return videoNames
	}
	return nil
}

// of returns the names with one of the extensions.
func of(kinds, names []string) []string {
	if kinds == nil {
		return names
	}
	out := make([]string, 0, len(names))
	for _, name := range names {
		if slices.Contains(kinds, strings.ToLower(path.Ext(name))) {
			out = append(out, name)
		}
	}
	return out
}

// Directories returns the folders of files, in order.
func Directories(files []string) []string {
	var all []string
	for _, name := range files {
		for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
			all = append(all, dir)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const (
	// maxInDirectory bounds the files of a folder that one input reads.
	maxInDirectory = 1000
	// maxSearched bounds the files of an account among which the files of a folder are found.
	maxSearched = 10_000
)

// InDirectory returns the names of the files in a folder of the caller's input files, at any depth and in order. A folder without
// files is Invalid.
func InDirectory(ctx context.Context, files Files, name string) ([]string, error) {
	all, err := files.List(ctx, FolderInput, maxSearched)
	if err != nil {
		return nil, fmt.Errorf("list the files of folder %s: %w", name, err)
	}
	dir := CleanDirectory(name) + "/"
	all = slices.DeleteFunc(slices.Clone(all), func(file string) bool { return !strings.HasPrefix(file, dir) })
	switch {
	case len(all) == 0:
		return nil, fault.New(fault.Invalid, "", "Invalid directory: %s", name)
	case len(all) > maxInDirectory:
		return nil, fault.New(fault.Invalid, "", "the directory %s has more than %d files", name, maxInDirectory)
	}
	slices.Sort(all)
	return all, nil
}

// CleanDirectory returns the name of a folder of input files without slashes around it and without the annotation.
func CleanDirectory(name string) string {
	return strings.Trim(path.Clean(strings.TrimSuffix(name, " ["+string(FolderInput)+"]")), "/")
}
