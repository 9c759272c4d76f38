// The page as a whole: theme, print, and what only makes sense with a script.
for (const each of every(".needs-script")) each.hidden = false;

const darkScheme = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (darkScheme.matches ? "dark" : "light")) === "dark";

function showTheme() {
  byId("theme").textContent = isDark() ? "Light theme" : "Dark theme";
}

byId("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});
darkScheme.addEventListener("change", showTheme);
showTheme();

// Paper cannot be unfolded: everything is, for as long as it takes.
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = every("details:not([open])");
  for (const each of folded) each.open = true;
});
window.addEventListener("afterprint", () => {
  for (const each of folded) each.open = false;
});
