// Sign-up only: choose the time zone this browser is in. Whoever has an account has chosen theirs.

const field = document.querySelector("form[data-sign-up] #id_time_zone");
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (field.value === "UTC" && [...field.options].some((option) => option.value === zone)) field.value = zone;
