// Turns a row of links into tabs: a click or an arrow key changes the panel without loading the page. Without it each
// link loads the page with its panel open.

function choose(list, chosen) {
  for (const tab of list.children) {
    const isChosen = tab === chosen;
    tab.ariaSelected = String(isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).classList.toggle("ab-is-chosen", isChosen);
  }
  // A form that shows the page again opens the same tab, and so does a reload.
  const { tabs: name } = list.dataset;
  const { tab: value } = chosen.dataset;
  document.querySelectorAll(`input[name="${name}"]`).forEach((field) => (field.value = value));
  const address = new URL(location.href);
  if (address.searchParams.get(name) === value) return;
  address.searchParams.set(name, value);
  history.replaceState(history.state, "", address);
}

// Where an arrow key leads: round the row.
function neighbour(list, tab, key) {
  const tabs = [...list.children];
  const last = tabs.length - 1;
  const steps = { ArrowLeft: -1, ArrowRight: 1 };
  if (key in steps) return tabs.at((tabs.indexOf(tab) + steps[key]) % tabs.length);
  return { Home: tabs[0], End: tabs[last] }[key];
}

function makeTabs(list) {
  list.role = "tablist";
  for (const tab of list.children) {
    const panel = document.getElementById(tab.hash.slice(1));
    tab.role = "tab";
    tab.setAttribute("aria-controls", panel.id);
    panel.role = "tabpanel";
    panel.setAttribute("aria-labelledby", tab.id);
    tab.ariaSelected = String(tab.ariaCurrent === "true");
    tab.tabIndex = tab.ariaCurrent === "true" ? 0 : -1;
    tab.removeAttribute("aria-current");
  }
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (!tab || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    choose(list, tab);
  });
  list.addEventListener("keydown", (event) => {
    const next = event.key === " " ? event.target : neighbour(list, event.target, event.key);
    if (!next || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(list, next);
    next.focus();
  });
}

document.querySelectorAll("[data-tabs]").forEach(makeTabs);
