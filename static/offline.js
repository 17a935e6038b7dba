// Says when the network is gone, and leaves a page behind for navigations that cannot be answered.
import { announce } from "./http.js";

const note = document.querySelector("[data-offline]");

function show() {
  note.hidden = navigator.onLine;
  if (!navigator.onLine) announce(note.textContent);
}

addEventListener("online", show);
addEventListener("offline", show);
show();
navigator.serviceWorker?.register("/sw.js").catch(() => {});
