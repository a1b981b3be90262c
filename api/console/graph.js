// Zooms and moves the drawing of a graph, and shows a state as soon as its event is chosen. The page works without it.
(function () {
  "use strict";
  var svg = null, whole = null, box = null, soon = 0;

  function set(next) { box = next; svg.setAttribute("viewBox", [box.x, box.y, box.w, box.h].join(" ")); map(); }

  // map draws the whole graph small, with what is seen of it, while that is not all.
  function map() {
    var mini = document.getElementById("minimap"), name = "http://www.w3.org/2000/svg", view;
    if (!mini) return;
    mini.textContent = "";
    if (box.w >= whole.w && box.h >= whole.h) return;
    mini.setAttribute("viewBox", [whole.x, whole.y, whole.w, whole.h].join(" "));
    svg.querySelectorAll("g[transform]").forEach(function (g) {
      var copy = g.cloneNode(false);
      copy.appendChild(g.querySelector("rect").cloneNode(false));
      mini.appendChild(copy);
    });
    view = document.createElementNS(name, "rect");
    view.setAttribute("class", "view");
    [["x", box.x], ["y", box.y], ["width", box.w], ["height", box.h]].forEach(function (a) { view.setAttribute(a[0], a[1]); });
    mini.appendChild(view);
    mini.onpointerdown = mini.onpointermove = function (e) {
      if (e.type === "pointermove" && !e.buttons) return;
      var r = mini.getBoundingClientRect(), scale = Math.max(whole.w / r.width, whole.h / r.height);
      set({ x: whole.x + whole.w / 2 + (e.clientX - r.left - r.width / 2) * scale - box.w / 2, y: whole.y + whole.h / 2 + (e.clientY - r.top - r.height / 2) * scale - box.h / 2, w: box.w, h: box.h });
    };
  }

  function zoom(by, cx, cy) {
    var w = Math.min(whole.w * 1.2, Math.max(120, box.w / by)), h = box.h * w / box.w;
    set({ x: cx - (cx - box.x) * w / box.w, y: cy - (cy - box.y) * h / box.h, w: w, h: h });
  }

  function point(e) {
    var r = svg.getBoundingClientRect(), scale = Math.max(box.w / r.width, box.h / r.height);
    return { x: box.x + (e.clientX - r.left - (r.width - box.w / scale) / 2) * scale, y: box.y + (e.clientY - r.top) * scale };
  }

  function begin() {
    var next = document.getElementById("graph"), parts, drag = null, start = null, moved = false;
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
    svg.addEventListener("pointerdown", function (e) { drag = point(e); start = e; moved = false; });
    svg.addEventListener("click", function (e) { if (moved) e.preventDefault(); }); // what was dragged is not followed
    svg.addEventListener("dragstart", function (e) { e.preventDefault(); });
    svg.addEventListener("pointermove", function (e) {
      if (!drag || !e.buttons) return;
      if (!moved && Math.abs(e.clientX - start.clientX) + Math.abs(e.clientY - start.clientY) < 5) return;
      if (!moved) svg.setPointerCapture(e.pointerId);
      moved = true;
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
    if (!range) return;
    range.form.querySelector("button").hidden = true; // the slider shows what it is moved to
    if (range.dataset.ready) return;
    range.dataset.ready = "1";
    range.addEventListener("input", function () { range.form.querySelector("output").textContent = range.value; });
    range.addEventListener("change", function () { // each press of an arrow key is one
      clearTimeout(soon);
      soon = setTimeout(function () { remember("slider", "1"); range.form.submit(); }, 250);
    });
    if (remember("slider")) { remember("slider", ""); range.focus(); } // the reader moves it on
  }

  // remember keeps a word for the page that comes next in this tab, and returns it where none is given.
  function remember(name, word) {
    try {
      if (word === undefined) return sessionStorage.getItem(name);
      if (word) sessionStorage.setItem(name, word); else sessionStorage.removeItem(name);
    } catch (e) { return null; } // the browser keeps nothing
  }

  begin(); slide();
  document.addEventListener("content", function () { begin(); slide(); });
})();
