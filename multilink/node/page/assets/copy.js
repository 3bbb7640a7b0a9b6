// Buttons with data-copy copy the text of the element that they name.

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const from = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(from.value ?? from.textContent);
    } catch { // a page without TLS has no clipboard; this is the way of before
      if (from.select) from.select();
      else getSelection().selectAllChildren(from);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
