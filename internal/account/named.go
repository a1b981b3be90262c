package account

import (
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Named is an account in the words of a token that an issuer has signed.
type Named struct {
	Text     string    // id or name of the account
	Tier     Tier      // that the issuer says; "" = nothing
	IssuedAt time.Time // zero = the token does not say
}

// maxName bounds the name of an account that a token makes, in characters.
const maxName = 200

// CheckName refuses a name that people could not tell apart or type: empty, long, or with characters
// that do not print.
func CheckName(name string) error {
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName {
		return badName()
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return badName()
		}
	}
	return nil
}

func badName() error {
	return fault.New(fault.Denied, "forbidden", "the account that the token names cannot be made")
}

// Suspended is the refusal of every credential of a suspended account.
func Suspended() error {
	return fault.New(fault.Denied, "forbidden", "this account is suspended")
}
