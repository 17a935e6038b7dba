// A picture that cannot be had gives way to its words. One that is refused since many are on their way is asked
// for again: the server remembers what failed for good.
const TRIES = 3;
const FIRST_MS = 1500;
const tries = new WeakMap();

function failed({ target: image }) {
  const number = (tries.get(image) ?? 0) + 1;
  tries.set(image, number);
  if (number < TRIES) {
    setTimeout(() => { image.src = image.src; }, FIRST_MS * number);
    return;
  }
  const words = document.createElement("span");
  words.className = "no-picture";
  words.textContent = image.alt ? `Picture: ${image.alt}` : "A picture that cannot be had";
  image.replaceWith(words);
}

/** Look after the pictures of the articles below `root`. */
export function watchPictures(root) {
  for (const image of root.querySelectorAll(".article img")) {
    image.addEventListener("error", failed);
    if (image.complete && image.src && !image.naturalWidth) failed({ target: image });
  }
}

watchPictures(document);
