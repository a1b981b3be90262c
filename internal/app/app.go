// Package app is the composition root: it builds each role of the service from its parts, and runs a process of one or more
// roles until it is stopped or fails for good. It is the only package that knows every implementation; commands and
// operators' services are handed what they need from here.
package app
