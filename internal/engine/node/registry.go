package node

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry is an ordered set of classes: fixed ones and an extension, which may be replaced concurrently with reads.
type Registry struct {
	fixed   []*Class
	current atomic.Pointer[classSet]

	mu         sync.Mutex // guards extensions, and orders changes of current
	extensions map[Source][]*Class
}

// Source is the origin of an extension of a registry.
type Source string

// The sources in order of precedence: if two sources have a class of the same name, the class of the first source
// remains.
const (
	Catalog Source = "catalog" // partner models
	Servers Source = "servers" // registered ComfyUI servers
)

// classSet is the immutable content of a registry at one moment.
type classSet struct {
	classes    []*Class
	byName     map[string]*Class
	generation uint64
}

// NewRegistry returns the registry of the given classes. A duplicate or malformed class is an error.
func NewRegistry(classes ...*Class) (*Registry, error) {
	set, err := newClassSet(classes, 0)
	if err != nil {
		return nil, err
	}
	r := &Registry{fixed: classes}
	r.current.Store(set)
	return r, nil
}

func newClassSet(classes []*Class, generation uint64) (*classSet, error) {
	s := &classSet{classes: classes, byName: make(map[string]*Class, len(classes)), generation: generation}
	for _, c := range classes {
		if err := c.Validate(); err != nil {
			return nil, err
		}
		if s.byName[c.Name] != nil {
			return nil, fmt.Errorf("node class %s is listed twice", c.Name)
		}
		s.byName[c.Name] = c
	}
	return s, nil
}

// Extend adds classes of the catalog after the fixed ones, in place of the classes of the last Extend. A duplicate or
// malformed class is an error, and the registry then does not change.
func (r *Registry) Extend(classes ...*Class) error { return r.ExtendFrom(Catalog, classes...) }

// ExtendFrom is Extend for the classes of any source. A class of Servers whose name the registry has from another
// source is ignored, because servers may offer native classes.
func (r *Registry) ExtendFrom(source Source, classes ...*Class) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	others := Servers
	if source == Servers {
		others = Catalog
	}
	bySource := map[Source][]*Class{source: classes, others: r.extensions[others]}
	all := slices.Concat(r.fixed, bySource[Catalog])
	set, err := newClassSet(append(all, without(bySource[Servers], all)...), r.current.Load().generation+1)
	if err != nil {
		return err
	}
	r.extensions = bySource
	r.current.Store(set)
	return nil
}

// without returns the classes whose names do not occur among the others.
func without(classes, others []*Class) []*Class {
	taken := make(map[string]bool, len(others))
	for _, c := range others {
		taken[c.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(classes), func(c *Class) bool { return taken[c.Name] })
}

// Frozen returns a copy of the registry that later extensions do not change.
func (r *Registry) Frozen() *Registry {
	set := r.current.Load()
	frozen := &Registry{fixed: set.classes}
	frozen.current.Store(set)
	return frozen
}

// With returns the registry with further classes: a copy, which later extensions do not change, if there are any.
func (r *Registry) With(classes ...*Class) (*Registry, error) {
	if len(classes) == 0 {
		return r, nil
	}
	more := r.Frozen()
	return more, more.Extend(classes...)
}

// Generation returns the number of the registry's state. Each Extend increments it.
func (r *Registry) Generation() uint64 { return r.current.Load().generation }

// Lookup returns the class of that name.
func (r *Registry) Lookup(name string) (*Class, bool) {
	c, ok := r.current.Load().byName[name]
	return c, ok
}

// Classes returns all classes in their listed order.
func (r *Registry) Classes() []*Class { return slices.Clone(r.current.Load().classes) }

// OfPack reports whether a ComfyUI node pack has the class. ComfyUI's own SaveImageWebsocket counts as one.
func (c *Class) OfPack() bool { return strings.HasPrefix(c.Module, "custom_nodes.") }

// Input returns the declared input of that name.
func (c *Class) Input(name string) (Input, bool) {
	i := slices.IndexFunc(c.Inputs, func(in Input) bool { return in.Name == name })
	if i < 0 {
		return Input{}, false
	}
	return c.Inputs[i], true
}

// Validate reports why a registry refuses the class by itself, or nil.
func (c *Class) Validate() error {
	if c.Name == "" || c.Run == nil {
		return fmt.Errorf("node class %q needs a name and a Run function", c.Name)
	}
	seen := map[string]bool{}
	for _, in := range c.Inputs {
		if in.Name == "" || in.Type == "" || seen[in.Name] {
			return fmt.Errorf("node class %s: input %q is unnamed, untyped or declared twice", c.Name, in.Name)
		}
		seen[in.Name] = true
	}
	for i, out := range c.Outputs {
		if out.Type == "" {
			return fmt.Errorf("node class %s: output %d has no type", c.Name, i)
		}
	}
	return nil
}
