package comfyui

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a version of ComfyUI.
type Version struct{ Major, Minor, Patch int }

// MinVersion is the oldest supported version: the first that interrupts a prompt by its id. In older versions an
// interrupt ends the running prompt, even if another client submitted it.
var MinVersion = Version{0, 3, 57}

// ParseVersion reads "0.33.0" or the form that git describe prints, such as "v0.2.1-3-gabc1234".
func ParseVersion(s string) (Version, error) {
	numbers, _, _ := strings.Cut(strings.TrimPrefix(s, "v"), "-")
	numbers, _, _ = strings.Cut(numbers, "+")
	parts := strings.Split(numbers, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Version{}, fmt.Errorf("%q is not a version", s)
	}
	var v Version
	for i, field := range []*int{&v.Major, &v.Minor, &v.Patch}[:len(parts)] {
		n, err := strconv.ParseUint(parts[i], 10, 31)
		if err != nil {
			return Version{}, fmt.Errorf("%q is not a version", s)
		}
		*field = int(n)
	}
	return v, nil
}

// Compare orders versions: negative when v is older than w.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// String returns the version as "0.33.0".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }
