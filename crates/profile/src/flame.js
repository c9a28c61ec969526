const full = 1200, frames = [...document.querySelectorAll("g[data-x]")].map((group) => ({
  group, rect: group.querySelector("rect"), text: group.querySelector("text"),
  name: group.dataset.n, x: +group.dataset.x, w: +group.dataset.w, depth: +group.dataset.d,
}));
const near = 0.02;
const isWithin = (a, b) => a.depth >= b.depth && a.x > b.x - near && a.x + a.w < b.x + b.w + near;
function zoom(to) {
  for (const frame of frames) {
    const isParent = isWithin(to, frame) && frame !== to, isShown = isParent || isWithin(frame, to);
    frame.group.style.display = isShown ? "" : "none";
    const x = isParent ? 0 : ((frame.x - to.x) * full) / to.w;
    const w = isParent ? full : (frame.w * full) / to.w;
    const most = Math.max(0, Math.floor((w - 6) / 6.6));
    frame.rect.setAttribute("x", x);
    frame.rect.setAttribute("width", w);
    frame.text.setAttribute("x", x + 3);
    frame.text.textContent = frame.name.length <= most ? frame.name
      : most < 3 ? "" : frame.name.slice(0, most - 2) + "..";
  }
}
for (const frame of frames) frame.group.addEventListener("click", () => zoom(frame));
