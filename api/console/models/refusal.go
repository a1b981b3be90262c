package models

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/millrace-dev/millrace/api/console/form"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// refuse sets the problem of each field that the model refuses and returns a sentence for the whole form.
func refuse(f *form.Form, r *call.Refusal) string {
	for _, v := range validation(r) {
		if len(v.Loc) >= 2 {
			f.Refuse(fmt.Sprint(v.Loc[1]), v.Msg+".")
		}
	}
	if words := violations(r); len(words) > 0 {
		return strings.Join(words, " ")
	}
	return refusalText(r.Detail)
}

func validation(r *call.Refusal) []catalog.Violation {
	var found []catalog.Violation
	if len(r.Validation) == 0 || json.Unmarshal(r.Validation, &found) != nil {
		return nil
	}
	return found
}

// violations returns the reasons for which a body is refused.
func violations(r *call.Refusal) []string {
	var words []string
	for _, v := range validation(r) {
		var path []string
		for _, part := range v.Loc[min(1, len(v.Loc)):] {
			path = append(path, fmt.Sprint(part))
		}
		words = append(words, strings.Join(path, ".")+": "+v.Msg+".")
	}
	return words
}
