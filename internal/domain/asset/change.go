package asset

import (
	"bytes"
	"slices"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Bounds of the fields that an owner sets.
const (
	MaxTags = 64
	// maxVersions bounds the stream of one asset, because commands fold it from its start.
	maxVersions = 10_000
)

// Change is a change that an owner makes to an asset. A nil field stays unchanged.
type Change struct {
	Name        *string
	ContentType *string
	Metadata    *Metadata // pointer to nil = no metadata
	Preview     *PublicID // "" = no preview
	Tags        *[]string // all tags of the owner; sorted, each once
	Add         []string  // tags to add
	Remove      []string  // tags to remove; tags that the asset does not have are ignored
}

// Event is the data of an event with its type.
type Event struct {
	Type string
	Data any
}

// ChangeEvents returns the events of a change, or none if the asset has these values already. Too many tags, and too
// many changes of an asset, are Invalid.
func (a Asset) ChangeEvents(c Change) ([]Event, error) {
	var events []Event
	if c.Name != nil && *c.Name != a.Title() {
		events = append(events, Event{TypeRenamed, RenamedV1{Name: *c.Name}})
	}
	if c.ContentType != nil && *c.ContentType != a.ContentType {
		events = append(events, Event{TypeRetyped, RetypedV1{ContentType: *c.ContentType}})
	}
	if c.Metadata != nil && !bytes.Equal(*c.Metadata, a.Metadata) {
		events = append(events, Event{TypeDescribed, DescribedV1{Metadata: []byte(*c.Metadata)}})
	}
	if c.Preview != nil && *c.Preview != a.Preview {
		events = append(events, Event{TypePreviewChosen, PreviewChosenV1{Preview: *c.Preview}})
	}
	tagged, err := a.tagEvents(c)
	if err != nil {
		return nil, err
	}
	events = append(events, tagged...)
	if len(events) > 0 && a.Version+int64(len(events)) > maxVersions {
		return nil, fault.New(fault.Invalid, fault.CodeTooManyChanges, "an asset can be changed %d times", maxVersions)
	}
	return events, nil
}

func (a Asset) tagEvents(c Change) ([]Event, error) {
	want := without(with(a.Tags, c.Add), c.Remove)
	if c.Tags != nil {
		want = *c.Tags
	}
	if len(want) > MaxTags {
		return nil, fault.New(fault.Invalid, fault.CodeTooManyTags, "at most %d tags are allowed", MaxTags)
	}
	var events []Event
	if removed := without(a.Tags, want); len(removed) > 0 {
		events = append(events, Event{TypeTagsRemoved, TagsRemovedV1{Tags: removed}})
	}
	if added := without(want, a.Tags); len(added) > 0 {
		events = append(events, Event{TypeTagsAdded, TagsAddedV1{Tags: added}})
	}
	return events, nil
}

// with returns the union of both lists, sorted and without duplicates.
func with(tags, more []string) []string {
	all := slices.Concat(tags, more)
	slices.Sort(all)
	return slices.Compact(all)
}

// without returns the tags that are not in but, in their order.
func without(tags, but []string) []string {
	var left []string
	for _, tag := range tags {
		if !slices.Contains(but, tag) {
			left = append(left, tag)
		}
	}
	return left
}

// Repeats reports whether an existing asset with the same bytes, path and tags has all the values of the new asset.
func (n New) Repeats(a Asset) bool {
	return !n.Strict || n.Chosen == "" && (n.ContentType == "" || n.ContentType == a.ContentType) &&
		n.Name == a.Name && bytes.Equal(n.Metadata, a.Metadata) && n.Preview == a.Preview
}
