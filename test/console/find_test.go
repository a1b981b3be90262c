package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// found returns the address to which the field of the bar leads for a text.
func (p *person) found(text string) string {
	p.t.Helper()
	r := p.get("/console/find?find=" + url.QueryEscape(text))
	require.Equal(p.t, http.StatusSeeOther, r.status, r.body)
	return r.header.Get("Location")
}

// id returns the id of the person's account.
func (p *person) id(operator *person) string {
	p.t.Helper()
	at := operator.found(p.account)
	id, ok := strings.CutPrefix(at, "/console/accounts/")
	require.True(p.t, ok, at)
	return id
}

func TestTheBarFindsThingsByIDAndName(t *testing.T) {
	t.Parallel()
	p, other := newPerson(t), newPerson(t)
	id := p.run(picture("found", 0x3366cc))
	asset := p.upload("found.txt", "a text")
	p.deployed("found-by-name", 0x3366cc)
	at := "/console/jobs/" + id
	for text, want := range map[string]string{
		id: at, id[:13]: at, " " + strings.ToUpper(id) + " ": at, "job-" + id: at,
		asset: "/console/assets/" + asset, "found-by-name": "/console/deployments/found-by-name", "red fox": "/console?q=red+fox", "": "/console",
	} {
		require.Equal(t, want, p.found(text), "%q", text)
	}
	require.Equal(t, "/console?q=found-by-name", other.found("found-by-name"), "deployments are found in their account only")
	require.Equal(t, "/console?q="+id, other.found(id), "what another account owns is not found")
	require.Equal(t, "/console?q="+p.account, other.found(p.account), "accounts are found by operators only")

	operator := newOperator(t)
	owner := p.id(operator)
	require.Equal(t, at+"?account="+owner, operator.found(id))
}

func TestAnOperatorsLinkToAJobNeedsNoAccount(t *testing.T) {
	t.Parallel()
	p, operator := newPerson(t), newOperator(t)
	id := p.run(picture("linked", 0x3366cc))
	shown := operator.page("/console/jobs/" + id)
	require.Contains(t, shown, "<strong>"+p.account+"</strong>", "whose job it is")
	require.Contains(t, shown, "/console/jobs/"+id+"/files/")
	require.Contains(t, shown, "?account="+p.id(operator), "the links of the page keep the account")
	require.Contains(t, operator.page("/console?account="+p.account), id, "an account is chosen by its name")
	require.Equal(t, http.StatusNotFound, operator.get("/console?account=nobody").status)
	require.Equal(t, http.StatusNotFound, newPerson(t).get("/console/jobs/"+id).status)
	p.await("a list that names the account", func() bool { // the index of words follows the log
		return strings.Contains(operator.page("/console?q=linked"), ">"+p.account+"</a>")
	})
}

// TestTheFirstMinuteOfANewcomer is what somebody does who has never seen the console: no address is typed after the
// first one.
func TestTheFirstMinuteOfANewcomer(t *testing.T) {
	t.Parallel()
	b := newPerson(t).open()
	began := time.Now()
	b.visit("/console")
	b.click(`Array.from(document.querySelectorAll("button")).find(function (e) { return e.textContent === "Paint a sunset" })`)
	b.arrives("the picture", `location.pathname.indexOf("/console/jobs/") === 0 && document.querySelector(".outputs img") && `+
		`document.querySelector(".outputs img").naturalWidth === 768`)
	require.Contains(t, b.text(), "sunset")
	t.Logf("a picture after %s", time.Since(began).Round(100*time.Millisecond))
	b.visit("/console")
	require.NotContains(t, b.text(), "No jobs yet")
	b.clean()

	c := newPerson(t).open()
	c.visit("/console")
	c.click(`Array.from(document.querySelectorAll("button")).find(function (e) { return e.textContent === "See a job fail" })`)
	c.arrives("the reason", `/RegexReplace[^]*unterminated subpattern/.test((document.querySelector(".failure") || document).textContent)`)
	c.clean()
}

// click clicks on the element that an expression finds.
func (b *browser) click(element string) {
	b.t.Helper()
	b.await("the element", `!!(`+element+`)`)
	eval[bool](b, `(`+element+`.click(), true)`)
}

func TestAnAccountThatMayNotSubmitIsToldWhy(t *testing.T) {
	t.Parallel()
	p, operator := newPerson(t), newOperator(t)
	changed := operator.post("/console/accounts/"+p.id(operator), url.Values{"tier": {"free"}, "reason": {"test"}})
	require.Equal(t, http.StatusSeeOther, changed.status, changed.body)
	shown := p.page("/console")
	require.Contains(t, shown, "no active subscription")
	require.NotContains(t, shown, "Paint a sunset")
}
