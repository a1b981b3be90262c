package call

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of the header that names dropped parameters (router contract, Router-Dropped-Params).
const (
	maxDropped     = 64   // entries
	maxDroppedName = 300  // bytes of an entry
	maxDroppedAll  = 4096 // bytes of the header
)

// KeptDropped returns the names that fit into the header. The names come from a caller's body: an event with all of
// them could exceed the limit of the log, and the answer could then not be recorded.
func KeptDropped(names []string) []string {
	if len(names) > maxDropped {
		names = names[:maxDropped]
	}
	kept := make([]string, len(names))
	for i, name := range names {
		kept[i] = strings.ToValidUTF8(name[:min(len(name), maxDroppedName)], "")
	}
	return kept
}

// DroppedParams renders names as the value of the header: one JSON array of strings in ASCII. It shortens long names
// and leaves out names beyond the bounds. Without names it returns "", and the header is not sent.
func DroppedParams(names []string) string {
	var b strings.Builder
	for i, name := range names {
		entry := quoted(name)
		if i == maxDropped || b.Len()+len(",")+len(entry)+len("]") > maxDroppedAll {
			break
		}
		if i == 0 {
			b.WriteByte('[')
		} else {
			b.WriteByte(',')
		}
		b.WriteString(entry)
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "]"
}

// quoted renders a name as a JSON string of ASCII, shortened to the bound.
func quoted(name string) string {
	if len(name) > maxDroppedName {
		name = name[:maxDroppedName]
	}
	for {
		encoded := ascii(strings.ToValidUTF8(name, ""))
		if len(encoded) <= maxDroppedName {
			return encoded
		}
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
}

// ascii encodes a string as JSON without bytes that are not allowed in a header.
func ascii(s string) string {
	encoded, err := json.Marshal(s)
	if err != nil { // a string always encodes
		return `""`
	}
	var b strings.Builder
	for _, r := range string(encoded) {
		switch {
		case r < utf8.RuneSelf && r != 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			_, _ = fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			_, _ = fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
