package app

// Version is the release, set at link time; a build from source says so.
var Version = "dev"
