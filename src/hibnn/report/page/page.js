"use strict";
const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

/* Storage may be forbidden for pages from disk; the page works without. */
const memory = {
  get(kind, name) { try { return window[kind].getItem("hibnn-" + name); } catch { return null; } },
  set(kind, name, value) { try { window[kind].setItem("hibnn-" + name, value); } catch { /* nothing is kept */ } },
};

function startTheme() {
  const root = document.documentElement;
  const kept = memory.get("localStorage", "theme");
  if (kept) root.dataset.theme = kept;
  $("#theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    memory.set("localStorage", "theme", root.dataset.theme);
  });
}

/* Rows by a column's numbers or words; what has no value comes last either way. */
function startSorting() {
  const value = (row, column) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
  const compare = (a, b) => (isNaN(a) || isNaN(b) ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
  for (const button of all(".sort")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const body = head.closest("table").tBodies[0];
      const numeric = body.rows[0].cells[head.cellIndex].dataset.v !== undefined;
      const up = numeric ? head.ariaSort === "descending" : head.ariaSort !== "ascending";
      const rows = [...body.rows].map((row) => [value(row, head.cellIndex), row]);
      rows.sort(([a], [b]) => (a === "") - (b === "") || (up ? compare(a, b) : compare(b, a)));
      body.append(...rows.map(([, row]) => row));
      for (const other of head.parentNode.cells) other.ariaSort = "none";
      head.ariaSort = up ? "ascending" : "descending";
    });
  }
}

function startFilter() {
  const rows = [...$("#all").tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
  $("#filter").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/);
    for (const [row, text] of rows) row.hidden = !words.every((word) => text.includes(word));
    const shown = rows.filter(([row]) => !row.hidden).length;
    $("#shown").textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
  });
}

/* A table that is wider than its box says so, and fades where it goes on. */
function startScrolling() {
  for (const box of all(".scroll")) {
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.textContent = "← scroll the table sideways →";
    hint.hidden = true;
    box.before(hint);
    const look = () => {
      const beyond = box.scrollWidth - box.clientWidth;
      hint.hidden = beyond <= 1;
      box.classList.toggle("more-right", beyond - box.scrollLeft > 1);
      box.classList.toggle("more-left", box.scrollLeft > 1);
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
    look();
  }
}

/* The exact value of whatever is pointed at. */
function startTips() {
  const tip = $("#tip");
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest?.("[data-tip]");
    tip.hidden = !mark;
    if (!mark) return;
    (mark.closest("dialog") ?? document.body).append(tip);
    tip.textContent = mark.dataset.tip;
    const box = mark.getBoundingClientRect();
    const left = box.left + box.width / 2 - tip.offsetWidth / 2;
    tip.style.left = `${Math.max(8, Math.min(left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${box.top > tip.offsetHeight + 12 ? box.top - tip.offsetHeight - 8 : box.bottom + 8}px`;
  });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
}

/* A figure in a dialog, with its values as a list. */
function startEnlarging() {
  const dialog = $("#enlarged");
  const place = $("div", dialog);
  const open = (figure) => {
    const copy = figure.cloneNode(true);
    const list = document.createElement("ul");
    list.className = "exact";
    for (const mark of all("[data-tip]", copy)) {
      const item = document.createElement("li");
      item.textContent = mark.dataset.tip;
      list.append(item);
    }
    place.replaceChildren(copy, list);
    dialog.showModal();
  };
  for (const figure of all(".plot")) {
    $(".enlarge", figure).addEventListener("click", () => open(figure));
    $(".chart", figure).addEventListener("click", () => open(figure));
  }
  $(".close", dialog).addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}

const percent = (value) => (value / 100).toFixed(2);

function cell(kind, text, name = "") {
  const made = document.createElement(kind);
  made.textContent = text;
  made.className = name;
  return made;
}

/* R[i][j] in hundredths of a percent: after task i, on task j. */
function drawMatrix(matrix, now) {
  const lowest = Math.min(...matrix.flatMap((row, i) => row.slice(0, i + 1)).filter((value) => value !== null));
  const floor = Math.min(9000, Math.floor(lowest / 1000) * 1000);
  const head = document.createElement("tr");
  head.append(cell("th", "after ↓ on →"), ...matrix.map((_, j) => cell("th", j + 1)));
  const rows = matrix.map((row, i) => {
    const made = document.createElement("tr");
    made.className = i === now ? "now" : "";
    made.append(cell("th", i + 1), ...row.map((value, j) => {
      const share = Math.max(0, ((value ?? 0) - floor) / (10000 - floor));
      const one = cell("td", value === null ? "–" : percent(value), j > i ? "before" : share > 0.55 ? "strong" : "");
      one.style.setProperty("--share", `${Math.round(8 + 84 * share)}%`);
      return one;
    }));
    return made;
  });
  for (const one of [head, ...rows]) one.cells[0].scope = one === head ? "col" : "row";
  const [top, body] = [document.createElement("thead"), document.createElement("tbody")];
  top.append(head);
  body.append(...rows);
  $("#matrix").replaceChildren(top, body);
}

function drawBars(matrix, now) {
  $("#bars").replaceChildren(...matrix[now].map((value, j) => {
    const bar = cell("div", "", j > now ? "bar before" : "bar");
    const change = value === null || j >= now ? null : value - matrix[j][j];
    const words = value === null ? "not measured" : j > now ? `${percent(value)}, not learned` : percent(value);
    const since = change === null ? "" : ` (${change > 0 ? "+" : change < 0 ? "−" : "±"}${percent(Math.abs(change))})`;
    const [track, fill] = [document.createElement("i"), document.createElement("b")];
    fill.style.setProperty("--width", `${(value ?? 0) / 100}%`);
    track.append(fill);
    bar.append(cell("span", `task ${j + 1}`), track, cell("span", words + since));
    return bar;
  }));
}

function tell(one, now) {
  const seen = one.matrix[now].slice(0, now + 1);
  if (seen.includes(null)) return "A task was not measured here.";
  const mean = seen.reduce((sum, value) => sum + value, 0) / seen.length;
  const lost = seen.map((value, j) => [one.matrix[j][j] - value, j]).sort((a, b) => b[0] - a[0])[0];
  const parts = [now ? `${percent(mean)} % on average over the ${now + 1} tasks so far` : `${percent(mean)} % on the first task`];
  if (lost[0] > 0) parts.push(`task ${lost[1] + 1} has lost most, ${percent(lost[0])} points since it was learned`);
  else if (now) parts.push("no task has lost anything since it was learned");
  if (one.neurons) parts.push(`${Math.round(one.neurons[now])} neurons`);
  return `After task ${now + 1}: ${parts.join("; ")}.`;
}

function startExplorer() {
  if (!$("#matrices")) return;
  const settings = JSON.parse($("#matrices").textContent);
  const [select, slider] = [$("#chosen"), $("#after")];
  for (const place of new Set(settings.map((one) => one.place))) {
    const group = document.createElement("optgroup");
    group.label = place;
    settings.forEach((one, i) => { if (one.place === place) group.append(new Option(`${place}: ${one.name}`, i)); });
    select.append(group);
  }
  const draw = () => {
    const one = settings[select.value];
    const now = slider.value - 1;
    $("#after-number").value = slider.value;
    slider.setAttribute("aria-valuetext", `after task ${slider.value} of ${one.matrix.length}`);
    $("#story").textContent = tell(one, now);
    drawMatrix(one.matrix, now);
    drawBars(one.matrix, now);
    memory.set("sessionStorage", "explorer", `${select.value} ${slider.value}`);
  };
  const choose = (task) => {
    slider.max = settings[select.value].matrix.length;
    slider.value = task ?? slider.max;
    draw();
  };
  const [kept, task] = (memory.get("sessionStorage", "explorer") ?? "").split(" ");
  if (settings[kept]) select.value = kept;
  select.addEventListener("change", () => choose());
  slider.addEventListener("input", draw);
  choose(task);
}

/* A link to a setting opens it; what is open stays so when a live page is loaded anew. */
function startSettings() {
  const follow = () => {
    const target = /^#g\d+$/.test(location.hash) && $(location.hash);
    if (target) { target.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    if (event.target.closest?.('a[href^="#g"]')?.hash === location.hash) follow();
  });
  for (const id of (memory.get("sessionStorage", "open") ?? "").split(" ").filter((word) => /^g\d+$/.test(word))) {
    if ($("#" + id)) $("#" + id).open = true;
  }
  addEventListener("pagehide", () => {
    memory.set("sessionStorage", "open", all(".setting[open]").map((one) => one.id).join(" "));
  });
  follow();
}

function startContents() {
  const links = new Map(all(".contents a").map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "location");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const section of all("main > section")) watcher.observe(section);
}

/* A served page asks for the version of the newest one, and loads it unless somebody looks at an enlarged figure. */
function startLive() {
  const version = document.documentElement.dataset.live;
  if (!version) return;
  setInterval(async () => {
    try {
      const newest = await (await fetch("version", { cache: "no-store" })).text();
      if (newest !== version && !$("#enlarged").open) location.reload();
    } catch { $(".live").lastChild.textContent = "the server has ended"; }
  }, 2000);
}

for (const start of [startTheme, startSorting, startFilter, startScrolling, startTips, startEnlarging, startExplorer, startSettings, startContents, startLive]) start();
