// In the search box a dash in front of a word would exclude the word; here it belongs to an option, such as --goal.
document.addEventListener("input", (event) => {
  const box = event.target
  if (!box.matches(".md-search__input")) return
  const plain = box.value.replace(/(^|\s)-+(?=\w)/g, "$1")
  if (plain !== box.value) box.value = plain
}, true)
