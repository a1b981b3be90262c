package operators

import (
	"path"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/operate/pools"
	"github.com/millrace-dev/millrace/internal/operate/weights"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// endedShown is the number of stopped machines that are shown for each pool.
const endedShown = 10

// pools shows the pools with their machines: GET /console/pools.
func (r *Section) pools(c *gin.Context, _ page.Visitor) (console.Page, error) {
	all, err := r.Pools.Pools(c.Request.Context())
	if err != nil {
		return nil, err
	}
	shown := &PoolsPage{Frame: console.Frame{Title: "Pools", Live: true, Every: every}}
	for _, one := range all {
		acts := slices.DeleteFunc(Buttons(pools.Change, map[string]string{"pool": one.Pool}), func(a console.Act) bool {
			return a.Hidden["state"] == one.State
		})
		one.Ended = one.Ended[max(0, len(one.Ended)-endedShown):]
		slices.Reverse(one.Ended)
		shown.Pools = append(shown.Pools, ShownPool{View: one, Acts: acts})
	}
	return shown, nil
}

// weights lists the weights by folder and name: GET /console/weights.
func (r *Section) weights(c *gin.Context, _ page.Visitor) (console.Page, error) {
	all, err := r.Weights.Weights(c.Request.Context())
	if err != nil {
		return nil, err
	}
	names, err := r.page.Names(c.Request.Context())
	if err != nil {
		return nil, err
	}
	copies, err := r.Weights.Copies(c.Request.Context())
	if err != nil {
		return nil, err
	}
	rows, search := searched(c, all, func(w asset.Weight) accountName { return accountName{path.Join(w.Folder, w.Name), string(w.ID)} })
	shown := &WeightsPage{Frame: console.Frame{Title: "Weights"}, Search: search}
	names[account.Everyone] = "all accounts"
	for _, w := range rows {
		acts := Buttons(weights.Remove, map[string]string{"weight": string(w.ID)})
		shown.Weights = append(shown.Weights, ShownWeight{Weight: w, Owner: names[w.Account], Copies: copies(w), Acts: acts})
	}
	return shown, nil
}
