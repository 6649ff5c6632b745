"use strict";
// Tables with search, sorting, pages and a download. Names are set as text, never as markup.

/** Makes an element with attributes and children; a child that is a string becomes text. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** Saves a text or a picture as a file. */
function save(name, href) {
  const link = element("a", { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

/** A number with four significant digits; a dash if it is not defined. */
function shown(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const text = size === 0 ? "0" : size < 1e-4 || size >= 1e6 ? value.toExponential(2)
    : size < 1e4 ? value.toPrecision(4) : value.toFixed(0);
  return text.replace("-", "−");
}

/** A cell of a CSV file. A text that a spreadsheet would compute gets an apostrophe. */
function csvCell(value) {
  if (typeof value === "number") return String(value);
  if (value === null || value === undefined) return "";
  const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/**
 * A table of rows 0, 1, … of `columns`: {title, value(row), text} with the name of the row first.
 * Options: noun, pageSize, isMarked(row), selection {has(row), toggle(row)}, hover(row, isOver).
 */
class RowTable {
  constructor(host, nRows, columns, options) {
    Object.assign(this, { host, nRows, columns, options, query: "", page: 0, only: "all" });
    this.sortColumn = options.sortColumn || 0;
    this.descending = Boolean(options.descending);
    this.build();
    this.draw();
  }

  build() {
    const { noun, selection } = this.options;
    this.search = element("input", { type: "search", autocomplete: "off", spellcheck: "false", oninput: () => {
      this.query = this.search.value.toLowerCase();
      this.page = 0;
      this.draw();
    } });
    const tools = element("div", { class: "controls tools" }, element("label", {}, `Search ${noun}s`, this.search));
    if (selection) {
      this.filter = element("select", { onchange: () => { this.only = this.filter.value; this.page = 0; this.draw(); } },
        element("option", { value: "all" }, "all"), element("option", { value: "marked" }, "beyond a limit"),
        element("option", { value: "selected" }, "selected"));
      tools.append(element("label", {}, "Show", this.filter));
    }
    tools.append(element("button", { type: "button", onclick: () => this.download() }, "Download CSV"));
    this.caption = element("caption");
    this.head = element("thead");
    this.body = element("tbody");
    const scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${this.host.dataset.caption}` },
      element("table", {}, this.caption, this.head, this.body));
    this.back = element("button", { type: "button", onclick: () => { this.page -= 1; this.draw(); } }, "Previous");
    this.next = element("button", { type: "button", onclick: () => { this.page += 1; this.draw(); } }, "Next");
    // The number of rows is read out after a search; the caption of a table is not.
    this.found = element("p", { class: "found", role: "status" });
    tools.append(this.found);
    this.host.replaceChildren(tools, scroll, element("div", { class: "controls pages" }, this.back, this.next));
  }

  /** The rows that the search and the filter leave, sorted; rows without a number come last. */
  rows() {
    const { selection, isMarked } = this.options;
    const name = this.columns[0].value;
    const found = [];
    for (let row = 0; row < this.nRows; row++) {
      if (this.query && !name(row).toLowerCase().includes(this.query)) continue;
      if (this.only === "marked" && !isMarked(row)) continue;
      if (this.only === "selected" && !selection.has(row)) continue;
      found.push(row);
    }
    const { value, text } = this.columns[this.sortColumn];
    const sign = this.descending ? -1 : 1;
    const compare = text
      ? (a, b) => sign * value(a).localeCompare(value(b), "en", { numeric: true })
      : (a, b) => {
        const [x, y] = [value(a), value(b)];
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * (x - y);
      };
    return found.sort((a, b) => compare(a, b) || a - b);
  }

  draw() {
    const rows = this.rows();
    const size = this.options.pageSize || 25;
    const pages = Math.max(1, Math.ceil(rows.length / size));
    this.page = Math.min(Math.max(0, this.page), pages - 1);
    const here = rows.slice(this.page * size, (this.page + 1) * size);
    const noun = this.options.noun;
    const range = here.length ? `${this.page * size + 1} to ${this.page * size + here.length} of ` : "";
    this.caption.textContent = `${this.host.dataset.caption}: ${range}${rows.length}` +
      (rows.length < this.nRows ? ` found among ${this.nRows} ${noun}s` : "");
    const found = rows.length < this.nRows ? `${rows.length} of ${this.nRows} ${noun}s found.` : "";
    if (this.found.textContent !== found) this.found.textContent = found;
    // A row that has the focus keeps it, as does the way between pages.
    const focused = document.activeElement && document.activeElement.dataset.row;
    const turning = [this.back, this.next].includes(document.activeElement);
    this.drawHead();
    this.body.replaceChildren(...here.map((row) => this.line(row)));
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page === pages - 1;
    const again = focused !== undefined && this.body.querySelector(`input[data-row="${focused}"]`);
    if (again) again.focus();
    else if (turning) (this.next.disabled ? this.back : this.next).focus();
  }

  drawHead() {
    const cells = this.columns.map((column, at) => {
      const sort = at !== this.sortColumn ? "none" : this.descending ? "descending" : "ascending";
      const sorted = () => {
        this.descending = at === this.sortColumn ? !this.descending : !column.text;
        this.sortColumn = at;
        this.page = 0;
        this.draw();
        this.head.querySelectorAll("button")[at].focus();
      };
      return element("th", { scope: "col", class: column.text ? null : "number", "aria-sort": sort },
        element("button", { type: "button", onclick: sorted }, column.title));
    });
    if (this.options.selection) cells.unshift(element("th", { scope: "col" }, element("span", { class: "unseen" }, "Selected")));
    this.head.replaceChildren(element("tr", {}, ...cells));
  }

  line(row) {
    const { selection, isMarked } = this.options;
    const [name, ...numbers] = this.columns;
    const cells = [element("th", { scope: "row" }, name.value(row)),
      ...numbers.map((column) => element("td", { class: "number" }, shown(column.value(row))))];
    const names = [];
    if (isMarked && isMarked(row)) names.push("beyond");
    if (selection) {
      const box = element("input", { type: "checkbox", "aria-label": `Select ${name.value(row)}`, "data-row": String(row),
        onchange: () => selection.toggle(row) });
      box.checked = selection.has(row);
      if (box.checked) names.push("is-selected");
      cells.unshift(element("td", {}, box));
    }
    const hover = this.options.hover || (() => {});
    return element("tr", { class: names.join(" ") || null, onmouseenter: () => hover(row, true), onmouseleave: () => hover(row, false) },
      ...cells);
  }

  download() {
    const lines = [this.columns.map((column) => csvCell(column.title)).join(",")];
    for (const row of this.rows()) lines.push(this.columns.map((column) => csvCell(column.value(row))).join(","));
    const file = new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" });
    const href = URL.createObjectURL(file);
    save(`${this.options.noun}s.csv`, href);
    setTimeout(() => URL.revokeObjectURL(href), 10000);
  }
}
