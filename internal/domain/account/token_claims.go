package account

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/fault"
)

// TokenClaims are what a signed token says of an account.
type TokenClaims struct {
	Text     string    // id or name of the account
	Tier     Tier      // that the issuer says; "" = nothing
	IssuedAt time.Time // zero = the token does not say
}

// maxName bounds the name of an account, in characters.
const maxName = 200

// CheckName refuses (Invalid) the name of a new account that people could not tell from another or type: empty,
// long, with spaces around it, or with characters that do not print.
func CheckName(name string) error {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName ||
		strings.TrimSpace(name) != name || strings.ContainsFunc(name, unprintable) {
		return fault.New(fault.Invalid, "invalid_request", "the name of an account is 1 to %d characters that print, without spaces around them", maxName)
	}
	return nil
}

// Suspended is the refusal of every credential of a suspended account.
func Suspended() error {
	return fault.New(fault.Denied, "forbidden", "this account is suspended")
}
