package node

import (
	"fmt"
	"slices"
)

// Registry is a fixed set of classes, in the order they were listed.
type Registry struct {
	classes []*Class
	byName  map[string]*Class
}

// NewRegistry returns the registry of the given classes. A duplicate or malformed class is an error.
func NewRegistry(classes ...*Class) (*Registry, error) {
	r := &Registry{byName: make(map[string]*Class, len(classes))}
	for _, c := range classes {
		if err := c.validate(); err != nil {
			return nil, err
		}
		if r.byName[c.Name] != nil {
			return nil, fmt.Errorf("node class %s is listed twice", c.Name)
		}
		r.byName[c.Name] = c
		r.classes = append(r.classes, c)
	}
	return r, nil
}

// Lookup returns the class of that name.
func (r *Registry) Lookup(name string) (*Class, bool) {
	c, ok := r.byName[name]
	return c, ok
}

// Classes returns all classes in their listed order.
func (r *Registry) Classes() []*Class { return slices.Clone(r.classes) }

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
