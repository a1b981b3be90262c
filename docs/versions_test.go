package docs_test

import (
	"regexp"
	"strconv"
	"testing"
)

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
