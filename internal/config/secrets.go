package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// FileSuffix is the suffix of a variable that holds the path of a file with a secret: MILLRACE_TOKEN_FILE instead of
// MILLRACE_TOKEN.
const FileSuffix = "_FILE"

// secrets are the settings whose value may be in a file.
var secrets = []string{
	"DATABASE_URL", "DATABASE_DIRECT_URL", "MILLRACE_TOKEN", "MILLRACE_ADMIN_TOKEN", "MILLRACE_SECRET_KEY", "MILLRACE_FORMER_SECRET_KEYS",
	"MILLRACE_BUCKET_ACCESS_KEY", "MILLRACE_BUCKET_SECRET_KEY", "MILLRACE_JWT_SECRET", "OTEL_EXPORTER_OTLP_HEADERS",
}

// Secrets returns the names of the settings whose value may be in a file.
func Secrets() []string { return slices.Clone(secrets) }

// ReadSecret returns the value of the variable name, or the content, without surrounding white space, of the file to
// which the variable name + FileSuffix refers. If both are set, or the file cannot be read or is empty, the error
// names the remedy.
func ReadSecret(lookup func(string) (string, bool), name string) (string, bool, error) {
	value, set := lookup(name)
	path, inFile := lookup(name + FileSuffix)
	switch {
	case !inFile || path == "":
		return value, set, nil
	case set && value != "":
		return "", false, fmt.Errorf("%s and %s are both set: unset one", name, name+FileSuffix)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w; mount the file, readable for this user, or set %s", name+FileSuffix, err, name)
	}
	if value = strings.TrimSpace(string(raw)); value == "" {
		return "", false, fmt.Errorf("%s: %s is empty; write the value into it", name+FileSuffix, path)
	}
	return value, true, nil
}

// Credentials returns a lookup that also reads the files of secrets. It reads a file each time, so that a changed
// file is in force at once. A file that cannot be read counts as no value; CheckCredentials reports it at the start.
func Credentials(lookup func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, set, err := ReadSecret(lookup, name)
		return value, set && err == nil
	}
}

// CheckCredentials reports the variables whose value cannot be read.
func CheckCredentials(lookup func(string) (string, bool), names []string) error {
	var problems []error
	for _, name := range names {
		if _, _, err := ReadSecret(lookup, name); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
