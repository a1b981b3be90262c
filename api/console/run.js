// A file that is dropped anywhere on the page is chosen, and the form is sent. Without it, the file is chosen by hand.
(function () {
  "use strict";
  var input = document.querySelector("input[type=file]");
  if (!input || !window.DataTransfer) return;
  document.addEventListener("dragover", function (e) { e.preventDefault(); });
  document.addEventListener("drop", function (e) {
    e.preventDefault();
    if (!e.dataTransfer.files.length) return;
    input.files = e.dataTransfer.files;
    input.form.requestSubmit(input.closest("fieldset").querySelector("button[formaction]"));
  });
})();
