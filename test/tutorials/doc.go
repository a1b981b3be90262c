// Package tutorials runs the examples of the README and of the tutorials as they are written, in a shell, against a whole
// service, and compares what they print with what the page says they print. Texts that differ from run to run (ids, times)
// are compared by their shape. With -update the pages are written anew. An example that a test cannot run says so in a
// comment of its page.
package tutorials
