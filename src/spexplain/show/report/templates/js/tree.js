// The tree: arrow keys beside what links and disclosures do by themselves.
const treeList = byId("tree-list");

function visibleLines() {
  return every(".line", treeList).filter((line) => line.checkVisibility
    ? line.checkVisibility() && line.getClientRects().length > 0
    : line.getClientRects().length > 0);
}

function openAll(open) {
  for (const each of every("details", treeList)) each.open = open;
}

function onArrow(event) {
  const line = event.target.closest(".line");
  if (!line || event.altKey || event.ctrlKey || event.metaKey) return;
  const item = line.closest("li");
  const details = line.parentElement.tagName === "DETAILS" && !item.classList.contains("is-cut")
    ? line.parentElement : null;
  const lines = visibleLines();
  const at = lines.indexOf(line);
  let next = null;
  switch (event.key) {
    case "ArrowDown": next = lines[at + 1]; break;
    case "ArrowUp": next = lines[at - 1]; break;
    case "Home": next = lines[0]; break;
    case "End": next = lines[lines.length - 1]; break;
    case "ArrowRight":
      if (details && !details.open) details.open = true;
      else if (details) next = lines[at + 1];
      break;
    case "ArrowLeft":
      if (details && details.open) details.open = false;
      else next = item.parentElement.closest("li")?.querySelector(".line");
      break;
    case " ":
      if (line.tagName !== "A") return;
      line.click();
      break;
    default: return;
  }
  event.preventDefault();
  if (next) next.focus();
}

treeList.addEventListener("keydown", onArrow);
byId("expand-all")?.addEventListener("click", () => openAll(true));
byId("collapse-all")?.addEventListener("click", () => openAll(false));
