// Fetches the next page of the gallery when the end of this one comes into sight. Without it, the link does.
(function () {
  "use strict";
  var list = document.querySelector(".gallery"), more = document.querySelector(".more a"), here;
  if (!list) return;
  // Who comes back from a picture goes on where they were: the page that shows it large knows the address.
  here = location.pathname + location.search;
  list.addEventListener("click", function (e) {
    var link = e.target.closest("a[id]");
    try { if (link) sessionStorage.setItem("gallery", (link.closest("li").dataset.page || here) + "#" + link.id); } catch (e) { /* the browser keeps nothing */ }
  });
  if (!more || !window.IntersectionObserver) return;
  var busy = false, watch = new IntersectionObserver(function (seen) {
    if (busy || !seen.some(function (s) { return s.isIntersecting; })) return;
    busy = true;
    fetch(more.href, { credentials: "same-origin" }).then(function (r) {
      if (!r.ok) throw new Error(String(r.status));
      return r.text();
    }).then(function (html) {
      var fresh = document.createElement("template");
      fresh.innerHTML = html.slice(html.indexOf("<main"), html.lastIndexOf("</main>")); // the style of that page is not to be applied here
      var next = fresh.content, link = next.querySelector(".more a");
      next.querySelectorAll(".gallery > li").forEach(function (li) { li.dataset.page = more.pathname + more.search; if (!document.getElementById(li.id)) list.appendChild(document.importNode(li, true)); });
      if (!link) { watch.disconnect(); more.parentNode.remove(); return; }
      more.href = link.href;
      busy = false;
      watch.unobserve(more); watch.observe(more); // look again: the new end may be in sight
    }).catch(function () { watch.disconnect(); }); // the link stays
  }, { rootMargin: "600px" });
  watch.observe(more);
})();
