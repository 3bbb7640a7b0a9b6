// The page of an instance, kept up to date by its stream of events.

import { ask, confirmed, copying, element, submitted, tell } from "./api.js";
import * as charts from "./charts.js";
import * as links from "./links.js";

const server = document.body.dataset.role === "server";
const clients = server ? await import("./clients.js") : undefined;
const live = document.getElementById("live");
const kept = 25; // events that are shown

copying();

submitted(document.getElementById("add-link"), async (data) => {
  const made = await ask("POST", "interfaces/add", {
    name: data.get("name").trim(),
    interface: data.get("interface").trim(),
    kind: data.get("kind"),
    ...(server ? { endpoint: data.get("endpoint").trim() } : {}),
    metered: data.get("metered") !== null,
    probe: { interval_ms: Number(data.get("interval")) }, // 0 is the default
  });
  document.getElementById("add-link").reset();
  tell(`Added link ${made.name}`);
});

submitted(document.getElementById("bond"), async (data) => {
  const made = await ask("PATCH", "bond", { policy: data.get("policy"), replay: data.get("replay") !== null, wait_to_restore_ms: Number(data.get("wait")) });
  tell(`The policy is ${made.policy}`);
});

submitted(document.getElementById("switch"), async (data, button) => {
  const early = button?.name === "end";
  if (!early && !data.get("link")) throw new Error("there is no link to switch to");
  await ask("POST", "bond/switch", early ? { link: "" } : { link: data.get("link"), hold_s: Number(data.get("hold")) });
  tell(early ? "The switch by hand has ended" : `Switched to ${data.get("link")}`);
});

submitted(document.getElementById("attach"), async (data) => {
  let object;
  try {
    object = JSON.parse(data.get("object"));
  } catch (error) {
    throw new Error(`What the server answered is no JSON: ${error.message}`);
  }
  await ask("POST", "tunnel/attach", { ...object, server: data.get("server").trim() });
  document.getElementById("attach").reset(); // it had secrets
  tell("Attached");
});

document.getElementById("detach")?.addEventListener("click", async () => {
  if (!await confirmed("Detach?", "This client leaves its server and forgets the keys.")) return;
  await ask("DELETE", "tunnel/attach").catch((error) => { document.getElementById("trouble").textContent = error.message; });
});

function showAttachment(status) {
  const a = status.attachment;
  const peer = a?.peer;
  const how = peer?.connected ? `connected by ${peer.active_link || "no link"}` : "not connected";
  const words = a ? `Attached to ${a.server} as ${a.name}: ${how}` : "Not attached";
  const place = document.getElementById("attached");
  if (place.textContent !== words) place.textContent = words;
  document.getElementById("detach").hidden = !a;
  const unpaired = Object.entries(status.unpaired).map(([name, why]) => `${name}: ${why}`);
  const list = document.getElementById("unpaired");
  if ([...list.children].map((item) => item.textContent).join() !== unpaired.join()) list.replaceChildren(...unpaired.map((text) => element("li", text)));
  document.getElementById("addresses").textContent = status.addresses.join(", ") || "none yet";
}

function running() {
  if (live.dataset.state === "running") return;
  live.dataset.state = "running";
  live.textContent = "live";
}

const stream = new EventSource("events?status=true&last=25");
stream.addEventListener("status", (event) => {
  running();
  const status = JSON.parse(event.data);
  document.getElementById("trouble").textContent = status.fault ?? "";
  links.show(status.links);
  charts.show(status.links);
  if (server) clients.show(status.clients ?? []);
  else showAttachment(status);
});
stream.addEventListener("error", () => {
  live.dataset.state = "failed";
  live.textContent = stream.readyState === EventSource.CLOSED ? "ended: load the page again" : "the instance does not answer";
});

const words = {
  link: (e) => `${e.link} is ${e.state}`,
  failover: (e) => `${e.link || "no link"} took over from ${e.from || "none"}`,
  return: (e) => `back to ${e.link} from ${e.from}`,
  peer: (e) => e.link,
  policy: () => "",
  config: (e) => e.link ?? "",
  missed: (e) => `${e.missed} events are missing`,
};
const body = document.querySelector("#events tbody");
for (const type of Object.keys(words)) {
  stream.addEventListener(type, (event) => {
    const e = JSON.parse(event.data);
    const row = element("tr", undefined, { "data-type": type });
    row.append(element("th", new Date(e.time).toLocaleTimeString(), { scope: "row" }), element("td", type, { "data-label": "Event" }),
      element("td", e.peer ?? "", { "data-label": "Peer" }), element("td", [words[type](e), e.reason].filter(Boolean).join(": "), { "data-label": "What happened" }));
    body.prepend(row);
    while (body.children.length > kept) body.lastChild.remove();
    document.getElementById("no-events").hidden = true;
    if (type === "failover" || type === "return") tell(words[type](e));
  });
}
