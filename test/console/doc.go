// Package console tests the pages of the service in a headless browser against a complete service: a private
// PostgreSQL, a real Temporal server and all roles in one process. A page passes if it shows the recorded events,
// causes no error in the browser's console and breaks no rule of its Content Security Policy. Without a Chromium on
// the machine, the tests that need one are skipped with a message.
package console
