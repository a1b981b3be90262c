// Draws the charts of a page from their tables, which stay for those who want them. The page works without it.
(function () {
  "use strict";
  var drawn = {};

  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

  function draw() {
    if (!window.uPlot) return;
    document.querySelectorAll(".chart").forEach(function (figure) {
      var details = figure.querySelector("details"), plot = figure.querySelector(".plot"), raw = details.dataset.series, width = plot.clientWidth;
      if (drawn[figure.id] && drawn[figure.id].raw === raw && drawn[figure.id].width === width) return;
      var data = JSON.parse(raw);
      if (!drawn[figure.id]) details.open = false; else drawn[figure.id].chart.destroy();
      var colours = ["--accent", "--good", "--bad"].map(colour), ink = colour("--faint"), line = colour("--line");
      var labels = Array.prototype.map.call(figure.querySelectorAll("thead th"), function (th) { return th.textContent; }).slice(1);
      var series = [{}];
      for (var i = 1; i < data.length; i++) series.push({ label: labels[i - 1] || String(i), stroke: colours[i - 1], width: 2, points: { show: data[0].length < 40 } });
      var axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
      drawn[figure.id] = { raw: raw, width: width, chart: new uPlot({
        width: width, height: 200, series: series, axes: [axis, axis], cursor: { drag: { x: false, y: false } }, scales: { y: { range: function (u, min, max) { return [0, Math.max(max, 1) * 1.1]; } } }
      }, data, plot) };
    });
  }

  function again() { drawn = {}; document.querySelectorAll(".plot").forEach(function (p) { p.textContent = ""; }); draw(); }

  draw();
  document.addEventListener("content", draw);
  window.addEventListener("resize", draw);
  if (window.matchMedia) matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
})();
