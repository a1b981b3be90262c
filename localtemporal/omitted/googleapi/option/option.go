// Package option holds the options of a Google client that is never made.
package option

import "golang.org/x/oauth2"

// ClientOption is an option of a client.
type ClientOption struct{}

// WithTokenSource names the source of tokens, which is never asked.
func WithTokenSource(oauth2.TokenSource) ClientOption { return ClientOption{} }
