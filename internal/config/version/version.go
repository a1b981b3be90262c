// Package version holds the release that this program is. The build sets it; a build from source says so.
package version

// Version is the release, set at link time.
var Version = "dev"
