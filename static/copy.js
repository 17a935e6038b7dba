// A text that is shown only once has a button that copies it.

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    // The newer clipboard needs TLS, which a server at home may not have.
    if (document.execCommand("copy")) button.textContent = button.dataset.copied;
  });
}
