package export

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Jobs reads jobs. An unknown job and a job of another account are NotFound.
type Jobs interface {
	ByPublicID(ctx context.Context, account string, id job.PublicID) (job.Job, error)
}

// Files reads the live files of an account; files.Service implements it.
type Files interface {
	// Known returns the live files among the given ids, including files whose content was rejected.
	Known(ctx context.Context, account string, ids []asset.PublicID) (map[asset.PublicID]files.Entry, error)
}

// Shelf returns the names that owners gave their files. It may lag behind the log.
type Shelf interface {
	// Several returns the assets with the given ids, as far as the shelf has them.
	Several(ctx context.Context, account string, ids []asset.ID) (map[asset.ID]asset.Asset, error)
}

// Limits bound one archive.
type Limits struct {
	Files int   // number of files
	Bytes int64 // total size of the files
}

// Chooser finds the files of a request.
type Chooser struct {
	Jobs   Jobs
	Files  Files
	Shelf  Shelf
	Limits Limits
}

// Entry is a file to pack.
type Entry struct {
	Asset       asset.ID
	Public      asset.PublicID
	Hash        blob.Ref
	Size        int64
	ContentType string
	Dir         string // directory below the file's folder, "" = the folder itself
	Name        string // the owner's name for it
	Filename    string // name under which it was saved
	Job         string // public id of the requested job, or of the job that made the file, or ""
	Preview     bool   // a temporary file
	CreatedAt   time.Time
	JobTime     time.Time // when the job was submitted; zero = not known
}

// Choice is the result of choosing: the files to pack and those that are missing.
type Choice struct {
	Entries []Entry
	Missing []Missing
	Bytes   int64 // of the entries
}

// Total returns the number of requested files.
func (c Choice) Total() int { return len(c.Entries) + len(c.Missing) }

// requestedFile is a file that a request names by its id or through its job.
type requestedFile struct {
	id      asset.PublicID
	job     *job.Job // nil = requested by its id
	preview bool
}

// Choose returns the current files of a request, in its order and without duplicates. Unknown files and files of
// other accounts are listed as missing. A request without any file is NotFound, a request beyond the limits Invalid.
func (c Chooser) Choose(ctx context.Context, account string, r Request) (Choice, error) {
	list, gone, err := c.requested(ctx, account, r)
	if err != nil {
		return Choice{}, err
	}
	ids := make([]asset.PublicID, len(list))
	for i, w := range list {
		ids[i] = w.id
	}
	known, err := c.Files.Known(ctx, account, ids)
	if err != nil {
		return Choice{}, fmt.Errorf("look up the files of an export: %w", err)
	}
	own := make([]asset.ID, 0, len(known))
	for _, e := range known {
		own = append(own, e.Asset)
	}
	shelf, err := c.Shelf.Several(ctx, account, own)
	if err != nil {
		return Choice{}, fmt.Errorf("look up the names of the files of an export: %w", err)
	}
	choice := Choice{Missing: gone}
	for _, w := range list {
		e, there := known[w.id]
		switch {
		case !there || e.Rejected:
			choice.Missing = append(choice.Missing, w.missing())
		default:
			choice.add(r, w, e, shelf[e.Asset])
		}
	}
	return choice, c.check(choice)
}

// requested lists the files that the jobs saved, then the files that the request names. Unknown jobs contribute none.
func (c Chooser) requested(ctx context.Context, account string, r Request) (list []requestedFile, gone []Missing, err error) {
	seen := map[asset.PublicID]bool{}
	add := func(w requestedFile) {
		if !seen[w.id] {
			seen[w.id] = true
			list = append(list, w)
		}
	}
	for _, id := range r.Jobs {
		j, err := c.Jobs.ByPublicID(ctx, account, id)
		if fault.Is(err, fault.NotFound) {
			gone = append(gone, Missing{Job: string(id), Error: reasonAbsent})
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read job %s: %w", id, err)
		}
		for _, w := range saved(&j, r.Previews) {
			add(w)
		}
	}
	for _, id := range r.Assets {
		add(requestedFile{id: id})
	}
	return list, gone, nil
}

// saved lists the files of a job.
func saved(j *job.Job, previews bool) (list []requestedFile) {
	for _, out := range j.Outputs {
		for _, f := range out.Files {
			preview := f.Folder == asset.LabelTemp
			if previews || !preview {
				list = append(list, requestedFile{id: asset.PublicID(f.Asset), job: j, preview: preview})
			}
		}
	}
	return list
}

func (w requestedFile) missing() Missing {
	m := Missing{Asset: w.id, Error: reasonAbsent}
	if w.job != nil {
		m.Job = string(w.job.PublicID())
	}
	return m
}

// add adds a file unless the request's filter for its job excludes it. known is the zero Asset if the shelf does not
// have the file yet.
func (c *Choice) add(r Request, w requestedFile, e files.Entry, known asset.Asset) {
	entry := Entry{
		Asset: e.Asset, Public: e.Public, Hash: e.Hash, Size: e.Size, ContentType: e.ContentType, CreatedAt: e.CreatedAt,
		Dir: e.Place.Subfolder, Name: e.Place.Filename, Filename: e.Place.Filename, Preview: w.preview,
	}
	if known.ID != "" {
		entry.Name = known.Title()
	}
	if w.job != nil {
		entry.Job, entry.JobTime = string(w.job.PublicID()), w.job.SubmittedAt
		if names, filtered := r.Names[entry.Job]; filtered && !entry.hasName(names) {
			return
		}
	} else if known.Producer != nil {
		entry.Job = known.Producer.PublicJob()
	}
	c.Entries, c.Bytes = append(c.Entries, entry), c.Bytes+entry.Size
}

// hasName reports whether one of the names, in any form that clients use, is a name of the file.
func (e Entry) hasName(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == e.Name || name == e.Filename || e.Dir != "" && name == e.Dir+"/"+e.Filename || name == e.Hash.String()
	})
}

func (c Chooser) check(choice Choice) error {
	switch {
	case len(choice.Entries) == 0:
		return fault.New(fault.NotFound, fault.CodeNothingToExport, "none of these files exists")
	case c.Limits.Files > 0 && len(choice.Entries) > c.Limits.Files:
		return fault.New(fault.Invalid, fault.CodeExportTooLarge, "an archive may have at most %d files, not %d", c.Limits.Files,
			len(choice.Entries))
	case c.Limits.Bytes > 0 && choice.Bytes > c.Limits.Bytes:
		return fault.New(fault.Invalid, fault.CodeExportTooLarge, "the files of an archive may have at most %d bytes together, not %d",
			c.Limits.Bytes, choice.Bytes)
	}
	return nil
}
