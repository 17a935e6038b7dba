// A page that got no turn, because earlier requests of its reader are still being answered, asks for it again.
const { again } = document.querySelector("[data-again]").dataset;
setTimeout(() => location.reload(), again * 1000);
