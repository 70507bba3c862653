// Starts our htmx (htmx.js) inside #ab-layout, and nowhere else: what is around it belongs to the portal, which may have
// htmx in any version. Without it live changes, replies and searches do not reach the page.

const CONFIG = {
  includeIndicatorStyles: false, // an inline style, which a policy of the portal may forbid
  allowEval: false,
  // A card listens for its next event only once it has settled, and "delivered" follows "answered" within milliseconds.
  defaultSettleDelay: 0,
  // What <body> of the portal says, such as hx-boost and hx-target, is for the portal.
  disableInheritance: true,
  // `hx-disable` and `hx-ignore` on our element are for the library of the portal.
  disableSelector: "[data-no-htmx]",
  // The portal's library would take an entry of ours for one of its own.
  historyEnabled: false,
  // 409, 422 and 429 carry a card or a sentence for it; other failures are shown by retry.js.
  responseHandling: [
    { code: "204", swap: false },
    { code: "[23]..", swap: true },
    { code: "409|422|429", swap: true },
    { code: "401", swap: true, error: true, target: "#ab-notice", swapOverride: "innerHTML" },
    { code: "[45]..", swap: false, error: true },
  ],
};

const layout = () => document.getElementById("ab-layout");

// htmx starts with the whole page, a <meta> of the portal and the Back button: here only our element is its page.
function start() {
  const ours = layout();
  const config = { ...Object.assign(askBridgeHtmx.config, CONFIG) };
  const { onpopstate } = window;
  Object.defineProperty(document, "body", { configurable: true, get: () => ours });
  // What htmx listens to on the page it would hear no more once a reset has replaced our element.
  ours.addEventListener = document.addEventListener.bind(document);
  askBridgeHtmx.start();
  delete ours.addEventListener;
  delete document.body;
  window.onpopstate = onpopstate;
  askBridgeHtmx.config = config; // without what the <meta> says
}

document.addEventListener("DOMContentLoaded", start);

// The address of a search, without a mark in the history.
document.addEventListener("ab-htmx:replacedInHistory", ({ detail }) => {
  history.replaceState(history.state, "", detail.path);
});

// A boosted link of the portal would put its page in the place of ours. Our scripts would run on in it, and the way back
// would show cards that do nothing: the browser goes there itself.
function leave(event) {
  const { boosted, ctx } = event.detail;
  if (!boosted && !ctx?.request.headers["HX-Boosted"]) return;
  event.preventDefault();
  if (event.target.matches("form")) HTMLFormElement.prototype.submit.call(event.target);
  else location.assign(event.target.href);
}
document.addEventListener("htmx:beforeRequest", leave); // of htmx 1 and 2
document.addEventListener("htmx:before:request", leave); // of htmx 4
