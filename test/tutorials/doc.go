// Package tutorials runs the examples of the README and of the tutorials as they are written, in a shell, with a
// complete service, and compares their output with that in the page. Texts that differ from run to run (ids, times)
// are compared by their form. With -update, the pages are rewritten. An example that a test cannot run is marked by a
// comment in its page.
package tutorials
