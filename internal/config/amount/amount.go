// Package amount reads and writes amounts as people write them: US dollars, and numbers of bytes. It promises that
// what it writes of an amount of dollars reads back as the same amount.
package amount

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Dollar is one US dollar in millionths.
const Dollar int64 = 1_000_000

// MaxDollars bounds one amount: a hundred million dollars. Sums of many amounts do not overflow an int64.
const MaxDollars = 100_000_000 * Dollar

// Dollars formats an amount in US dollars with all its digits, at least two after the point: "12.50".
func Dollars(micros int64) string {
	sign, rest := "", uint64(micros)
	if micros < 0 {
		sign, rest = "-", uint64(-micros)
	}
	frac := strings.TrimRight(fmt.Sprintf("%06d", rest%uint64(Dollar)), "0")
	for len(frac) < 2 {
		frac += "0"
	}
	return sign + strconv.FormatUint(rest/uint64(Dollar), 10) + "." + frac
}

var errAmount = errors.New("an amount must be in US dollars with at most six decimals, such as 25 or 0.05, up to 100000000")

// ParseDollars parses an amount in US dollars, with or without a sign.
func ParseDollars(text string) (int64, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, frac, _ := strings.Cut(digits, ".")
	if whole == "" || len(whole) > 9 || len(frac) > 6 || strings.HasSuffix(digits, ".") {
		return 0, errAmount
	}
	n, err := strconv.ParseUint(whole+frac+strings.Repeat("0", 6-len(frac)), 10, 63)
	if err != nil || int64(n) > MaxDollars { // 63 bits
		return 0, errAmount
	}
	if negative {
		return -int64(n), nil // 63 bits
	}
	return int64(n), nil // 63 bits
}

// units are the units of sizes, the largest first.
var units = [...]struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// Bytes formats a number of bytes for people.
func Bytes(bytes int64) string {
	for _, u := range units {
		if bytes >= u.bytes {
			return strings.TrimSuffix(strconv.FormatFloat(float64(bytes)/float64(u.bytes), 'f', 1, 64), ".0") + " " + u.name
		}
	}
	return strconv.FormatInt(bytes, 10) + " B"
}

// ParseBytes parses a number of bytes such as 1073741824, 512MiB or 1.5GiB.
func ParseBytes(text string) (int64, error) {
	number, factor := strings.TrimSpace(text), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= 0 && n <= (1<<62)/factor {
		return n * factor, nil
	}
	if f, err := strconv.ParseFloat(number, 64); err == nil && factor > 1 && f >= 0 && f <= float64((1<<62)/factor) {
		return int64(f * float64(factor)), nil
	}
	return 0, fmt.Errorf("%q is not a size such as 1073741824, 512MiB or 1.5GiB", text)
}
