// Comfort only: without this file the page shows the same figures, and the form is sent as any other.
"use strict";

const GIB = 2 ** 30;

function size(bytes) {
  if (Math.abs(bytes) < GIB) return `${Math.round(bytes / 2 ** 20)} MiB`;
  return `${(bytes / GIB).toFixed(Math.abs(bytes / GIB) < 10 ? 2 : 1)} GiB`;
}

// The timeline: a cursor that follows the pointer or the arrow keys, and the figures at that moment in the legend.
for (const figure of document.querySelectorAll("[data-timeline]")) {
  const { categories, samples } = JSON.parse(figure.dataset.timeline);
  const left = Number(figure.dataset.left);
  const right = Number(figure.dataset.right);
  const svg = figure.querySelector(".scroll svg");
  const cursor = svg.querySelector(".cursor");
  const reading = figure.querySelector(".reading");
  const rest = reading.textContent;
  const values = new Map();
  for (const item of figure.querySelectorAll(".legend li")) values.set(item.dataset.css, item.querySelector(".value"));
  const before = new Map([...values].map(([css, value]) => [css, value ? value.textContent : ""]));
  let at = -1;

  function show(index) {
    at = Math.max(0, Math.min(samples.length - 1, index));
    const [, label, reserved, ...live] = samples[at];
    const x = left + (at / Math.max(1, samples.length - 1)) * (right - left);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.setAttribute("visibility", "visible");
    categories.forEach((category, position) => {
      const value = values.get(category.css);
      if (value) value.textContent = size(live[position]);
    });
    const total = live.reduce((sum, part) => sum + part, 0);
    reading.textContent = `${size(total)} live, ${size(reserved)} reserved${label ? `, at ${label}` : ""}.`;
  }

  function hide() {
    at = -1;
    cursor.setAttribute("visibility", "hidden");
    for (const [css, text] of before) if (values.get(css)) values.get(css).textContent = text;
    reading.textContent = rest;
  }

  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    show(Math.round(((x - left) / (right - left)) * (samples.length - 1)));
  });
  svg.addEventListener("pointerleave", hide);
  const scroll = figure.querySelector(".scroll");
  scroll.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show((at < 0 ? 0 : at) + step);
  });
  scroll.addEventListener("blur", hide);

  // Pointing at a name in the legend brings its band forward.
  for (const item of figure.querySelectorAll(".legend li")) {
    item.addEventListener("pointerenter", () => {
      figure.classList.add("picking");
      for (const band of svg.querySelectorAll(".band")) {
        band.classList.toggle("picked", band.classList.contains(`c-${item.dataset.css}`));
      }
    });
    item.addEventListener("pointerleave", () => figure.classList.remove("picking"));
  }
}

// The explorer: each tick asks the engine, and the answer replaces the prediction.
for (const form of document.querySelectorAll("form.explorer")) {
  const outcome = form.querySelector(".outcome");
  const button = form.querySelector("button");
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];
  let latest = 0;
  button.classList.add("unseen");

  async function ask() {
    const mine = ++latest;
    const query = new URLSearchParams(new FormData(form)).toString();
    outcome.classList.add("waiting");
    try {
      const answer = await fetch(`${form.dataset.url}?${query}`, { credentials: "same-origin", redirect: "error" });
      if (mine !== latest) return;
      if (!answer.ok) throw new Error(String(answer.status));
      // Made by our own server, where everything in it is escaped.
      outcome.innerHTML = await answer.text();
      history.replaceState(null, "", `${location.pathname}${query ? `?${query}` : ""}#savings`);
    } catch {
      // The session may be over: the form itself leads through the sign-in.
      if (mine === latest) form.submit();
    } finally {
      if (mine === latest) outcome.classList.remove("waiting");
    }
  }

  form.addEventListener("change", (event) => {
    const box = event.target;
    // Of two changes to one thing only one can be made.
    if (box.checked && box.dataset.group) {
      for (const other of boxes) if (other !== box && other.dataset.group === box.dataset.group) other.checked = false;
    }
    ask();
  });
}
