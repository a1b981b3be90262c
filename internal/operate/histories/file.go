package histories

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/operate"
)

// ReplayedFile is the result of replaying one exported history with this binary.
type ReplayedFile struct {
	File   string `json:"file"`
	Result string `json:"result"` // replays, diverges, empty, unreadable
	Step   string `json:"step,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// ReplayFile replays an exported history. A file that cannot be read has the result "unreadable".
func ReplayFile(with Replayer, file string) ReplayedFile {
	out := ReplayedFile{File: file, Result: "replays"}
	events, err := readHistory(file)
	switch {
	case err != nil:
		out.Result, out.Detail = "unreadable", operate.ErrorLine(err)
	case !slices.ContainsFunc(events.GetEvents(), taskCompleted):
		out.Result = "empty"
	default:
		if err := with.replay(events); err != nil {
			out.Result, out.Step, out.Detail = verdict(err)
		}
	}
	return out
}
