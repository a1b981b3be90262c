// Prices the inputs of a model's form as they change, and copies programs. The page works without it.
(function () {
  "use strict";
  var form = document.getElementById("model"), wait = 0, asked = 0;
  if (!form) return;

  function copies() {
    if (!navigator.clipboard) return;
    document.querySelectorAll(".copy").forEach(function (button) {
      button.hidden = false;
      button.onclick = function () {
        navigator.clipboard.writeText(button.nextElementSibling.textContent).then(function () { button.textContent = "Copied"; }, function () { button.textContent = "Not allowed"; });
      };
    });
  }

  // content is what stands in a page: its style is not to be applied here.
  function content(html) {
    var fresh = document.createElement("template");
    fresh.innerHTML = html.slice(html.indexOf("<main"), html.lastIndexOf("</main>"));
    return fresh.content;
  }

  // texts are the values without the files, which only running needs.
  function texts() {
    var sent = new URLSearchParams();
    new FormData(form).forEach(function (value, name) { if (typeof value === "string") sent.append(name, value); });
    return sent;
  }

  function price() {
    var number = ++asked;
    fetch(form.action, { method: "POST", body: texts(), credentials: "same-origin" }).then(function (r) {
      if (!r.ok) throw new Error(String(r.status));
      return r.text();
    }).then(function (html) {
      if (number !== asked) return; // of inputs that have changed since
      var next = content(html), now = document.querySelectorAll("#code pre"), then = next.querySelectorAll("#code pre");
      document.getElementById("price").replaceWith(document.importNode(next.querySelector("#price"), true));
      if (now.length === then.length) now.forEach(function (pre, i) { pre.textContent = then[i].textContent; }); // the chosen language stays
      else document.getElementById("code").replaceWith(document.importNode(next.querySelector("#code"), true));
      var wrong = next.querySelector(".failure");
      if (wrong) document.getElementById("price").textContent = wrong.textContent;
      copies();
    }).catch(function () {}); // the button does it, and says what is wrong
  }

  form.addEventListener("input", function () { clearTimeout(wait); wait = setTimeout(price, 400); });
  copies();
})();
