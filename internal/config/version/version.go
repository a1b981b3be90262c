// Package version holds the release of this program. The build sets it at link time.
package version

// Version is the release.
var Version = "dev"
