// The interactive documentation of one API: Swagger UI, whose requests go through
// the gateway with the access token of the signed-in user.

const root = document.getElementById("main").dataset.root;
const place = document.querySelector("#docs");
const gateway = place.dataset.gateway;
const routed = "routed" in place.dataset;
const send = document.querySelector("#send-token");

// toGateway reports whether a request goes there and nowhere else.
function toGateway(address) {
  const to = new URL(address, location.href);
  const base = new URL(gateway);
  return to.origin === base.origin && `${to.pathname}/`.startsWith(base.pathname.replace(/\/?$/, "/"));
}

async function token() {
  const answer = await fetch(`${root}token`, { headers: { "X-Part": "1" }, cache: "no-store" });
  if (!answer.ok) throw new Error("You are not signed in any more. Please reload the page.");
  return (await answer.json()).access_token;
}

async function intercept(request) {
  if (request.loadSpec) return request;
  request.credentials = "omit";
  const given = Object.keys(request.headers ?? {}).some((name) => name.toLowerCase() === "authorization");
  if (send?.checked && !given && toGateway(request.url)) {
    request.headers = { ...request.headers, Authorization: `Bearer ${await token()}` };
  }
  return request;
}

globalThis.SwaggerUIBundle({
  domNode: place,
  url: new URL(place.dataset.definition, location.href).href,
  presets: [globalThis.SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  docExpansion: "list",
  deepLinking: false,
  validatorUrl: null,
  persistAuthorization: false,
  showMutatedRequest: false,
  supportedSubmitMethods: routed ? ["get", "put", "post", "delete", "options", "head", "patch", "trace"] : [],
  requestInterceptor: intercept,
});

// nameParts gives names to parts of Swagger UI that have none, for screen readers.
function nameParts() {
  for (const button of place.querySelectorAll(".copy-to-clipboard button:not([aria-label])")) button.setAttribute("aria-label", "Copy");
  for (const region of place.querySelectorAll('[role="region"]:not([aria-label])')) {
    const operation = region.closest(".opblock")?.querySelector(".opblock-summary-control")?.textContent ?? "";
    region.setAttribute("aria-label", `Responses: ${operation}`);
  }
}

new MutationObserver(nameParts).observe(place, { childList: true, subtree: true });
