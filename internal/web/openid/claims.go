package openid

import (
	"errors"
	"net/http"
	"strings"
	"unicode"

	"golang.org/x/oauth2"

	"github.com/millrace-dev/millrace/internal/fault"
)

// refuse returns the refusal of a sign-in.
func refuse(cause error, reason string) error {
	return fault.Wrap(cause, fault.Denied, fault.CodeForbidden, "%s", reason)
}

// exchangeFailed returns the failure of the exchange of a code. The answer of the provider is not repeated: it may contain
// what was sent.
func exchangeFailed(err error) error {
	var answered *oauth2.RetrieveError
	//nolint:forbidigo // of the provider
	if errors.As(err, &answered) && answered.Response != nil && answered.Response.StatusCode < http.StatusInternalServerError {
		return refuse(nil, strings.TrimRight("the provider did not accept the code: "+printable(answered.ErrorCode), ": "))
	}
	return fault.New(fault.Unavailable, "", "the provider of the sign-in does not exchange the code now")
}

// maxName bounds a text of the provider, in characters.
const maxName = 200

// printable returns the printable characters of a text of the provider, at most maxName.
func printable(text string) string {
	kept := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, ""))
	if runes := []rune(kept); len(runes) > maxName {
		kept = string(runes[:maxName])
	}
	return kept
}

// named returns the name of a person, for people to read.
func named(email string, claims map[string]any, subject string) string {
	preferred, _ := claims["preferred_username"].(string)
	name, _ := claims["name"].(string)
	for _, text := range []string{email, preferred, name, subject} {
		if text = strings.TrimSpace(printable(text)); text != "" {
			return text
		}
	}
	return "unnamed"
}

// texts returns a claim that is a text or a list of texts.
func texts(claim any) []string {
	switch said := claim.(type) {
	case string:
		return []string{said}
	case []any:
		var all []string
		for _, one := range said {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}
