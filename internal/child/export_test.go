//go:build unix

package child

// Watch is what takes the kernel's place on other systems than Linux.
var Watch = watch
