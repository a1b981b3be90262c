package deployment

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/hashicorp/golang-lru/v2"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Content is what a version consists of. It is stored as one blob, whose digest identifies it.
type Content struct {
	Graph   json.RawMessage   `json:"graph"`             // in API format
	Drawing json.RawMessage   `json:"drawing,omitempty"` // from which the graph was made
	Schema  json.RawMessage   `json:"schema"`
	Classes map[string]string `json:"classes,omitempty"` // digest of the definition of each class that the graph uses
	Pin     Pin               `json:"pin,omitempty"`
}

// Pin is what happens if the definition of a class has changed since a version was added.
type Pin string

// The pins.
const (
	PinWarn   Pin = ""       // calls are answered; the deployment says so
	PinStrict Pin = "strict" // calls are refused
)

// maxContent bounds the content of a version, in bytes.
const maxContent = 32 << 20

// encode returns the bytes whose digest identifies the content. Equal contents have equal bytes.
func (c Content) encode() ([]byte, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode a version: %w", err)
	}
	if len(raw) > maxContent {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidDeployment, "a version may have at most %d bytes, not %d", maxContent, len(raw))
	}
	return raw, nil
}

// contentsKept bounds the contents that a process remembers. Most have some kilobytes.
const contentsKept = 256

// contents reads the contents of versions and remembers them without their drawings, which no call needs.
type contents struct {
	blobs blob.Store
	kept  *lru.Cache[blob.Ref, Content]
}

func newContents(blobs blob.Store) contents {
	kept, _ := lru.New[blob.Ref, Content](contentsKept) // it fails for a size below one only
	return contents{blobs: blobs, kept: kept}
}

// callable returns the content of a version without its drawing.
func (c contents) callable(ctx context.Context, digest blob.Ref) (Content, error) {
	if content, ok := c.kept.Get(digest); ok {
		return content, nil
	}
	content, err := c.whole(ctx, digest)
	if err != nil {
		return Content{}, err
	}
	content.Drawing = nil
	c.kept.Add(digest, content)
	return content, nil
}

// whole returns the content of a version.
func (c contents) whole(ctx context.Context, digest blob.Ref) (content Content, err error) {
	r, err := c.blobs.Open(ctx, digest)
	if err != nil {
		return Content{}, fmt.Errorf("read a version: %w", err)
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, maxContent))
	if err == nil {
		err = json.Unmarshal(raw, &content)
	}
	if err != nil {
		return Content{}, fmt.Errorf("read a version: %w", err)
	}
	return content, nil
}

// missing returns what a version needs and no server has, in words.
func (s *Service) missing(ctx context.Context, d Deployment, v Version) ([]string, error) {
	if s.Checker == nil {
		return nil, nil
	}
	content, err := s.contents.callable(ctx, v.Digest)
	if err != nil {
		return nil, err
	}
	return s.Checker.Missing(ctx, d.Account, content.Graph, nil)
}
