// Keeps an open page up to date: the service sends its content whenever that has changed. Shows times as the reader's
// own. The page works without it.
(function () {
  "use strict";
  var main = document.getElementById("main"), stream = null, again = 0, seen = new Date(), explained = false;

  // key is the id of a node; an input called "id" takes the place of the property of its form.
  function key(node) { return node.nodeType === 1 && node.getAttribute("id") || ""; }

  // morph makes from equal to to and keeps what the reader did: focus, open details, typed text, scroll.
  function morph(from, to) {
    if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName || key(from) !== key(to)) { from.replaceWith(to); return; }
    if (from.nodeType !== 1) { if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue; return; }
    if (from.hasAttribute("data-own")) return;
    var i, name, own = from.attributes, next = to.attributes;
    for (i = own.length - 1; i >= 0; i--) {
      name = own[i].name;
      if (!to.hasAttribute(name) && name !== "open" && name !== "title") from.removeAttribute(name);
    }
    for (i = 0; i < next.length; i++) {
      if (next[i].name !== "open" && from.getAttribute(next[i].name) !== next[i].value) from.setAttribute(next[i].name, next[i].value);
    }
    children(from, to);
  }

  function children(from, to) {
    var known = {}, at, child, next, same;
    for (child = from.firstElementChild; child; child = child.nextElementSibling) if (key(child)) known[key(child)] = child;
    at = from.firstChild;
    for (child = to.firstChild; child; child = next) {
      next = child.nextSibling;
      same = key(child) && known[key(child)];
      if (same && same !== at) { from.insertBefore(same, at); at = same; }
      if (!at) { from.appendChild(child); continue; }
      if (!same && (key(child) || key(at))) { from.insertBefore(child, at); continue; } // at is another, or comes later
      same = at.nextSibling;
      morph(at, child);
      at = same;
    }
    while (at) { same = at.nextSibling; at.remove(); at = same; }
  }

  var units = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  var words = window.Intl && Intl.RelativeTimeFormat ? new Intl.RelativeTimeFormat("en", { numeric: "auto" }) : null;

  function ago(at) {
    var seconds = (at - Date.now()) / 1000, i;
    for (i = 0; i < units.length; i++) {
      if (Math.abs(seconds) >= units[i][1] || i === units.length - 1) return words.format(Math.round(seconds / units[i][1]), units[i][0]);
    }
  }

  function span(ms) {
    var s = Math.max(0, Math.floor(ms / 1000));
    return s < 60 ? s + " s" : s < 3600 ? Math.floor(s / 60) + "m" + String(s % 60).padStart(2, "0") + "s" : Math.floor(s / 3600) + "h" + String(Math.floor(s / 60) % 60).padStart(2, "0") + "m";
  }

  function put(node, text) { if (node.textContent !== text) node.textContent = text; }

  function times() {
    main.querySelectorAll("time[datetime]").forEach(function (node) {
      var at = new Date(node.dateTime);
      if (isNaN(at)) return;
      if (node.dataset.as === "since") { put(node, span(Date.now() - at)); return; }
      if (node.dataset.as === "clock") { put(node, at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" })); }
      else if (words) put(node, ago(at));
      node.title = at.toLocaleString() + " (" + at.toISOString() + ")";
    });
  }

  function show(html) {
    var fresh = document.createElement("template");
    fresh.innerHTML = "<main id=main>" + html + "</main>";
    children(main, fresh.content.firstChild);
    times();
    document.dispatchEvent(new CustomEvent("content"));
  }

  // away says why the page does not change any more, or nothing when it does again.
  function away(why) {
    var place = document.getElementById("away");
    main.dataset.state = why ? "away" : "live";
    if (!why) { place.hidden = true; place.textContent = ""; return; }
    if (!place.hidden && place.dataset.why === why) return;
    place.dataset.why = why;
    place.textContent = why + " This page shows what was so at " + seen.toLocaleTimeString() + ", and goes on by itself.";
    place.hidden = false;
  }

  function open() {
    if (stream || document.hidden || !window.EventSource) return;
    stream = new EventSource(location.pathname + location.search);
    stream.addEventListener("content", function (e) { again = 0; seen = new Date(); away(""); show(e.data); });
    stream.addEventListener("away", function (e) { again = 0; explained = true; away(e.data); });
    stream.addEventListener("same", function () { again = 0; seen = new Date(); away(""); });
    stream.onerror = function () {
      if (!explained) away("The service does not answer.");
      explained = false;
      if (!stream || stream.readyState !== EventSource.CLOSED) return; // the browser comes back by itself
      close();
      again = Math.min(again + 1, 6);
      setTimeout(open, 1000 * Math.pow(2, again));
    };
  }

  function close() { if (stream) { stream.close(); stream = null; } }

  // Buttons that copy a text are shown only where the browser can copy.
  function copies() {
    if (!navigator.clipboard) return;
    main.querySelectorAll("button[data-copy]").forEach(function (b) {
      b.hidden = false;
      b.onclick = function () { navigator.clipboard.writeText(b.dataset.copy).then(function () { var said = b.textContent; b.textContent = "Copied"; setTimeout(function () { b.textContent = said; }, 1500); }); };
    });
  }

  times();
  copies();
  document.addEventListener("content", copies);
  setInterval(times, 1000);
  if (main.dataset.live) {
    open();
    // Browsers open few connections to one host: a page that nobody sees needs none.
    document.addEventListener("visibilitychange", function () { if (document.hidden) close(); else open(); });
    window.addEventListener("pagehide", close);
    window.addEventListener("pageshow", open);
  }
})();
