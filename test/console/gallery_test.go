package console_test

import (
	"fmt"
	"html"
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
	var more []string
	for i := range 50 { // more than one page
		more = append(more, p.submit(`{"prompt":`+picture("more", i)+`}`))
	}
	for _, id := range more {
		p.ended(id)
	}
	b := p.open()
	b.looks("gallery", "/console/gallery")
	b.visit("/console/gallery")
	b.await("older ones as the end comes into sight", `window.scrollTo(0, 1e6) || document.querySelectorAll(".gallery img").length === 52`)
	b.clean()
}

func TestTheGalleryShowsAFewOutputsOfEachJobAndGivesThemToOthers(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	many := p.run(strings.ReplaceAll(picture("many", 0x33aa66), `"batch_size":1`, `"batch_size":15`))
	gallery := p.page("/console/gallery")
	require.Equal(t, 12, strings.Count(gallery, `<li id="shown-`))
	require.Contains(t, gallery, "and 3 more of its job")
	shown := regexp.MustCompile(`/console/jobs/` + many + `/outputs/[0-9a-f-]+`).FindString(gallery)
	require.Contains(t, p.page(shown+"/use"), "No job of this account loads a picture yet.")
	loader := p.submit(`{"prompt":{"1":{"class_type":"LoadImage","inputs":{"image":"many_00001_.png [output]"}},` +
		`"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"loaded"}}}}`)
	p.await("the job in the index", func() bool { return strings.Contains(p.page(shown+"/use"), loader) })
	again := html.UnescapeString(regexp.MustCompile(`/console/jobs/` + loader + `/again\?[^"]+`).FindString(p.page(shown + "/use")))
	name := regexp.MustCompile(`<h1>Use (many_\d+_\.png) as input`).FindStringSubmatch(p.page(shown + "/use"))[1]
	require.Contains(t, p.page(again), `name="input:1.image" value="`+name+` [output]"`)
	require.Equal(t, http.StatusNotFound, newPerson(t).get(shown+"/use").status)

	var wide strings.Builder
	for i := range 40 {
		fmt.Fprintf(&wide, `"x%d":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":%[1]d}},`, i)
	}
	large := p.run("{" + wide.String() + picture("wide", 7)[1:])
	var one string
	p.await("its picture", func() bool {
		one = regexp.MustCompile(`/console/jobs/` + large + `/outputs/[0-9a-f-]+`).FindString(p.page("/console/gallery"))
		return one != ""
	})
	require.Contains(t, p.page(one), "22 more values are in the graph.")
	require.Equal(t, 60, strings.Count(p.page(one), `<td class="tight faint">`))
	b := p.open()
	b.looks("use", shown+"/use")
	b.looks("shown", one)
}
