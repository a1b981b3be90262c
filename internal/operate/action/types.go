package action

import (
	"encoding/json"
	"strings"

	"github.com/millrace-dev/millrace/internal/config/amount"
)

// Dollars is an amount in US dollars, in millionths. It is read from a decimal number as text.
type Dollars int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Dollars) UnmarshalText(text []byte) error {
	micros, err := amount.ParseDollars(string(text))
	*d = Dollars(micros)
	return err
}

// Takes describes the values.
func (*Dollars) Takes() string { return "an amount in US dollars such as 25 or 0.05" }

// Schema describes the values in the OpenAPI document.
func (*Dollars) Schema() map[string]any { return object{"type": "string"} }

// Names is a list of names, or all: null in JSON, and the word all in a command.
type Names struct {
	Given bool
	Names []string // nil = all
}

// SetTexts reads the words of a command; none is an empty list.
func (n *Names) SetTexts(words []string) error {
	n.Given, n.Names = true, words
	switch strings.Join(words, ",") {
	case "all":
		n.Names = nil
	case "none":
		n.Names = []string{}
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Names) UnmarshalJSON(raw []byte) error {
	n.Given, n.Names = true, nil
	return json.Unmarshal(raw, &n.Names)
}

// Takes describes the values.
func (*Names) Takes() string { return "a list of names, or null for all" }

// Schema describes the values in the OpenAPI document.
func (*Names) Schema() map[string]any {
	return object{"type": "array", "nullable": true, "items": object{"type": "string"}}
}

// Text returns the list as a command takes it.
func (n *Names) Text() string {
	switch {
	case n.Names == nil:
		return "all"
	case len(n.Names) == 0:
		return "none"
	}
	return strings.Join(n.Names, " ")
}
