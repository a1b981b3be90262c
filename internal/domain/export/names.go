package export

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Item is an entry with its name in the archive.
type Item struct {
	Entry
	Path string
}

// Named gives each entry a name in the archive. The names stay inside the unpacked archive, are unique on every file
// system, and are the same for the same entries.
func Named(entries []Entry, naming Naming) []Item {
	items, used := make([]Item, len(entries)), map[string]bool{}
	folders := jobFolders(entries)
	for i, e := range entries {
		items[i] = Item{Entry: e, Path: unused(used, e.path(naming, folders))}
	}
	return items
}

const timeFolder = "2006-01-02T15-04-05"

// jobFolders names the folder of each job by the time of its submission or, if that is unknown, of its first file.
// Jobs of the same second get the next free second.
func jobFolders(entries []Entry) map[string]string {
	times := map[string]time.Time{}
	for _, e := range entries {
		at := e.JobTime
		if at.IsZero() {
			at = e.CreatedAt
		}
		if t, known := times[e.Job]; e.Job != "" && (!known || at.Before(t)) {
			times[e.Job] = at
		}
	}
	jobs := make([]string, 0, len(times))
	for id := range times {
		jobs = append(jobs, id)
	}
	slices.SortFunc(jobs, func(a, b string) int { return cmp.Or(times[a].Compare(times[b]), strings.Compare(a, b)) })
	folders, used := map[string]string{}, map[string]bool{}
	for _, id := range jobs {
		at := times[id].UTC()
		for used[at.Format(timeFolder)] {
			at = at.Add(time.Second)
		}
		folders[id] = at.Format(timeFolder)
		used[folders[id]] = true
	}
	return folders
}

func (e Entry) path(naming Naming, folders map[string]string) string {
	name := e.Name
	if path.Ext(name) == "" {
		name += path.Ext(e.Filename) // the owner's name has no extension
	}
	folder := ""
	switch naming {
	case ByAsset:
		return safePath(string(e.Public)+path.Ext(name), string(e.Public))
	case ByJobID:
		if folder = e.Job; folder == "" {
			folder = "unknown"
		}
	case ByJobTime:
		if folder = folders[e.Job]; folder == "" {
			folder = e.CreatedAt.UTC().Format(timeFolder)
		}
	case Preserve:
	}
	if folder != "" && e.Preview {
		folder += "/previews"
	}
	return safePath(folder+"/"+e.Dir+"/"+name, string(e.Public))
}

// maxPart bounds a part of a path, in bytes: file systems accept 255, and a number may be added.
const maxPart = 200

// safePath reduces a path to parts that every file system accepts and that stay inside the unpacked archive.
func safePath(name, otherwise string) string {
	var parts []string
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part = safePart(part); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return otherwise
	}
	return strings.Join(parts, "/")
}

// safePart returns "" for a part that cannot name a file: it is empty or consists of dots.
func safePart(part string) string {
	part = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || strings.ContainsRune(`:*?"<>|`, r) {
			return '_'
		}
		return r
	}, part)
	part = strings.TrimRight(strings.TrimSpace(part), ". ")
	if len(part) <= maxPart {
		return part
	}
	ext := path.Ext(part)
	if len(ext) > maxPart/4 {
		ext = ""
	}
	cut := maxPart - len(ext)
	for !utf8.RuneStart(part[cut]) {
		cut--
	}
	return part[:cut] + ext
}

// unused returns the name, or the first of "name (2)", "name (3)" and so on that is free. Upper and lower case are
// not distinguished.
func unused(used map[string]bool, name string) string {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 2; used[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s (%d)%s", stem, n, ext)
	}
	used[strings.ToLower(name)] = true
	return name
}
