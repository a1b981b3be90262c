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

// Metadata is a JSON object that an owner attaches to an asset, without white space; nil is none.
type Metadata json.RawMessage

// Bounds of metadata.
const (
	maxMetadata      = 16 << 10 // bytes
	maxMetadataDepth = 16
)

// ParseMetadata checks metadata: a JSON object of at most 16 KiB, without NUL characters, whose numbers a
// double holds, no more than 16 deep. An empty object and null are none.
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
		return nil, invalidMetadata("it is no JSON object")
	}
	if err := checkTokens(compact.Bytes()); err != nil {
		return nil, err
	}
	return canonical(compact.Bytes())
}

func invalidMetadata(why string) error {
	return fault.New(fault.Invalid, fault.CodeInvalidMetadata, "the metadata is not usable: %s", why)
}

// canonical writes an object with sorted keys, each once, so that equal metadata are equal bytes.
func canonical(raw []byte) (Metadata, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil, invalidMetadata("it is no JSON object")
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
				return invalidMetadata("it is nested too deep")
			}
		case string:
			if strings.ContainsRune(t, 0) {
				return invalidMetadata("it holds a NUL character")
			}
		case json.Number:
			if !IsDouble(t) {
				return invalidMetadata("it holds a number that a double does not, or is written with too many digits")
			}
		}
	}
}

// maxDigits bounds how a number is written, and how far its exponent moves the point: any double can be written
// within it, and what is longer the view could not store, whose numbers end at 16,383 places.
const maxDigits = 400

// IsDouble reports a number that a double holds, one that only looks like zero not being among them, and that
// is written in no more digits, or with no larger exponent, than doubles need.
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
