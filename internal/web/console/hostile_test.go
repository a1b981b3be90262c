package console_test

import (
	"html/template"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/web/console"
)

const hostileText = `<b class="hostile">"'><img src=x onerror=alert(1)><script>alert(2)</script>javascript:alert(3)`

// allPages are the pages, one for each template.
var allPages = []func() console.Page{
	func() console.Page { return &console.AccountPage{} }, func() console.Page { return &console.AccountsPage{} },
	func() console.Page { return &console.AgainPage{} }, func() console.Page { return &console.AssetPage{} },
	func() console.Page { return &console.AssetsPage{} }, func() console.Page { return &console.BulkPage{} },
	func() console.Page { return &console.CallPage{} }, func() console.Page { return &console.CallsPage{} },
	func() console.Page { return &console.CheckedPage{} }, func() console.Page { return &console.DeliveriesPage{} },
	func() console.Page { return &console.DoctorPage{} }, func() console.Page { return &console.EditorPage{} },
	func() console.Page { return &console.GalleryPage{} }, func() console.Page { return &console.JobPage{} },
	func() console.Page { return &console.KeysPage{} }, func() console.Page { return &console.ListPage{} },
	func() console.Page { return &console.ModelPage{} }, func() console.Page { return &console.ModelsPage{} },
	func() console.Page { return &console.NewKeyPage{} }, func() console.Page { return &console.OverviewPage{} },
	func() console.Page { return &console.ProblemPage{} }, func() console.Page { return &console.QueuesPage{} },
	func() console.Page { return &console.RunPage{} }, func() console.Page { return &console.SecretPage{} },
	func() console.Page { return &console.ServersPage{} }, func() console.Page { return &console.ShownPage{} },
	func() console.Page { return &console.SignInPage{} }, func() console.Page { return &console.UsagePage{} },
	func() console.Page { return &console.UsePage{} }, func() console.Page { return &console.ViewsPage{} },
	func() console.Page { return &console.WebhookPage{} }, func() console.Page { return &console.WebhooksPage{} },
}

// TestEveryTextOfEveryPageIsText fills every field of every page with markup, with every switch on and with every one off.
func TestEveryTextOfEveryPageIsText(t *testing.T) {
	t.Parallel()
	templates, seen := console.New(), map[string]bool{}
	for _, made := range allPages {
		for _, on := range []bool{true, false} {
			page := made()
			fill(reflect.ValueOf(page).Elem(), on, 0)
			page.Outer().Prefix, page.Outer().Base = "", "/console"
			seen[page.Template()] = true
			var b strings.Builder
			require.NoError(t, templates.Write(&b, page), page.Template())
			require.Contains(t, b.String(), "&lt;b class", page.Template())
			for _, markup := range []string{`<b class="hostile"`, `<img src=x`, `<script>alert`, `href="javascript:`, `src="javascript:`} {
				require.NotContains(t, b.String(), markup, page.Template())
			}
		}
	}
	files, err := os.ReadDir("pages")
	require.NoError(t, err)
	for _, f := range files {
		name, is := strings.CutSuffix(f.Name(), ".html")
		require.True(t, !is || name == "frame" || seen[name], "the page %s is not looked at", name)
	}
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
