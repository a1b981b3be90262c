// Package types holds the parts of S3's answers that the Temporal server refers to.
package types

type (
	// CommonPrefix is a folder of a listing.
	CommonPrefix struct{ Prefix *string }
	// Object is an entry of a listing.
	Object struct{ Key *string }
	// NoSuchBucket reports a bucket that is missing.
	NoSuchBucket struct{}
	// NoSuchKey reports an object that is missing.
	NoSuchKey struct{}
)

func (*NoSuchBucket) Error() string { return "no such bucket" }

func (*NoSuchKey) Error() string { return "no such key" }
