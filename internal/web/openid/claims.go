package openid

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
	if errors.As(err, &answered) {
		status := answered.Response.StatusCode       //nolint:forbidigo // of the provider
		if status < http.StatusInternalServerError { //nolint:forbidigo // of the provider
			return refuse(nil, strings.TrimRight("the provider did not accept the code: "+printable(answered.ErrorCode), ": "))
		}
		err = fmt.Errorf("its token endpoint answered with status %d", status)
	}
	return fault.Wrap(err, fault.Unavailable, "", "the provider of the sign-in does not exchange the code now")
}

// unanswered returns the failure of a request without an answer, nil for an answer: that may contain what was sent.
func unanswered(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed
	}
	return nil
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

// verifiedEmail returns the email address that the provider has verified, or "".
func verifiedEmail(claims map[string]any) string {
	if claims["email_verified"] != true && claims["email_verified"] != "true" {
		return ""
	}
	email, _ := claims["email"].(string)
	return email
}

// ats are the signs that people read as that of an email address.
const ats = "@\ufe6b\uff20"

// named returns the name of a person, for people to read: the verified email address, or else a name. People choose such
// a name themselves, so it has the subject too, and must not look like an email address.
func named(email string, claims map[string]any, subject string) string {
	if email = strings.TrimSpace(printable(email)); email != "" {
		return email
	}
	subject = printable(subject)
	for _, claim := range []string{"preferred_username", "name"} {
		text, _ := claims[claim].(string)
		if text = strings.TrimSpace(printable(text)); text != "" && !strings.ContainsAny(text, ats) {
			return text + " (" + subject + ")"
		}
	}
	return cmp.Or(strings.TrimSpace(subject), "unnamed")
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
