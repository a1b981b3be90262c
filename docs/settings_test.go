package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace-dev/millrace/internal/config"
)

// docs/settings.md is made of the example file, which names every variable that the program reads (a test of
// internal/config compares them).
func TestSettingsAreThoseOfTheConfiguration(t *testing.T) {
	t.Parallel()
	want := settingsPage(t, read(t, ".env.example"))
	if *update {
		if err := os.WriteFile("settings.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, "docs/settings.md") != want {
		t.Error("docs/settings.md is not what .env.example says: go test ./docs -update")
	}
	for _, name := range config.Variables() {
		if !strings.Contains(want, "`"+name+"`") {
			t.Errorf("docs/settings.md does not have %s", name)
		}
	}
}

// elsewhere are variables that pages name and the program does not read: the Makefile, the images and tests do.
var elsewhere = map[string]bool{
	"MILLRACE_CATALOG_DIR": true, "MILLRACE_EDITOR_DIR": true, "MILLRACE_IMAGE": true, "MILLRACE_PORT": true,
	"MILLRACE_TEMPORAL_BIN": true, "MILLRACE_TEST_S3_SERVER": true,
}

func TestSettingsThatPagesNameExist(t *testing.T) {
	t.Parallel()
	known := config.Variables()
	for _, page := range pages(t) {
		for _, name := range regexp.MustCompile(`MILLRACE_[A-Z0-9_]+`).FindAllString(read(t, "docs/"+page), -1) {
			if !slices.Contains(known, name) && !slices.Contains(known, strings.TrimSuffix(name, "_FILE")) && !elsewhere[name] {
				t.Errorf("docs/%s names %s, which is no setting", page, name)
			}
		}
	}
}

// filledIn are variables whose empty value the parts that read them fill in with what the example file says.
var filledIn = map[string]bool{
	"MILLRACE_TIER_SLOTS": true, "MILLRACE_ROUTER_BODIES": true, "MILLRACE_JWT_CLAIM": true,
	"MILLRACE_JWT_SKEW": true,
}

// The values of the example file are the defaults: copying it changes nothing.
func TestValuesOfTheExampleFileAreTheDefaults(t *testing.T) {
	t.Parallel()
	want := fmt.Sprintf("%+v", config.Default())
	for _, m := range regexp.MustCompile(`(?m)^([A-Z_]+)=(.+)$`).FindAllStringSubmatch(read(t, ".env.example"), -1) {
		loaded, err := config.Load(func(name string) (string, bool) { return m[2], name == m[1] })
		if err != nil {
			t.Errorf("%s: %v", m[1], err)
			continue
		}
		if got := fmt.Sprintf("%+v", loaded); got != want && !filledIn[m[1]] {
			t.Errorf("%s=%s is not the default", m[1], m[2])
		}
	}
}

const settingsHead = `# Settings

Made of [.env.example](../.env.example) by ` + "`go test ./docs -update`" +
	`; a test compares it with what the program reads. A flag of the same
meaning wins over the environment; ` + "`millrace serve --help`" + ` and ` + "`millrace dev --help`" +
	` name the variable of each flag. An empty value is the
default. All problems of a configuration are reported at once, at the start.

A secret may be in a file: ` + "`NAME_FILE=PATH`" + ` in place of ` + "`NAME`" +
	`, for the settings below that hold a password, a key or a token
(%s) and for the credentials of providers. White space around it is not part of it. The credentials of providers are read for
every request, so a file that is replaced is in force at once; the others are read at the start.

| Setting, and its default | Meaning |
|---|---|
`

// settingsPage renders the example file as a table: a row for each comment and the variables below it.
func settingsPage(t *testing.T, example string) string {
	t.Helper()
	var page strings.Builder
	fmt.Fprintf(&page, settingsHead, "`"+strings.Join(config.Secrets(), "`, `")+"`")
	var says, names []string
	flush := func() {
		if len(names) > 0 {
			fmt.Fprintf(&page, "| %s | %s |\n", strings.Join(names, "<br>"), strings.ReplaceAll(strings.Join(says, " "), "|", `\|`))
		}
		says, names = nil, nil
	}
	lines := strings.Split(example, "\n")
	for _, line := range lines[1:] { // the first says what the file is
		comment, isComment := strings.CutPrefix(line, "#")
		name, value, isSetting := strings.Cut(line, "=")
		switch {
		case isComment:
			if len(names) > 0 {
				flush()
			}
			says = append(says, strings.TrimSpace(comment))
		case isSetting:
			if value != "" {
				value = " `" + value + "`"
			}
			names = append(names, "`"+name+"`"+value)
		default:
			flush()
		}
	}
	flush()
	return page.String()
}
