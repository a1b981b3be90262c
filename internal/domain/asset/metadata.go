package asset

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Metadata is a JSON object that an owner attaches to an asset, without white space; nil = no metadata.
type Metadata json.RawMessage

// Bounds of metadata.
const (
	maxMetadata      = 16 << 10 // bytes
	maxMetadataDepth = 16
)

// ParseMetadata checks metadata: a JSON object of at most 16 KiB and 16 levels, without NUL characters, with numbers
// that a double can represent. An empty object and null become nil.
func ParseMetadata(raw []byte) (Metadata, error) {
	if len(raw) > maxMetadata {
		return nil, invalidMetadata("it is larger than " + strconv.Itoa(maxMetadata) + " bytes")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, invalidMetadata("it is not JSON")
	}
	switch text := compact.String(); {
	case text == "null", text == "{}":
		return nil, nil
	case !strings.HasPrefix(text, "{"):
		return nil, invalidMetadata("it is not a JSON object")
	}
	if err := checkTokens(compact.Bytes()); err != nil {
		return nil, err
	}
	return canonical(compact.Bytes())
}

func invalidMetadata(why string) error {
	return fault.New(fault.Invalid, fault.CodeInvalidMetadata, "the metadata is not valid: %s", why)
}

// canonical encodes an object with sorted keys and without duplicates, so that equal metadata are equal bytes.
func canonical(raw []byte) (Metadata, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil, invalidMetadata("it is not a JSON object")
	}
	return json.Marshal(object)
}

func checkTokens(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	depth := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return invalidMetadata("it is not JSON")
		}
		switch t := token.(type) {
		case json.Delim:
			depth += map[json.Delim]int{'{': 1, '[': 1, '}': -1, ']': -1}[t]
			if depth > maxMetadataDepth {
				return invalidMetadata("it is nested too deeply")
			}
		case string:
			if strings.ContainsRune(t, 0) {
				return invalidMetadata("it contains a NUL character")
			}
		case json.Number:
			if !IsDouble(t) {
				return invalidMetadata("it contains a number that a double cannot represent, or with too many digits")
			}
		}
	}
}

// maxDigits bounds the digits and the exponent of a number. Every double has a shorter form, and the view could not
// store longer numbers, which end at 16,383 digits.
const maxDigits = 400

// IsDouble reports whether a double can represent a number without rounding it to zero, and whether the number has no
// more digits and no larger exponent than doubles need.
func IsDouble(n json.Number) bool {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	if len(mantissa) > maxDigits {
		return false
	}
	if places, err := strconv.Atoi(exponent); exponent != "" && (err != nil || places > maxDigits || places < -maxDigits) {
		return false
	}
	f, err := n.Float64()
	return err == nil && (f != 0 || !strings.ContainsAny(mantissa, "123456789"))
}
