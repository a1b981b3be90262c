// Command hello stands for the programs of a release in tests. It uses one module besides the standard library, and has a manual of one
// page and completions.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "man" {
		if err := write(os.Args[2]); err != nil {
			panic(err)
		}
		return
	}
	fmt.Println(cdx.SpecVersion1_6, os.Args[1:])
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "millrace.1"), []byte(".TH MILLRACE 1\n"), 0o644)
}
