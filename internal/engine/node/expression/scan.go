package expression

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	end kind = iota
	number
	name
	symbol
	quote // a text, which is good for nothing but an error
)

// token is one word of an expression; value is set for numbers.
type token struct {
	kind  kind
	text  string
	value any
}

// symbols are the operators and brackets, longer ones first.
var symbols = [...]string{
	"**", "//", "<<", ">>", "<=", ">=", "==", "!=",
	"+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]", ",", "&", "|", "^", "~",
}

func scan(source string) ([]token, error) {
	var tokens []token
	for rest := source; rest != ""; {
		c := rest[0]
		size := 1
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		case isLetter(c):
			for size < len(rest) && (isLetter(rest[size]) || isDigit(rest[size])) {
				size++
			}
			tokens = append(tokens, token{kind: name, text: rest[:size]})
		case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
			size = numberSize(rest)
			value, err := parseNumber(rest[:size])
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, token{kind: number, text: rest[:size], value: value})
		case (c == '"' || c == '\'') && strings.IndexByte(rest[1:], c) >= 0 && !strings.ContainsAny(rest, "\\\n"):
			size = 2 + strings.IndexByte(rest[1:], c)
			tokens = append(tokens, token{kind: quote, text: rest[:size], value: rest[1 : size-1]})
		default:
			text := symbolAt(rest)
			if text == "" {
				r, _ := utf8.DecodeRuneInString(rest)
				return nil, unexpected(string(r))
			}
			size = len(text)
			tokens = append(tokens, token{kind: symbol, text: text})
		}
		rest = rest[size:]
	}
	return append(tokens, token{kind: end, text: "the end"}), nil
}

// pairs refuses brackets without their other half.
func pairs(tokens []token) error {
	var open []string
	for _, t := range tokens {
		switch {
		case t.kind != symbol:
		case t.text == "(" || t.text == "[":
			open = append(open, t.text)
		case t.text == ")" || t.text == "]":
			if len(open) == 0 {
				return syntax("unmatched '"+t.text+"'", "unexpected %q", t.text)
			}
			if last := open[len(open)-1]; last+t.text != "()" && last+t.text != "[]" {
				return syntax("closing parenthesis '"+t.text+"' does not match opening parenthesis '"+last+"'", "unexpected %q", t.text)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return syntax("'"+open[len(open)-1]+"' was never closed", "a bracket is not closed")
	}
	return nil
}

func symbolAt(rest string) string {
	for _, s := range symbols {
		if strings.HasPrefix(rest, s) {
			return s
		}
	}
	return ""
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// numberSize returns the length of a literal: letters and digits, a point, a sign after an exponent.
func numberSize(rest string) int {
	based := len(rest) > 1 && rest[0] == '0' && strings.IndexByte("xXoObB", rest[1]) >= 0
	size := 0
	for size < len(rest) {
		c := rest[size]
		exponent := size > 0 && !based && rest[size-1]|0x20 == 'e'
		if !isLetter(c) && !isDigit(c) && c != '.' && !(exponent && (c == '+' || c == '-')) {
			break
		}
		size++
	}
	return size
}

func parseNumber(text string) (any, error) {
	digits := strings.ReplaceAll(text, "_", "")
	if strings.Contains(text, "__") || strings.HasSuffix(text, "_") || strings.Contains(text, "_.") || strings.Contains(text, "._") {
		return nil, invalid("%.32q is not a number", text)
	}
	based := len(digits) > 1 && digits[0] == '0' && strings.IndexByte("xXoObB", digits[1]) >= 0
	if based || !strings.ContainsAny(digits, ".eE") {
		return parseInteger(text, digits, based)
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && !math.IsInf(f, 0) || strings.ContainsAny(digits, "xXpPiInN") {
		return nil, invalid("%.32q is not a number", text)
	}
	return f, nil
}

func parseInteger(text, digits string, based bool) (any, error) {
	base := 10
	if based {
		base = 0
	} else if strings.TrimLeft(digits, "0") != "" && digits[0] == '0' {
		return nil, invalid("%.32q begins with a zero", text)
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok || n.BitLen() > maxBits {
		return nil, invalid("%.32q is not a number", text)
	}
	return n, nil
}
