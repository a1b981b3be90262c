package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The first build takes minutes as it is: what local mode never uses does not come back with an upgrade of the server.
func TestNoClientOfACloudIsLinked(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	for _, p := range packages {
		for _, heavy := range []string{
			"k8s.io/", "modernc.org/libc", "github.com/envoyproxy/",
			"github.com/aws/aws-sdk-go-v2/service/s3/internal", "cloud.google.com/go/storage/internal",
		} {
			if strings.HasPrefix(p, heavy) {
				t.Errorf("%s is linked: see omitted/README.md", p)
			}
		}
	}
	if most := 1200; len(packages) > most {
		t.Errorf("%d packages are linked, more than %d: a new dependency of the server may belong in omitted/", len(packages), most)
	}
}
