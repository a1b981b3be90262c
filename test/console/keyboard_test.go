package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// press presses keys, one after the other.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
}

// focused returns a short name of the focused element: its id, or else its name, address or text.
const focused = `(function () {
	var e = document.activeElement;
	return e.id || e.getAttribute("aria-label") || e.getAttribute("value") || e.textContent.trim().slice(0, 40) || e.tagName;
})()`

// visible reports whether the focus is visible: as an outline or, in a drawing, as that of the element's box.
const visible = `(function (e) {
	var box = e.querySelector("rect");
	return getComputedStyle(e).outlineStyle !== "none" || box && getComputedStyle(box).strokeWidth === "4px";
})(document.activeElement)`

// tabTo presses Tab until an expression holds for the focused element, and returns the elements that had the focus on
// the way.
func (b *browser) tabTo(what, expression string) (passed []string) {
	b.t.Helper()
	for range 80 {
		b.press(kb.Tab)
		if eval[bool](b, `(function (e) { return !!(`+expression+`); })(document.activeElement)`) {
			require.True(b.t, eval[bool](b, visible), "%s shows that it has the focus", what)
			return passed
		}
		passed = append(passed, eval[string](b, focused))
	}
	require.Fail(b.t, "Tab does not reach "+what, "it went over %q", passed)
	return nil
}

func TestJobsAreSelectedAndRunAgainByKeyboard(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	first, second := p.run(picture("keys-1", 0x3366cc)), p.run(picture("keys-2", 0xcc3366))
	b := p.open()
	b.visit("/console")
	b.await("the stream", `document.getElementById("main").dataset.state === "live"`)
	order := strings.Join(b.tabTo("the newest job", `e.type === "checkbox" && e.value === "`+second+`"`), "\n")
	require.Regexp(t, `(?s)Overview.*find.*Sign out.*f-q.*Search.*More filters`, order, "what stands first comes first")
	b.press(" ")
	third := p.run(picture("keys-3", 0x33cc66))
	b.await("another job in the list", `document.getElementById("job-`+third+`")`)
	require.Equal(t, second, eval[string](b, `document.activeElement.value`), "news leave the focus where it is")
	between := b.tabTo("the job below", `e.type === "checkbox" && e.value === "`+first+`"`)
	require.Len(t, between, 2, "its link and its picture: %q", between)
	b.press(" ")
	require.Equal(t, []string{second, first}, eval[[]string](b,
		`Array.from(document.querySelectorAll("[name=id]:checked")).map(function (i) { return i.value; })`))
	b.tabTo("the action", `e.name === "action" && e.value === "retry"`)
	b.press(kb.Enter)
	b.arrives("what will happen", `location.pathname === "/console/jobs/bulk"`)
	require.Contains(t, b.text(), first[:8])
	require.Contains(t, b.text(), second[:8])
	b.tabTo("the confirmation", `e.tagName === "BUTTON" && e.closest("main form") && e.classList.contains("main")`)
	b.press(kb.Enter)
	b.arrives("the list", `location.pathname === "/console" && document.querySelectorAll("tr[id^=job-]").length === 5`)
	b.clean()
}

// TestAnOperatorActsByKeyboard suspends an account on the way from the search to the reason.
func TestAnOperatorActsByKeyboard(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	b := newOperator(t).open()
	b.visit("/console")
	b.tabTo("the search", `e.id === "find"`)
	b.do(chromedp.KeyEvent(p.account))
	b.press(kb.Enter)
	b.arrives("the account", `location.pathname.indexOf("/console/accounts/") === 0`)
	b.tabTo("the action", `e.tagName === "SUMMARY" && e.textContent.indexOf("Suspend") === 0`)
	b.press(kb.Enter)
	b.tabTo("the reason", `e.name === "reason" && e.closest("details[open]")`)
	b.do(chromedp.KeyEvent("by keyboard alone"))
	b.press(kb.Enter)
	b.arrives("the suspended account", `document.querySelector("h1 .state.failed")`)
	require.Equal(t, http.StatusForbidden, p.get("/console").status)
	b.clean()
}

func TestTheSliderOfAJobIsMovedByKeyboard(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	id := p.run(picture("slid", 0x3366cc))
	b := p.open()
	b.visit("/console/jobs/" + id)
	last := eval[int](b, `Number(document.getElementById("at").max)`)
	b.tabTo("the slider", `e.id === "at"`)
	b.press(kb.ArrowLeft, kb.ArrowLeft)
	b.arrives("the state before two events", `new RegExp("As it was after event `+itoa(last-2)+` of").test(document.body.innerText)`)
	require.Equal(t, "at", eval[string](b, `document.activeElement.id`), "it is moved on from there")
	b.press(kb.ArrowLeft)
	b.arrives("the state before", `new RegExp("As it was after event `+itoa(last-3)+` of").test(document.body.innerText)`)
	b.tabTo("the first node", `e.closest("#graph")`)
	b.press(kb.Enter)
	b.arrives("the node", `document.getElementById("node")`)
	b.clean()
}

func TestTheGalleryIsLookedThroughByKeyboard(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.run(strings.Replace(picture("seen", 0x3366cc), `"batch_size":1`, `"batch_size":2`, 1))
	b := p.open()
	b.visit("/console/gallery")
	b.tabTo("a picture", `e.closest(".gallery") && e.querySelector("img")`)
	opened := eval[string](b, `document.activeElement.closest("li").id`)
	b.press(kb.Enter)
	b.arrives("the picture", `document.querySelector(".large img")`)
	name := eval[string](b, `document.querySelector("h1").innerText`)
	there, back := kb.ArrowRight, kb.ArrowLeft
	if eval[bool](b, `!document.querySelector("a[rel=next]")`) {
		there, back = back, there
	}
	b.press(there)
	b.arrives("the one beside it", `document.querySelector("h1").innerText !== "`+name+`"`)
	b.press(back)
	b.arrives("the first", `document.querySelector("h1").innerText === "`+name+`"`)
	b.press(kb.Escape)
	b.arrives("the gallery", `document.querySelector(".gallery")`)
	require.Equal(t, opened, eval[string](b, `(document.activeElement.closest("li") || {}).id || ""`), "the focus returns")
	b.clean()
}
