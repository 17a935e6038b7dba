// Every page works without this; what is here saves a reload. Each part loads only where it is needed.

const PARTS = {
  "[data-thumbs]": "./thumbs.js",
  "[data-endless]": "./endless.js",
  "[data-thumbs] [data-item]": "./swipe.js",
  "[data-item]": "./reading.js",
  "article[data-item]": "./neighbours.js",
  "[data-thumbs], .marked": "./place.js",
  ".article img, .thumb img": "./pictures.js",
  "[data-pane]": "./pane.js",
  ".side": "./side.js",
  "#keys": "./keyboard.js",
  "[data-mute], [data-pane]": "./mute.js",
  "[data-offline]": "./offline.js",
  "[data-cards]": "./suggestions.js",
  "[data-generate]": "./generate.js",
  "[data-source]": "./sources.js",
  "[data-copy]": "./copy.js",
  "[data-address]": "./address.js",
  "[data-filling]": "./first_fetch.js",
  "[data-teach]": "./onboarding.js",
  "[data-again]": "./again.js",
  "form[data-sign-up] #id_time_zone": "./timezone.js",
};

// A menu closes on Escape and on a click elsewhere.
const openMenu = () => document.querySelector(".menu[open]");
document.addEventListener("keydown", (event) => {
  const menu = openMenu();
  if (event.key !== "Escape" || !menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
document.addEventListener("click", (event) => {
  const menu = openMenu();
  if (menu && !menu.contains(event.target)) menu.open = false;
});

const wanted = Object.entries(PARTS).filter(([selector]) => document.querySelector(selector));
try {
  await Promise.all(wanted.map(([, module]) => import(module)));
  document.documentElement.dataset.scripts = "ready";
} finally {
  document.dispatchEvent(new Event("listening"));
}
