package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres/deploymentstore"
)

// maxDrifted bounds the versions that the check of the deployments of graphs counts, shownDrifted those that it names.
const maxDrifted, shownDrifted = 100, 5

// drift reports versions that answer calls although the definitions of their classes have changed since they were added.
func (d databaseDoctor) drift(ctx context.Context) (Finding, error) {
	found, err := deploymentstore.New(d.pool, nil).Drifted(ctx, maxDrifted)
	if err != nil {
		return Finding{}, err
	}
	if len(found) == 0 {
		return Finding{Status: Healthy, Detail: "no version that answers uses a class whose definition has changed"}, nil
	}
	var texts []string
	for _, one := range found[:min(len(found), shownDrifted)] {
		texts = append(texts, fmt.Sprintf("%s@%d: %s", one.Name, one.Version, terminal.Clean(strings.Join(one.Classes, ", "))))
	}
	return Finding{
		Status: Warning, Detail: fmt.Sprintf("%d versions answer with changed definitions of their classes: %s", len(found),
			strings.Join(texts, "; ")),
		Remedy: "test the graph on the servers as they are, then deploy it again: millrace deploy",
	}, nil
}
