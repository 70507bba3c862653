// Puts a pasted key into the blocks of the Connect page. Without it the key has to replace `abk_…` there by hand.

const PLACEHOLDER = "abk_…";
const KEY = /^abk_[0-9a-z]{10}_[0-9a-z]{40}$/;

const field = document.getElementById("ab-agent-key");
const blocks = [...document.querySelectorAll(".ab-client code")].filter(({ textContent }) =>
  textContent.includes(PLACEHOLDER),
);
const templates = new Map(blocks.map((block) => [block, block.textContent]));

function fillBlocks() {
  const key = field.value.trim();
  const shown = KEY.test(key) ? key : PLACEHOLDER;
  blocks.forEach((block) => (block.textContent = templates.get(block).replaceAll(PLACEHOLDER, shown)));
}

field?.addEventListener("input", fillBlocks);
