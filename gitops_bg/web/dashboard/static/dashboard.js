// Keeps times going, and gives the keys of the list. Every page works without it; nothing here acts.
(() => {
  const sizes = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
  // As `views.words.spoken` does it: in the two largest units.
  const spoken = (seconds) => {
    let left = Math.max(0, Math.floor(seconds));
    const first = left < 60 ? 3 : sizes.findIndex(([, size]) => left >= size);
    let text = "";
    for (const [unit, size] of sizes.slice(first, first + 2)) {
      const count = Math.floor(left / size);
      left %= size;
      text += count || left === 0 && !text ? count + unit : "";
    }
    return text;
  };
  const words = {
    ago: (s) => (s < 5 ? "just now" : `${spoken(s)} ago`),
    for: spoken,
    left: (s) => (s < 0 ? `${spoken(-s)} left` : "any moment now"),
  };
  setInterval(() => {
    for (const each of document.querySelectorAll("time.ago, time.for, time.left")) {
      const text = words[each.className]((Date.now() - Date.parse(each.dateTime)) / 1000);
      if (each.textContent !== text) each.textContent = text;
    }
  }, 1000);

  const keys = document.getElementById("keys");
  const step = (by) => {
    const links = [...document.querySelectorAll(".apps tbody th a")];
    const at = links.indexOf(document.activeElement);
    if (links.length) links[Math.min(links.length - 1, Math.max(0, at < 0 ? 0 : at + by))].focus();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, textarea, select, dialog")) return;
    const search = document.getElementById("search");
    const does = {"/": search && (() => search.focus()), "?": () => keys.showModal(), ArrowDown: () => step(1), ArrowUp: () => step(-1)}[event.key];
    if (!does || (event.key.startsWith("Arrow") && !document.querySelector(".apps"))) return;
    event.preventDefault();
    does();
  });
})();
