// Package deep writes images of more than eight bits a sample: PNG files of 16 bits and OpenEXR files of floats. Package
// codec reads PNG files of 16 bits, and reads and writes all other formats.
package deep

// Text is one text of a file's header.
type Text struct{ Key, Value string }
