// Clusters can be renamed in the page; a copy of the page keeps the names.
// Names stand in elements of their own, also within sentences and titles: nothing else is changed.
function renameCluster(before, after) {
  for (const each of every(".stands bdi, [data-cluster-name]")) {
    if (each.textContent.trim() === before) each.textContent = after;
  }
  for (const each of every("option[data-stands]")) {
    if (each.dataset.stands !== before) continue;
    each.dataset.stands = after;
    each.textContent = `${each.dataset.text} (${after})`;
  }
  for (const each of [...data.nodes, ...data.leaves]) if (each.label === before) each.label = after;
  for (const each of every("[data-rename]")) {
    if (each.dataset.rename === before) {
      each.dataset.rename = after;
      each.setAttribute("aria-label", `Rename ${after}`);
    }
  }
}

function namesInUse() {
  return every("[data-rename]").map((each) => each.dataset.rename);
}

for (const button of every("[data-rename]")) {
  button.addEventListener("click", () => {
    const before = button.dataset.rename;
    const field = element("input", "rename-field");
    field.value = before;
    field.maxLength = 60;
    field.setAttribute("aria-label", `New name of ${before}`);
    let isDone = false; // taking the field away blurs it
    const done = (keep) => {
      if (isDone) return;
      isDone = true;
      const after = field.value.replace(/\s+/g, " ").trim();
      field.remove();
      button.hidden = false;
      button.focus();
      if (keep && after && after !== before && !namesInUse().includes(after)) renameCluster(before, after);
    };
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault(); // or it would press the button again
      done(event.key === "Enter");
    });
    field.addEventListener("blur", () => done(true));
    button.hidden = true;
    button.after(field);
    field.select();
  });
}

// The page as a file: as it was opened, but with the names of now.
function savedPage() {
  const copy = document.documentElement.cloneNode(true);
  for (const each of copy.querySelectorAll(".needs-script")) each.hidden = true;
  for (const each of copy.querySelectorAll("[data-rename]")) each.hidden = false;
  for (const each of copy.querySelectorAll(".rename-field, .made-by-script")) each.remove();
  copy.querySelector("#selection").replaceChildren();
  copy.querySelector("#selection").hidden = true;
  const json = JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const marker = "spexplain-data";
  copy.querySelector("#report-data").replaceChildren(document.createTextNode(marker));
  return `<!DOCTYPE html>\n${copy.outerHTML}`.replace(marker, () => json);
}

const saveNames = byId("save-names");
if (saveNames) {
  saveNames.addEventListener("click", () => {
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([savedPage()], { type: "text/html" }));
    link.download = `${document.title.replace(/[^\p{L}\p{N} _-]/gu, "").trim() || "report"}.html`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
}
