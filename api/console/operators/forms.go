package operators

import (
	"maps"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// form returns the route of the form of an action.
func form[S any](p *page.Server, a action.For[S], service S) edge.Route {
	return p.Form(a.Page, page.Operate, func(c *gin.Context, v page.Visitor) (string, error) {
		params, result, err := carryOut(c, v, a, service)
		if err != nil {
			return "", err
		}
		return a.Back(params, result), nil
	})
}

// carryOut reads the form of an action and carries the action out.
func carryOut[S any](c *gin.Context, v page.Visitor, a action.For[S], service S) (params, result any, err error) {
	by, err := attribution(c, v)
	if err != nil {
		return nil, nil, err
	}
	if params, err = read(c, a); err != nil {
		return nil, nil, err
	}
	result, err = a.Do(c.Request.Context(), service, params, by)
	return params, result, err
}

// read reads the parameters of an action from the path and the form.
func read[S any](c *gin.Context, a action.For[S]) (any, error) {
	params := a.New(true)
	for _, p := range a.Params {
		text := strings.TrimSpace(c.PostForm(p.Form))
		if strings.Contains(a.Page, ":"+p.Name) {
			text = c.Param(p.Name)
		}
		if text == "" && !p.Required {
			continue
		}
		texts := []string{text}
		if p.Many() {
			texts = strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
		}
		if err := p.Set(params, texts...); err != nil {
			return nil, action.Refused(p.Form, "must be", err)
		}
	}
	return params, nil
}

// Buttons returns the forms of an action, one for each of its commands with a label. of has the parameters that are
// known already.
func Buttons[S any](a action.For[S], of map[string]string) []console.Act {
	var all []console.Act
	for _, command := range a.Commands {
		if command.Label == "" {
			continue
		}
		act := console.Act{Path: a.Page, Label: command.Label, Warning: command.Warning, Danger: command.Danger, Hidden: map[string]string{}}
		known := maps.Clone(command.Set)
		if known == nil {
			known = map[string]string{}
		}
		maps.Copy(known, of)
		for _, p := range a.Params {
			value, ok := known[p.Name]
			switch in := strings.Contains(a.Page, ":"+p.Name); {
			case in:
				act.Path = strings.ReplaceAll(act.Path, ":"+p.Name, value)
			case p.Label != "" && len(command.Set) == 0:
				act.Fields = append(act.Fields, field(p, value))
			case ok:
				act.Hidden[p.Form] = value
			}
		}
		all = append(all, act)
	}
	return all
}

// field returns the field of a parameter with its value.
func field(p action.Param, value string) console.ActField {
	f := console.ActField{Name: p.Form, Label: p.Label, Required: p.Required, Value: value}
	for _, choice := range p.Choices {
		f.Choices = append(f.Choices, console.Choice{Value: choice, Chosen: choice == value})
	}
	return f
}
