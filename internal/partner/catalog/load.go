package catalog

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed entries/*.yaml
var embedded embed.FS

// maxFile bounds an entry file.
const maxFile = 4 << 20

// source is the content of an entry file. Layer 0 is the embedded catalog; each directory is a further layer.
type source struct {
	name    string
	layer   int
	content []byte
}

// readFiles returns the embedded files, followed by those of the directories.
func readFiles(dirs []string) ([]source, error) {
	var files []source
	entries, err := embedded.ReadDir("entries")
	if err != nil {
		return nil, fmt.Errorf("read the embedded catalog: %w", err)
	}
	for _, e := range entries {
		content, err := embedded.ReadFile(path.Join("entries", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the embedded catalog: %w", err)
		}
		files = append(files, source{name: "builtin/" + e.Name(), content: content})
	}
	for i, dir := range dirs {
		more, err := readDir(dir, i+1)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

func readDir(dir string, layer int) ([]source, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	var files []source
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if ext := filepath.Ext(name); e.IsDir() || strings.HasPrefix(e.Name(), ".") || (ext != ".yaml" && ext != ".yml") {
			continue
		}
		content, err := readBounded(name)
		if err != nil {
			return nil, err
		}
		files = append(files, source{name: name, layer: layer, content: content})
	}
	return files, nil
}

func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	defer f.Close() // only read
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the catalog: %w", err)
	case len(content) > maxFile:
		return nil, fmt.Errorf("%s: a catalog file is at most %d MiB", name, maxFile>>20)
	}
	return content, nil
}

// hashFiles hashes the files and the options that affect their meaning.
func hashFiles(files []source, opts Options) string {
	h := sha256.New()
	for _, f := range files {
		_, _ = fmt.Fprintf(h, "%s\x00%d\x00%d\x00", f.name, f.layer, len(f.content)) // writes to a hash cannot fail
		h.Write(f.content)
	}
	for _, provider := range slices.Sorted(maps.Keys(opts.Bases)) {
		_, _ = fmt.Fprintf(h, "%s=%s\x00", provider, opts.Bases[provider])
	}
	_, _ = fmt.Fprintf(h, "simulator=%s", opts.Simulator)
	return hex.EncodeToString(h.Sum(nil))
}

// build makes a snapshot of the files, or reports all of their problems.
func build(files []source, opts Options) (*Snapshot, error) {
	var problems []error
	models := map[string]*Model{}
	from := map[string]source{}
	for _, f := range files {
		loaded, err := readModels(f, opts)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for _, m := range loaded {
			if before, ok := from[m.ID]; ok && before.layer == f.layer {
				problems = append(problems, fmt.Errorf("%s: model %s is also in %s; an id may appear only once", f.name, m.ID, before.name))
				continue
			}
			models[m.ID], from[m.ID] = m, f
		}
	}
	for id, m := range models {
		for _, err := range m.joinAlternates(models) {
			problems = append(problems, fmt.Errorf("%s:%w", from[id].name, err))
		}
	}
	problems = append(problems, sameNodes(models, from)...)
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	hash := hashFiles(files, opts)
	for _, m := range models {
		m.State = hash
	}
	return newSnapshot(slices.Collect(maps.Values(models)), hash), nil
}

// sameNodes reports models whose node classes would have the same name, such as "a_b/c" and "a/b_c".
func sameNodes(models map[string]*Model, from map[string]source) (problems []error) {
	names := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(models)) {
		name := strings.ReplaceAll(id, "/", "_")
		if other, taken := names[name]; taken {
			problems = append(problems, fmt.Errorf("%s: the node class of model %s would have the same name as that of %s", from[id].name, id,
				other))
		}
		names[name] = id
	}
	return problems
}

// readModels returns the models of one file.
func readModels(f source, opts Options) ([]*Model, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(f.content, &root); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	if root.Kind != yaml.DocumentNode {
		return nil, fmt.Errorf("%s: the file is empty", f.name)
	}
	models, err := decodeFile(root.Content[0], opts)
	if err == nil {
		return models, nil
	}
	var all []error
	for _, each := range unwrapJoined(err) {
		all = append(all, located(f.name, root.Content[0], each))
	}
	return nil, errors.Join(all...)
}

func unwrapJoined(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // only errors that this package has joined
		return joined.Unwrap()
	}
	return []error{err}
}

func decodeFile(root *yaml.Node, opts Options) ([]*Model, error) {
	if err := refuseCycles(root, nil); err != nil {
		return nil, err
	}
	if err := checkShape(root); err != nil {
		return nil, err
	}
	var f file
	if err := root.Decode(&f); err != nil {
		return nil, err
	}
	base, allow, ok := f.address(opts)
	if !ok {
		return nil, nil // models of the simulator are left out if no simulator is set
	}
	var models []*Model
	var problems []error
	for i := range f.Models {
		m, err := f.model(i, base)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		m.Allow = allow
		models = append(models, m)
	}
	return models, errors.Join(problems...)
}

// refuseCycles refuses an anchor that contains itself.
func refuseCycles(n *yaml.Node, open []*yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		if slices.Contains(open, n.Alias) {
			return &problem{n, "the anchor contains itself"}
		}
		return refuseCycles(n.Alias, open)
	}
	if n.Anchor != "" {
		open = append(slices.Clone(open), n)
	}
	for _, c := range n.Content {
		if err := refuseCycles(c, open); err != nil {
			return err
		}
	}
	return nil
}
