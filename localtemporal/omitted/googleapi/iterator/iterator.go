// Package iterator holds the error that ends a listing of Google Cloud Storage.
package iterator

import "errors"

// Done ends a listing.
var Done = errors.New("no more items in iterator")
