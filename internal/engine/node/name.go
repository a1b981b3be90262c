package node

import (
	"strconv"
	"strings"
	"time"
)

// ExpandName replaces ComfyUI's tokens, such as %year% and %width%, in the prefix of a file name. %batch_num% stays, to
// be replaced for each frame. width and height are 0 for a file that is not a picture.
func ExpandName(prefix string, width, height int, at time.Time) string {
	return strings.NewReplacer(
		"%width%", strconv.Itoa(width), "%height%", strconv.Itoa(height),
		"%year%", strconv.Itoa(at.Year()), "%month%", at.Format("01"), "%day%", at.Format("02"),
		"%hour%", at.Format("15"), "%minute%", at.Format("04"), "%second%", at.Format("05"),
	).Replace(prefix)
}
