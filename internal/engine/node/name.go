package node

import (
	"strconv"
	"strings"
	"time"
)

// ExpandName replaces the tokens that the server knows in a file name prefix (node graph semantics,
// section 4.1); %batch_num% is left for each frame. Width and height are 0 for what is no picture.
func ExpandName(prefix string, width, height int, at time.Time) string {
	return strings.NewReplacer(
		"%width%", strconv.Itoa(width), "%height%", strconv.Itoa(height),
		"%year%", strconv.Itoa(at.Year()), "%month%", at.Format("01"), "%day%", at.Format("02"),
		"%hour%", at.Format("15"), "%minute%", at.Format("04"), "%second%", at.Format("05"),
	).Replace(prefix)
}
