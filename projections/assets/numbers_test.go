package assets_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/projections/assets"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// An event that the view cannot store would halt its stream.
func TestAcceptedMetadataCanBeFolded(t *testing.T) {
	t.Parallel()
	for name, number := range map[string]string{
		"the smallest double":           "-5e-324",
		"the greatest double":           "1.7976931348623157e308",
		"zero":                          "-0.0e-400",
		"zero with too many places":     "0e-20000",
		"zero with a large exponent":    "0e999999999999",
		"a double with too many places": "1." + strings.Repeat("0", 16_300) + "e-300",
		"as many digits as are taken":   "1." + strings.Repeat("0", 398) + "e-300",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := asset.ParseMetadata([]byte(`{"n":` + number + `}`))
			require.Equal(t, strings.Contains(name, "too many") || strings.Contains(name, "large"), err != nil, "%v", err)
			if err != nil {
				return
			}
			reg, pool := registry(t), projectiontest.NewPool(t)
			events := eventstore.New(pool, reg, nil)
			e := asset.CreatedV1{Origin: asset.Uploaded, Size: 1, ContentType: "image/png", Metadata: json.RawMessage(m)}
			fold(t, pool, reg, projectiontest.Position(projectiontest.Append(t, events, given(1, asset.TypeCreated, e))))
			require.Equal(t, []int{1}, numbers(browse(t, assets.NewReader(pool, reg, nil), assets.Browse{}).Assets))
		})
	}
}
