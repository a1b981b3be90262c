package servers

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/millrace-dev/millrace/internal/comfyui/processes"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type logParams struct {
	named
	Lines int `name:"lines" default:"200" min:"1" max:"10000" help:"how many of the last lines"`
}

// logLines are the last lines that a server's process wrote.
type logLines struct {
	Host  string   `json:"host"`
	Path  string   `json:"path"`
	Lines []string `json:"lines"`
}

var logs = action.Of[*Service, logParams, logLines]{
	Spec: action.Spec{
		ID: "adminServerLog", Route: "GET /servers/{id}/log", Schema: "AdminServerLog",
		Summary: "Get the last lines that the process of a server wrote.",
		Detail: `Only a server whose process Millrace started has a log, and only a process of Millrace on the same machine can
read it. Lines are as the process wrote them: node packs may write what jobs contain.`,
		Refusal: map[int]string{409: "Millrace did not start the process of this server, or its log is on another machine."},
		Commands: []action.Command{{
			Use: "logs REF [--lines N]", Short: "Show what the process of a server that Millrace started has written",
		}},
	},
	Do: func(ctx context.Context, o *Service, p logParams, _ operate.Attribution) (logLines, error) {
		s, err := o.Store.Server(ctx, p.ID)
		if err != nil {
			return logLines{}, err
		}
		if s.Process == nil {
			return logLines{}, fault.New(fault.Conflict, fault.CodeNoServerLog,
				"Millrace did not start the process of %s, so it has no log of it", s.URL)
		}
		l := logLines{Host: s.Process.Host, Path: s.Process.Log}
		host, err := os.Hostname()
		if err != nil {
			return l, err
		}
		text, err := tail(l.Path)
		if host != l.Host || errors.Is(err, fs.ErrNotExist) {
			return l, fault.New(fault.Conflict, fault.CodeNoServerLog, "the log of %s is on the machine %s, in %s", s.URL, l.Host, l.Path)
		}
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		l.Lines = lines[max(0, len(lines)-p.Lines):]
		return l, err
	},
	Show: func(out *terminal.Printer, _ logParams, l logLines) {
		for _, line := range l.Lines {
			out.Printf("%s\n", terminal.Clean(line))
		}
	},
}.Untyped()

// maxTail bounds what is read of a log.
const maxTail = 1 << 20

// tail returns the end of a log and of its former file.
func tail(path string) (string, error) {
	text := ""
	for _, part := range []string{path, processes.Former(path)} {
		f, err := os.Open(part)
		if errors.Is(err, fs.ErrNotExist) && part != path {
			break
		}
		if err != nil {
			return "", err
		}
		defer f.Close() // read only
		info, err := f.Stat()
		if err != nil {
			return "", err
		}
		raw, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxTail), maxTail))
		if err != nil {
			return "", err
		}
		text = string(raw) + text
	}
	return strings.ToValidUTF8(text, "?"), nil
}
