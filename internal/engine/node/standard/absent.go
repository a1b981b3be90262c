package standard

import "github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"

// Absent returns the names of the native classes that a process with this ffmpeg, or without one, does not serve.
func Absent(tool *ffmpeg.Tool) ([]string, error) {
	served, err := Registry(tool)
	if err != nil {
		return nil, err
	}
	all, err := Registry(&ffmpeg.Tool{})
	if err != nil {
		return nil, err
	}
	absent := []string{}
	for _, c := range all.Classes() {
		if _, here := served.Lookup(c.Name); !here {
			absent = append(absent, c.Name)
		}
	}
	return absent, nil
}
