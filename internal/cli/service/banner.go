package service

import (
	"cmp"
	"fmt"
	"io"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/config"
)

// Banner prints the addresses of all parts for a new user, the console first, with a request to paste.
func Banner(out io.Writer, cfg config.Config, at app.Addresses) {
	credential, ui := "", at.TemporalUI
	if cfg.Auth != config.AuthNone {
		credential = ` -H "X-API-Key: $KEY"`
		if ui != "" {
			ui += " (any user name; the password is the admin token, or else the token)"
		}
	}
	page := ""
	if cfg.Editor != "" {
		page = "  Editor       " + at.Base + "/\n"
	}
	_, _ = fmt.Fprintf(out, `
Millrace is ready.

  Console      %[1]s/console
%[5]s  API          %[1]s
  Temporal UI  %[2]s
  Data         %[3]s

Try it:

  curl -s%[4]s %[1]s/api/prompt -H 'Content-Type: application/json' -d '{"prompt":{
    "1":{"class_type":"EmptyImage","inputs":{"width":512,"height":512,"batch_size":1,"color":3368601}},
    "2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"hello"}}}}'

A partner model, simulated (millrace models lists all):

  curl -s%[4]s %[1]s/v2/models/sim/echo -H 'Content-Type: application/json' -d '{"prompt":"hello"}'

Ctrl-C stops everything; nothing accepted is lost.
`, at.Base, cmp.Or(ui, "-"), cfg.DataDir, credential, page) // a closed terminal must not stop the process
}
