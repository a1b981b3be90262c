package account

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/fault"
)

// TokenClaims are the claims of a signed token about an account.
type TokenClaims struct {
	Text     string    // id or name of the account
	Tier     Tier      // "" = the token names none
	IssuedAt time.Time // zero = not in the token
}

// maxName bounds the name of an account, in characters.
const maxName = 200

// CheckName returns Invalid for a name that people could not type or could not distinguish from others: it is empty,
// too long or surrounded by spaces, or has unprintable characters.
func CheckName(name string) error {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName ||
		strings.TrimSpace(name) != name || strings.ContainsFunc(name, unprintable) {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the name of an account must have 1 to %d printable characters, without spaces around them", maxName)
	}
	return nil
}

// Suspended is the refusal of every credential of a suspended account.
func Suspended() error {
	return fault.New(fault.Denied, fault.CodeForbidden, "this account is suspended")
}
