package catalog

import (
	_ "embed"
	"fmt"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed common.yaml
var commonFile []byte

// common holds the rules that all entries share.
type common struct {
	Errors   []ErrorRule
	Messages []Expr
}

var shared = sync.OnceValues(func() (common, error) {
	var c common
	if err := yaml.Unmarshal(commonFile, &c); err != nil {
		return common{}, fmt.Errorf("common.yaml: %w", err)
	}
	return c, nil
})

// addCommon appends the common rules.
func (m *Model) addCommon() error {
	c, err := shared()
	if err != nil {
		return err
	}
	m.Errors = append(m.Errors, c.Errors...)
	if m.Message.Set() {
		m.Messages = append(m.Messages, m.Message)
	}
	m.Messages = append(m.Messages, c.Messages...)
	return nil
}
