package graph

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// seen remembers what a validation learned of the caller's files: thousands of nodes may name the
// same ones, and each look is a query. It is for one goroutine.
type seen struct {
	node.Files
	infos map[string]looked[node.Info]
	lists map[node.Folder]looked[[]string]
}

type looked[T any] struct {
	found T
	err   error
}

func remember(files node.Files) *seen {
	return &seen{Files: files, infos: map[string]looked[node.Info]{}, lists: map[node.Folder]looked[[]string]{}}
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

// List implements node.Files. The limit is the same for every list of a validation.
func (s *seen) List(ctx context.Context, folder node.Folder, limit int) ([]string, error) {
	l, known := s.lists[folder]
	if !known {
		l.found, l.err = s.Files.List(ctx, folder, limit)
		s.lists[folder] = l
	}
	return l.found, l.err
}
