// Package s3 stands for the client of S3, in which a Temporal server may archive histories. Local mode archives no histories: without AWS
// settings no client is ever used, and every operation on one would fail.
package s3

import (
	"context"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// ErrOmitted is what every operation returns.
var ErrOmitted = errors.New("S3 is left out of this Temporal server")

type (
	// Options are those of a client.
	Options struct {
		BaseEndpoint *string
		UsePathStyle bool
	}
	// Client reaches no bucket.
	Client struct{}

	// HeadBucketInput names a bucket.
	HeadBucketInput struct{ Bucket *string }
	// HeadBucketOutput describes a bucket.
	HeadBucketOutput struct{}
	// HeadObjectInput names an object.
	HeadObjectInput struct{ Bucket, Key *string }
	// HeadObjectOutput describes an object.
	HeadObjectOutput struct{}
	// PutObjectInput is an object to write.
	PutObjectInput struct {
		Bucket, Key *string
		Body        io.Reader
	}
	// PutObjectOutput describes the written object.
	PutObjectOutput struct{}
	// GetObjectInput names an object.
	GetObjectInput struct{ Bucket, Key *string }
	// GetObjectOutput is an object's content.
	GetObjectOutput struct{ Body io.ReadCloser }
	// ListObjectsV2Input selects objects.
	ListObjectsV2Input struct {
		Bucket, Prefix, Delimiter, StartAfter, ContinuationToken *string
		MaxKeys                                                  *int32
	}
	// ListObjectsV2Output lists objects.
	ListObjectsV2Output struct {
		CommonPrefixes        []types.CommonPrefix
		Contents              []types.Object
		IsTruncated           *bool
		NextContinuationToken *string
	}
)

// NewFromConfig makes a client.
func NewFromConfig(aws.Config, ...func(*Options)) *Client { return &Client{} }

// HeadBucket describes a bucket.
func (*Client) HeadBucket(context.Context, *HeadBucketInput, ...func(*Options)) (*HeadBucketOutput, error) {
	return nil, ErrOmitted
}

// HeadObject describes an object.
func (*Client) HeadObject(context.Context, *HeadObjectInput, ...func(*Options)) (*HeadObjectOutput, error) {
	return nil, ErrOmitted
}

// PutObject writes an object.
func (*Client) PutObject(context.Context, *PutObjectInput, ...func(*Options)) (*PutObjectOutput, error) {
	return nil, ErrOmitted
}

// GetObject reads an object.
func (*Client) GetObject(context.Context, *GetObjectInput, ...func(*Options)) (*GetObjectOutput, error) {
	return nil, ErrOmitted
}

// ListObjectsV2 lists objects.
func (*Client) ListObjectsV2(context.Context, *ListObjectsV2Input, ...func(*Options)) (*ListObjectsV2Output, error) {
	return nil, ErrOmitted
}
