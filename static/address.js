// A page that a form made has an address that shows it again. Without that, Back shows an error of the browser.
history.replaceState(null, "", document.querySelector("[data-address]").dataset.address);
