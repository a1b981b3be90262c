package node

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// Registry is an ordered set of classes: fixed ones and an extension, which may be replaced concurrently with reads.
type Registry struct {
	fixed   []*Class
	current atomic.Pointer[classSet]
}

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
		if err := c.validate(); err != nil {
			return nil, err
		}
		if s.byName[c.Name] != nil {
			return nil, fmt.Errorf("node class %s is listed twice", c.Name)
		}
		s.byName[c.Name] = c
	}
	return s, nil
}

// Extend replaces the extension, which follows the fixed classes. With a duplicate or malformed class it returns an
// error and changes nothing. Calls of Extend must not overlap; reads may.
func (r *Registry) Extend(classes ...*Class) error {
	set, err := newClassSet(slices.Concat(r.fixed, classes), r.current.Load().generation+1)
	if err != nil {
		return err
	}
	r.current.Store(set)
	return nil
}

// Frozen returns a copy of the registry that later extensions do not change.
func (r *Registry) Frozen() *Registry {
	set := r.current.Load()
	frozen := &Registry{fixed: set.classes}
	frozen.current.Store(set)
	return frozen
}

// Generation is the number of the registry's state; each Extend raises it.
func (r *Registry) Generation() uint64 { return r.current.Load().generation }

// Lookup returns the class of that name.
func (r *Registry) Lookup(name string) (*Class, bool) {
	c, ok := r.current.Load().byName[name]
	return c, ok
}

// Classes returns all classes in their listed order.
func (r *Registry) Classes() []*Class { return slices.Clone(r.current.Load().classes) }

// Input returns the declared input of that name.
func (c *Class) Input(name string) (Input, bool) {
	i := slices.IndexFunc(c.Inputs, func(in Input) bool { return in.Name == name })
	if i < 0 {
		return Input{}, false
	}
	return c.Inputs[i], true
}

func (c *Class) validate() error {
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
