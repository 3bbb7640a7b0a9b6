// Says on a page that the server refuses what a script asks for, and where to sign in.

const sentences = {
  401: "You are not signed in.",
  403: "Your role does not allow this.",
};

// isRefused reports whether an answer says that the person who looks at the page has no
// right to it.
export function isRefused(status) {
  return status in sentences;
}

// showRefused has the line that says whether the page is up to date say so, with a link to
// the sign-in page, which leads back here.
export function showRefused(live, status) {
  if (live.dataset.refused === String(status) && live.querySelector("a")) return; // the link keeps the focus
  live.dataset.refused = status;
  live.dataset.state = "failed";
  const link = document.createElement("a");
  link.href = `/.enablers/sign-in?to=${encodeURIComponent(location.pathname + location.search)}`;
  link.textContent = status === 401 ? "Sign in" : "Sign in with another token";
  live.replaceChildren(`${sentences[status]} `, link);
}
