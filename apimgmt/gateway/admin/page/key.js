// Copies a new key.

import { report, toast } from "./shell.js";

const button = document.getElementById("copy");

if (navigator.clipboard) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(document.getElementById("key").textContent);
      toast("Copied.");
    } catch (error) {
      report(error);
    }
  });
}
