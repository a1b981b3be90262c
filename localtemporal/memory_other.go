//go:build !linux

package main

// tuneMemory leaves the collector as it is where the machine's memory is not known.
func tuneMemory() {}
