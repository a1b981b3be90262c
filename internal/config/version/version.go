// Package version holds the release of this program. The build sets it at link time.
package version

// Version is the release.
var Version = "dev"

// Base is the oldest release whose data this program reads: its database, its events and the histories of its workflows.
const Base = "0.9.0"
