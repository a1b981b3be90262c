// Package storage stands for the client of Google Cloud Storage, in which a Temporal server may archive histories. Local mode archives no
// histories: no client is ever made, and every operation on one would fail.
package storage

import (
	"context"
	"errors"

	"google.golang.org/api/option"
)

// ErrOmitted is what every operation returns.
var ErrOmitted = errors.New("Google Cloud Storage is left out of this Temporal server")

// Errors and a scope that the server refers to.
var (
	ErrBucketNotExist = errors.New("storage: bucket does not exist")
	ErrObjectNotExist = errors.New("storage: object does not exist")
)

// ScopeFullControl is the scope of credentials.
const ScopeFullControl = "https://www.googleapis.com/auth/devstorage.full_control"

type (
	// Client reaches no bucket.
	Client struct{}
	// BucketHandle names a bucket.
	BucketHandle struct{}
	// BucketAttrs describes a bucket.
	BucketAttrs struct{}
	// ObjectHandle names an object.
	ObjectHandle struct{}
	// ObjectAttrs describes an object.
	ObjectAttrs struct{ Name string }
	// ObjectIterator lists no object.
	ObjectIterator struct{}
	// Query selects objects.
	Query struct{ Prefix string }
	// Reader reads nothing.
	Reader struct{}
	// Writer writes nothing.
	Writer struct{}
)

// NewClient refuses to make a client.
func NewClient(context.Context, ...option.ClientOption) (*Client, error) { return nil, ErrOmitted }

// Bucket names a bucket.
func (*Client) Bucket(string) *BucketHandle { return &BucketHandle{} }

// Object names an object.
func (*BucketHandle) Object(string) *ObjectHandle { return &ObjectHandle{} }

// Objects lists objects.
func (*BucketHandle) Objects(context.Context, *Query) *ObjectIterator { return &ObjectIterator{} }

// Attrs describes the bucket.
func (*BucketHandle) Attrs(context.Context) (*BucketAttrs, error) { return nil, ErrOmitted }

// Attrs describes the object.
func (*ObjectHandle) Attrs(context.Context) (*ObjectAttrs, error) { return nil, ErrOmitted }

// NewReader reads the object.
func (*ObjectHandle) NewReader(context.Context) (*Reader, error) { return nil, ErrOmitted }

// NewWriter writes the object.
func (*ObjectHandle) NewWriter(context.Context) *Writer { return &Writer{} }

// Next returns the next object.
func (*ObjectIterator) Next() (*ObjectAttrs, error) { return nil, ErrOmitted }

// Read reads from the object.
func (*Reader) Read([]byte) (int, error) { return 0, ErrOmitted }

// Close closes the reader.
func (*Reader) Close() error { return nil }

// Write writes to the object.
func (*Writer) Write([]byte) (int, error) { return 0, ErrOmitted }

// Close closes the writer.
func (*Writer) Close() error { return ErrOmitted }

// CloseWithError closes the writer.
func (*Writer) CloseWithError(error) error { return ErrOmitted }
