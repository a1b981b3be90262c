// Zooms and moves the drawing of a graph, and shows a state as soon as its event is chosen. The page works without it.
(function () {
  "use strict";
  var svg = null, whole = null, box = null;

  function set(next) { box = next; svg.setAttribute("viewBox", [box.x, box.y, box.w, box.h].join(" ")); }

  function zoom(by, cx, cy) {
    var w = Math.min(whole.w * 1.2, Math.max(120, box.w / by)), h = box.h * w / box.w;
    set({ x: cx - (cx - box.x) * w / box.w, y: cy - (cy - box.y) * h / box.h, w: w, h: h });
  }

  function point(e) {
    var r = svg.getBoundingClientRect(), scale = Math.max(box.w / r.width, box.h / r.height);
    return { x: box.x + (e.clientX - r.left - (r.width - box.w / scale) / 2) * scale, y: box.y + (e.clientY - r.top) * scale };
  }

  function begin() {
    var next = document.getElementById("graph"), parts, drag = null;
    if (!next) return;
    if (next === svg) { ready(); set(box); return; } // new content took away what was set
    svg = next;
    parts = svg.getAttribute("viewBox").split(" ").map(Number);
    whole = { x: parts[0], y: parts[1], w: parts[2], h: parts[3] };
    box = whole;
    ready();
    svg.addEventListener("wheel", function (e) {
      if (!e.ctrlKey && !e.metaKey) return; // else the page scrolls
      e.preventDefault();
      var p = point(e);
      zoom(e.deltaY < 0 ? 1.2 : 1 / 1.2, p.x, p.y);
    }, { passive: false });
    svg.addEventListener("pointerdown", function (e) { drag = point(e); svg.setPointerCapture(e.pointerId); });
    svg.addEventListener("pointermove", function (e) {
      if (!drag) return;
      var p = point(e);
      set({ x: box.x + drag.x - p.x, y: box.y + drag.y - p.y, w: box.w, h: box.h });
    });
    svg.addEventListener("pointerup", function () { drag = null; });
  }

  function ready() {
    svg.setAttribute("height", Math.round(Math.min(600, svg.clientWidth * whole.h / whole.w)));
    document.querySelectorAll("[data-zoom]").forEach(function (button) {
      button.hidden = false;
      button.onclick = function () {
        if (button.dataset.zoom === "fit") set(whole);
        else zoom(button.dataset.zoom === "in" ? 1.4 : 1 / 1.4, box.x + box.w / 2, box.y + box.h / 2);
      };
    });
  }

  function slide() {
    var range = document.getElementById("at");
    if (!range || range.dataset.ready) return;
    range.dataset.ready = "1";
    range.addEventListener("input", function () { range.form.querySelector("output").textContent = range.value; });
    range.addEventListener("change", function () { range.form.submit(); });
  }

  begin(); slide();
  document.addEventListener("content", function () { begin(); slide(); });
})();
