(function () {
  var main = document.getElementById("main");
  function again() { setTimeout(look, document.hidden ? 10000 : 1000); }
  function look() {
    fetch(location.pathname + location.search, { credentials: "same-origin" }).then(function (answer) {
      if (!answer.ok) throw new Error(String(answer.status));
      return answer.text();
    }).then(function (text) {
      var fresh = new DOMParser().parseFromString(text, "text/html").getElementById("main");
      var scroll = main.querySelector(".scroll") ? main.querySelector(".scroll").scrollLeft : 0;
      if (fresh.innerHTML !== main.innerHTML) main.innerHTML = fresh.innerHTML;
      if (main.querySelector(".scroll")) main.querySelector(".scroll").scrollLeft = scroll;
      if (fresh.dataset.live) again();
    }).catch(again);
  }
  again();
})();
