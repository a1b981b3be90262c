// Arrow keys lead to the pictures beside this one, Escape back to where it was opened. Without it, the links do.
(function () {
  "use strict";
  var back = document.getElementById("back"), from = null;
  try { from = sessionStorage.getItem("gallery"); } catch (e) { /* the browser keeps nothing */ }
  if (back && from && from.indexOf(back.pathname) === 0) back.href = from;
  document.addEventListener("keydown", function (e) {
    var link = { ArrowLeft: document.querySelector("a[rel=prev]"), ArrowRight: document.querySelector("a[rel=next]"), Escape: back }[e.key];
    if (!link || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("video, audio, input, textarea, select, .scroll")) return;
    e.preventDefault();
    link.click();
  });
})();
