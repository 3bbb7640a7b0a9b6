// Shows the settings of the brokers that are chosen.

function choose(topic) {
  const select = document.getElementById(`${topic}Broker`);
  const show = () => {
    for (const fields of document.querySelectorAll(`[data-topic="${topic}"]`)) fields.hidden = fields.dataset.kind !== select.value;
  };
  select.addEventListener("change", show);
  show();
}

choose("input");
choose("output");
document.querySelector('[aria-invalid="true"]')?.focus();
