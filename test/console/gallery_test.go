package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheGalleryShowsWhatAnAccountMade(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	require.Contains(t, p.page("/console/gallery"), "No job has made a picture yet.")
	id := p.run(picture("shown", 0x33aa66))
	gallery := p.page("/console/gallery")
	require.Contains(t, gallery, "shown_00001_.png")
	file := strings.Replace(regexp.MustCompile(`/console/jobs/`+id+`/outputs/[0-9a-f-]+`).FindString(gallery), "/outputs/", "/files/", 1)
	require.NotEmpty(t, file)
	require.Equal(t, http.StatusFound, p.get(file).status)
	stranger := newPerson(t)
	require.Equal(t, http.StatusNotFound, stranger.get(file).status)
	require.NotContains(t, stranger.page("/console/gallery"), "shown_00001_.png")
	p.await("the index", func() bool { return strings.Contains(p.page("/console/gallery?q=shown"), "shown_00001_.png") })
	require.Contains(t, p.page("/console/gallery?q=nothing+like+it"), "Nothing matches.")
	large := p.page("/console/jobs/" + id + "/outputs/" + file[len("/console/jobs/"+id+"/files/"):])
	require.Regexp(t, `<td class="tight">width</td><td class="long">320</td>`, large, "what made it")
	require.Equal(t, http.StatusNotFound, p.get("/console/jobs/"+id+"/outputs/"+id).status)
	other := p.run(picture("other", 0x112233))
	compared := p.get("/console/gallery/compare?id=" + id + "&id=" + other)
	require.Equal(t, "/console/jobs/"+id+"?with="+other, compared.header.Get("Location"))
	require.Equal(t, http.StatusBadRequest, p.get("/console/gallery/compare?id="+id).status)
	for i := range 49 { // more than a page has
		p.submit(`{"prompt":` + picture("more", i) + `}`)
	}
	p.run(picture("more", 50))
	b := p.open()
	b.looks("gallery", "/console/gallery")
	b.visit("/console/gallery")
	b.await("older ones as the end comes into sight", `window.scrollTo(0, 1e6) || document.querySelectorAll(".gallery img").length === 52`)
	b.clean()
}
