// Command hello stands for the programs of a release in tests. It has a module beside the standard library.
package main

import (
	"fmt"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() { fmt.Println(cdx.SpecVersion1_6) }
