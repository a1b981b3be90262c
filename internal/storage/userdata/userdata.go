// Package userdata stores the small files that an editor keeps for its user, such as settings and saved workflows. It
// promises that a file belongs to one account, and that no path leads to the files of another one. The files are not
// assets: nothing refers to them, and clients may overwrite them.
package userdata

import (
	"context"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Bounds of the files of one account.
const (
	MaxPath  = 512    // bytes of a path
	MaxDepth = 16     // segments of a path
	MaxFiles = 10_000 // files of an account
)

// Path names a file of an account: segments, neither empty nor dots, joined by slashes.
type Path string

// ParsePath parses a path. A path that leads out of the account's files, or that some systems do not allow as a file
// name, is Invalid.
func ParsePath(text string) (Path, error) {
	if text == "" || len(text) > MaxPath || !utf8.ValidString(text) {
		return "", fault.New(fault.Invalid, fault.CodeInvalidPath, "a path must have 1 to %d bytes of UTF-8", MaxPath)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }) {
		return "", fault.New(fault.Invalid, fault.CodeInvalidPath, "a path must not contain backslashes or control characters")
	}
	segments := strings.Split(text, "/")
	if len(segments) > MaxDepth {
		return "", fault.New(fault.Invalid, fault.CodeInvalidPath, "a path may have at most %d segments", MaxDepth)
	}
	for _, segment := range segments {
		if segment == "" || segment == "." || segment == ".." || strings.TrimSpace(segment) != segment {
			return "", fault.New(fault.Invalid, fault.CodeInvalidPath, "a path must not lead out of its directory or have empty segments")
		}
	}
	return Path(text), nil
}

// ParseDir parses the path of a directory; "", "." and "/" are the root.
func ParseDir(text string) (Path, error) {
	text = strings.Trim(text, "/")
	if text == "" || text == "." {
		return "", nil
	}
	return ParsePath(text)
}

// File is a stored file.
type File struct {
	Path     Path
	Hash     blob.Ref
	Size     int64
	Created  time.Time
	Modified time.Time
}

// Base returns the last segment of the file's path.
func (f File) Base() string { return path.Base(string(f.Path)) }

// Store stores the records of files; accountstore.Userdata implements it.
type Store interface {
	// List returns the files below dir in order of their paths, or with recurse false those directly
	// in it. A directory without files is NotFound.
	List(ctx context.Context, account string, dir Path, recurse bool) ([]File, error)
	// Find returns a file; absent is NotFound.
	Find(ctx context.Context, account string, p Path) (File, error)
	// Put records bytes under a path. With overwrite false a path in use is Conflict; an account with
	// max files already is Exhausted.
	Put(ctx context.Context, account string, f File, overwrite bool, max int) (File, error)
	// Swap is Put if the path still has the bytes with the hash was (nil = no file); else ErrChanged.
	Swap(ctx context.Context, account string, f File, was *blob.Ref, max int) (File, error)
	// Delete deletes a file; absent is NotFound.
	Delete(ctx context.Context, account string, p Path) error
	// Move renames a file; absent is NotFound. With overwrite false a path in use is Conflict.
	Move(ctx context.Context, account string, from, to Path, overwrite bool) (File, error)
}

// ErrChanged means that a file was changed since it was read.
var ErrChanged = fault.New(fault.Conflict, fault.CodeChanged, "the file was changed by another request; read it again")

// Service keeps files of accounts: records in a Store, bytes as blobs.
type Service struct {
	Store
	Blobs blob.Store
}

// Save keeps data under a path.
func (s Service) Save(ctx context.Context, account string, p Path, data []byte, overwrite bool) (File, error) {
	ref, err := blob.PutBytes(ctx, s.Blobs, data)
	if err != nil {
		return File{}, err
	}
	return s.Put(ctx, account, File{Path: p, Hash: ref, Size: int64(len(data))}, overwrite, MaxFiles)
}

// Open returns a file and its bytes, which the caller closes.
func (s Service) Open(ctx context.Context, account string, p Path) (File, blob.Reader, error) {
	f, err := s.Find(ctx, account, p)
	if err != nil {
		return File{}, nil, err
	}
	r, err := s.Blobs.Open(ctx, f.Hash)
	return f, r, err
}
