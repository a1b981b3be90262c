// Package console drives the pages for people in a headless browser against a whole service: a private PostgreSQL, a
// real Temporal server and all roles in one process. A page passes if it shows what happened, reports no error to the
// browser's console and breaks no rule of its Content Security Policy. Without a Chromium on the machine the tests that
// need one are skipped and say so.
package console
