// Package config stands for the loader of AWS settings and credentials. A Temporal server loads them for archives in S3 and
// for a signed Elasticsearch; local mode has neither, so nothing is ever loaded.
package config

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// ErrOmitted is what loading returns.
var ErrOmitted = errors.New("AWS is left out of this Temporal server")

// LoadOptions has no fields: nothing is loaded.
type LoadOptions struct{}

// LoadOptionsFunc changes the options.
type LoadOptionsFunc func(*LoadOptions) error

// WithRegion names a region.
func WithRegion(string) LoadOptionsFunc { return func(*LoadOptions) error { return nil } }

// WithClientLogMode says what a client logs.
func WithClientLogMode(aws.ClientLogMode) LoadOptionsFunc {
	return func(*LoadOptions) error { return nil }
}

// EnvConfig holds the settings of the environment.
type EnvConfig struct{ Credentials aws.Credentials }

// NewEnvConfig refuses to read the environment.
func NewEnvConfig() (EnvConfig, error) { return EnvConfig{}, ErrOmitted }

// LoadDefaultConfig refuses to load anything.
func LoadDefaultConfig(context.Context, ...LoadOptionsFunc) (aws.Config, error) {
	return aws.Config{}, ErrOmitted
}
