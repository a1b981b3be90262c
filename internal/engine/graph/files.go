package graph

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// seen caches the lookups of the caller's files during a validation: thousands of nodes may name the same file, and
// each lookup is a query. It is not safe for concurrent use.
type seen struct {
	node.Files
	infos map[string]lookupResult[node.Info]
	lists map[node.Folder]lookupResult[[]string]
}

type lookupResult[T any] struct {
	found T
	err   error
}

func remember(files node.Files) *seen {
	return &seen{Files: files, infos: map[string]lookupResult[node.Info]{}, lists: map[node.Folder]lookupResult[[]string]{}}
}

// Stat implements node.Files.
func (s *seen) Stat(ctx context.Context, name string) (node.Info, error) {
	l, known := s.infos[name]
	if !known {
		l.found, l.err = s.Files.Stat(ctx, name)
		s.infos[name] = l
	}
	return l.found, l.err
}

// List implements node.Files. A validation always asks with the same limit, so the limit is not part of the key.
func (s *seen) List(ctx context.Context, folder node.Folder, limit int) ([]string, error) {
	l, known := s.lists[folder]
	if !known {
		l.found, l.err = s.Files.List(ctx, folder, limit)
		s.lists[folder] = l
	}
	return l.found, l.err
}
