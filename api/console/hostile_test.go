package console_test

import (
	"html/template"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/console"
	"github.com/millrace-dev/millrace/api/console/deployments"
	"github.com/millrace-dev/millrace/api/console/models"
	"github.com/millrace-dev/millrace/api/console/operators"
	"github.com/millrace-dev/millrace/api/console/overview"
	"github.com/millrace-dev/millrace/api/console/own"
	"github.com/millrace-dev/millrace/api/console/page"
	layout "github.com/millrace-dev/millrace/internal/web/console"
)

const hostileText = `<b class="hostile">"'><img src=x onerror=alert(1)><script>alert(2)</script>javascript:alert(3)`

// allPages are the pages, one for each template.
var allPages = []func() layout.Page{
	func() layout.Page { return &operators.AccountPage{} }, func() layout.Page { return &operators.AccountsPage{} },
	func() layout.Page { return &console.AgainPage{} }, func() layout.Page { return &own.AssetPage{} },
	func() layout.Page { return &own.AssetsPage{} }, func() layout.Page { return &console.BulkPage{} },
	func() layout.Page { return &models.CallPage{} }, func() layout.Page { return &models.CallsPage{} },
	func() layout.Page { return &operators.CheckedPage{} }, func() layout.Page { return &operators.DeliveriesPage{} },
	func() layout.Page { return &deployments.DeployPage{} }, func() layout.Page { return &deployments.DeploymentPage{} },
	func() layout.Page { return &deployments.DeploymentsPage{} }, func() layout.Page { return &deployments.ShadowPage{} },
	func() layout.Page { return &operators.DoctorPage{} }, func() layout.Page { return &console.EditorPage{} },
	func() layout.Page { return &console.GalleryPage{} }, func() layout.Page { return &console.JobPage{} },
	func() layout.Page { return &own.KeysPage{} }, func() layout.Page { return &console.ListPage{} },
	func() layout.Page { return &models.ModelPage{} }, func() layout.Page { return &models.ModelsPage{} },
	func() layout.Page { return &operators.NewKeyPage{} }, func() layout.Page { return &overview.OverviewPage{} },
	func() layout.Page { return &page.ProblemPage{} }, func() layout.Page { return &operators.QueuesPage{} },
	func() layout.Page { return &console.RunPage{} }, func() layout.Page { return &own.SecretPage{} },
	func() layout.Page { return &console.ServersPage{} }, func() layout.Page { return &console.ShownPage{} },
	func() layout.Page { return &page.SignInPage{} },
	func() layout.Page { return &page.SignedInPage{} }, func() layout.Page { return &own.UsagePage{} },
	func() layout.Page { return &operators.SessionsPage{} }, func() layout.Page { return &operators.PoolsPage{} },
	func() layout.Page { return &operators.WeightsPage{} },
	func() layout.Page { return &console.UsePage{} }, func() layout.Page { return &operators.ViewsPage{} },
	func() layout.Page { return &own.WebhookPage{} }, func() layout.Page { return &own.WebhooksPage{} },
}

// TestEveryTextOfEveryPageIsText fills every field of every page with markup, with every switch on and with every one off.
func TestEveryTextOfEveryPageIsText(t *testing.T) {
	t.Parallel()
	templates, seen := layout.New(), map[string]bool{}
	sections := []fs.FS{
		console.Templates, deployments.Templates, models.Templates, overview.Templates, own.Templates, operators.Templates, page.Templates,
	}
	for _, section := range sections {
		templates.Add(section)
	}
	for _, made := range allPages {
		for _, on := range []bool{true, false} {
			shown := made()
			fill(reflect.ValueOf(shown).Elem(), on, 0)
			shown.Outer().Prefix, shown.Outer().Base = "", "/console"
			name := strings.ToLower(strings.TrimSuffix(reflect.TypeOf(shown).Elem().Name(), "Page"))
			seen[name+".html"] = true
			var b strings.Builder
			require.NoError(t, templates.Write(&b, shown), name)
			require.Contains(t, b.String(), "&lt;b class", name)
			for _, markup := range []string{`<b class="hostile"`, `<img src=x`, `<script>alert`, `href="javascript:`, `src="javascript:`} {
				require.NotContains(t, b.String(), markup, name)
			}
		}
	}
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		require.True(t, filepath.Ext(path) != ".html" || seen[filepath.Base(path)], "the page %s is not looked at", path)
		return err
	}))
}

// fill fills a value with markup: each text of it, and each text in a list, a map or behind a pointer. What the program
// itself vouches for, as an address that it has encoded, stays as it is.
func fill(v reflect.Value, on bool, depth int) {
	if depth > 12 || !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case template.URL, template.HTML:
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostileText)
	case reflect.Bool:
		v.SetBool(on)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), on, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), on, depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), on, depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, on, depth+1)
		fill(value, on, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), on, depth+1)
		}
	}
}
