package packroutes

import (
	"net/http"
	"slices"
)

// needed are the routes that classes of known packs need: such a class waits on its server until its client answers by the route.
var needed = map[string]Rule{
	"Image Filter":      {http.MethodPost, "/cg-image-filter-message", false},
	"Mask Image Filter": {http.MethodPost, "/cg-image-filter-message", false},
	"Preview Chooser":   {http.MethodPost, "/image_chooser_message", false},
	"Text Image Filter": {http.MethodPost, "/cg-image-filter-message", false},
	"easy imageChooser": {http.MethodPost, "/easyuse/image_chooser_message", false},
	"easy promptAwait":  {http.MethodPost, "/easyuse/message_callback", false},
}

// Lacking returns a function that names the route, such as "POST /pack/route", which a class needs and which the rules do not allow, or
// returns "".
func Lacking(rules []Rule) func(class string) string {
	return func(class string) string {
		r, ok := needed[class]
		if !ok || slices.ContainsFunc(rules, func(allowed Rule) bool { return allowed.Method == r.Method && allowed.matches(r.Path) }) {
			return ""
		}
		return r.Method + " " + r.Path
	}
}
