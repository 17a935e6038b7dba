// Following an item's original marks it as read; the link itself waits for nothing.
const token = document.querySelector('meta[name="csrf-token"]').content;

function followed(event) {
  const link = event.target.closest("[data-item] a[data-original]");
  // A right click opens a menu, not the link.
  if (!link || event.button > 1) return;
  const box = link.closest("[data-item]");
  box.classList.add("read");
  fetch(`/api/items/${box.dataset.item}/read`, {
    method: "POST",
    headers: { "X-CSRFToken": token },
    credentials: "same-origin",
    keepalive: true,
  }).catch(() => {});
}

document.addEventListener("click", followed);
document.addEventListener("auxclick", followed);
