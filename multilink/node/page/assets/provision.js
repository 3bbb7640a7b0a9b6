// The object that a client attaches with, as a file.

import "./copy.js";

const button = document.getElementById("download");
button.hidden = false;
button.addEventListener("click", () => {
  const link = document.createElement("a");
  link.download = button.dataset.name;
  link.href = URL.createObjectURL(new Blob([document.getElementById("object").value], { type: "application/json" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
