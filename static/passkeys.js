// Says that a passkey did not work, which the browser and allauth do not.
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  document.getElementById("passkey_failed").hidden = false;
});
