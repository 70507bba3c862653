// Fills in the address of a new room while its name is typed, until the person changes the address. Without it the
// address stays empty, and the server makes it from the name.

const slug = document.querySelector("[data-suggested-from]");
const name = document.getElementById(slug.dataset.suggestedFrom);
let suggested = slug.value;

// As Django's slugify: letters without their accents, hyphens between words.
const slugOf = (text) =>
  text
    .normalize("NFKD")
    .replace(/[^\w\s-]/g, "")
    .trim()
    .toLowerCase()
    .replace(/[-\s]+/g, "-")
    .replace(/^[-_]+|[-_]+$/g, "")
    .slice(0, 57);

name.addEventListener("input", () => {
  if (slug.value !== suggested) return;
  suggested = slugOf(name.value);
  slug.value = suggested;
});
