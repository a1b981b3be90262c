//go:build unix

package child

// Watch does the kernel's work on systems other than Linux.
var Watch = watch
