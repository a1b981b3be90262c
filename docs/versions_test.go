package docs_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The page about clients names the versions that the tests install.
func TestVersionsOfClients(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/clients.md")
	for file, name := range map[string]string{
		"typescript/package.json": "@comfyorg/sdk", "python/requirements.txt": "comfy-sdk", "commandline/requirements.txt": "comfy-cli",
		"comfyui/requirements.txt": "comfy-api-client", "comfyui/requirements.txt#": "comfy_api_simplified",
		"comfyui/open-webui.txt": "open-webui",
	} {
		pinned := regexp.MustCompile(`(?:^|[\s"])` + name + `(?:==|": ")([0-9.]+)`)
		m := pinned.FindStringSubmatch(read(t, "test/clients/"+strings.TrimSuffix(file, "#")))
		if m == nil {
			t.Fatalf("%s does not pin %s", file, name)
		}
		row := regexp.MustCompile(`\| \[[^\n]*` + strings.ReplaceAll(name, "_", "-") + `[^\n]*\| ` + regexp.QuoteMeta(m[1]) + ` \|`)
		if !row.MatchString(page) {
			t.Errorf("docs/clients.md does not say that version %s of %s is tested", m[1], name)
		}
	}
}

// oldestPostgreSQL is the version that doctor warns below, in the words of its own source.
func oldestPostgreSQL(t *testing.T) int {
	t.Helper()
	m := regexp.MustCompile(`const oldestServer = (\d+)0000`).FindStringSubmatch(read(t, "internal/operate/doctor/database.go"))
	if m == nil {
		t.Fatal("internal/operate/doctor/database.go does not say which PostgreSQL is the oldest")
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Which PostgreSQL will do has one answer, wherever it is asked.
func TestPostgreSQLVersionIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	oldest := oldestPostgreSQL(t)
	says := regexp.MustCompile(`PostgreSQL[^.|\n]{0,12}?(\d+) (?:or|and) later`)
	for _, file := range []string{
		"Makefile", "README.md", "docs/deployment.md", "docs/operating.md", "docs/runbook.md",
		"internal/operate/doctor/database.go",
	} {
		content := read(t, file)
		for _, m := range says.FindAllStringSubmatch(content, -1) {
			if m[1] != strconv.Itoa(oldest) {
				t.Errorf("%s says %q; the answer is %d", file, m[0], oldest)
			}
		}
	}
	if m := regexp.MustCompile(`oldest += (\d+)`).FindStringSubmatch(read(t, "internal/postgres/localcluster/binaries.go")); m == nil ||
		m[1] != strconv.Itoa(oldest) {
		t.Errorf("local mode takes another PostgreSQL than %d: %v", oldest, m)
	}
	for _, file := range []string{"Makefile", "docs/deployment.md", "internal/operate/doctor/database.go"} {
		if !says.MatchString(read(t, file)) {
			t.Errorf("%s no longer says which PostgreSQL will do", file)
		}
	}
}
