// Sign-up: choose the time zone this browser is in.

const field = document.getElementById("id_time_zone");
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (field.value === "UTC" && [...field.options].some((option) => option.value === zone)) field.value = zone;
