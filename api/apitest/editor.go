package apitest

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/secret"
	"github.com/millrace-dev/millrace/internal/web/editor"
)

// EditorFiles is a tiny editor in a directory.
func EditorFiles(t *testing.T) *editor.Dir {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html": "<!doctype html><title>E</title>", "assets/index-B2rHQ9Sn.js": "run()",
		"api/prompt": "no", "v2/models": "no", "console/live.js": "no", "editor/x": "no", "files/a/b": "no",
	} {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o750))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	files, err := editor.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	return files
}

// NewSealer returns the sealer of the cookies of a browser.
func NewSealer(t *testing.T) edge.Sealer {
	t.Helper()
	key, err := secret.Parse(strings.Repeat("17", 32))
	require.NoError(t, err)
	sealer, err := key.Sealer()
	require.NoError(t, err)
	return sealer
}

// StartEditor starts the API with an editor, for accounts with keys unless opts say otherwise.
func StartEditor(t *testing.T, opts Options) *Harness {
	t.Helper()
	opts.Mode = cmp.Or(opts.Mode, account.ModeKeys)
	sealer := NewSealer(t)
	return StartWith(t, opts, func(d *Deps) {
		d.Editor = &Editor{Files: EditorFiles(t), Sealer: sealer}
		d.Console = sealer
	})
}

// FormType is the content type of a form of a browser.
const FormType = "application/x-www-form-urlencoded"

// Inputs are the input files of accounts.
type Inputs struct {
	mu    sync.Mutex
	Names map[string][]string
}

// Add gives an account a file.
func (i *Inputs) Add(owner, name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.Names[owner] = append(i.Names[owner], name)
}

// ForAccount returns the files of one account.
func (i *Inputs) ForAccount(owner string) node.Files { return inputsOf{i, owner} }

type inputsOf struct {
	*Inputs
	owner string
}

func (i inputsOf) List(context.Context, node.Folder, int) ([]string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string{}, i.Names[i.owner]...), nil
}

func (inputsOf) Open(context.Context, string) (node.Content, error) { panic("not asked") }

func (inputsOf) Stat(context.Context, string) (node.Info, error) { panic("not asked") }

func (inputsOf) Save(context.Context, node.Save, func(io.Writer) error) (node.File, error) {
	panic("not asked")
}

// NoFiles holds no file under any name.
type NoFiles struct{ node.Files }

// Stat finds nothing.
func (NoFiles) Stat(context.Context, string) (node.Info, error) { return node.Info{}, absent() }

// Open finds nothing.
func (NoFiles) Open(context.Context, string) (node.Content, error) { return nil, absent() }

func absent() error { return fault.New(fault.NotFound, fault.CodeNotFound, "there is no such file") }
