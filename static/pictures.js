// A picture that cannot be had gives way: to its words in an article, to the text beside it in a list. One that is
// refused since many are on their way is asked for again: the server remembers what failed for good.
import { ask, said } from "./http.js";
import { tell } from "./rows.js";

const TRIES = 3;
const SMALL_TRIES = 5;
const FIRST_MS = 1500;
const tries = new WeakMap();

async function failed({ target: image }) {
  const number = (tries.get(image) ?? 0) + 1;
  tries.set(image, number);
  const small = image.closest(".thumb");
  (small ?? image).classList.add("failed");
  if (number < (small ? SMALL_TRIES : TRIES) && (await mayCome(image))) {
    // Not all at once: a list has many.
    const pause = FIRST_MS * number * (small ? 0.5 + Math.random() : 1);
    setTimeout(() => { image.src = image.src; }, pause);
    return;
  }
  if (small) {
    small.classList.add("gone");
    return tell(small);
  }
  const words = document.createElement("span");
  words.className = "no-picture";
  words.textContent = image.alt ? said("picture_of", { alt: image.alt }) : said("no_picture");
  image.replaceWith(words);
}

/** Return whether a later try may have the picture. A refusal for good comes from the browser's cache. */
async function mayCome(image) {
  try {
    return (await ask(image.src)).ok;
  } catch {
    return true;
  }
}

/** Look after the pictures of the articles and lists below `root`. */
export function watchPictures(root) {
  for (const image of root.querySelectorAll(".article img, .thumb img")) {
    image.addEventListener("error", failed);
    image.addEventListener("load", () => (image.closest(".thumb") ?? image).classList.remove("failed"));
    if (image.complete && image.src && !image.naturalWidth) failed({ target: image });
  }
}

watchPictures(document);
document.addEventListener("rows", ({ detail }) => detail.forEach(watchPictures));
