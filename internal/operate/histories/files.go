package histories

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/operate"
)

// Files expands paths to files: a directory stands for the histories (*.json) in it.
func Files(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		found, err := filepath.Glob(filepath.Join(arg, "*.json"))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, errors.New("no histories (*.json) found")
	}
	return files, nil
}

// ReplayFile replays an exported history. A file that cannot be read has the result "unreadable".
func ReplayFile(with Replayer, file string) Replayed {
	events, err := readHistory(file)
	if err != nil {
		return Replayed{File: file, Result: "unreadable", Detail: operate.ErrorLine(err)}
	}
	out := with.replay(events)
	out.File = file
	return out
}

// maxHistory is the maximum size of a file in bytes. Temporal's own limit for a history is lower.
const maxHistory = 256 << 20

func readHistory(file string) (*historypb.History, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only
	events, err := client.HistoryFromJSON(io.LimitReader(f, maxHistory), client.HistoryJSONOptions{})
	if err != nil || len(events.GetEvents()) == 0 {
		return nil, errors.New("the file is not a workflow history in JSON")
	}
	return events, nil
}
