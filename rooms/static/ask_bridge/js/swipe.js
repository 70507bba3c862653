// A swipe to the left on the card of the inbox goes to the next question, one to the right to the previous one.
// Without it the buttons below the card do the same.

const LEAST_PX = 70; // shorter ones are taps of a hand that moves
const STEEPEST = 0.5; // what goes more up or down than that is scrolling

let start = null;

// What scrolls sideways itself, and text that is being written or selected.
function keepsItsSwipes(element) {
  if (element.closest("input:not([type=radio], [type=checkbox]), textarea, select")) return true;
  for (let part = element; part && !part.matches(".ab-focus"); part = part.parentElement) {
    if (part.scrollWidth > part.clientWidth && /auto|scroll/.test(getComputedStyle(part).overflowX)) return true;
  }
  return false;
}

document.addEventListener(
  "touchstart",
  ({ target, touches }) => {
    const isSwipe = touches.length === 1 && target.closest(".ab-focus") && !keepsItsSwipes(target);
    start = isSwipe ? { x: touches[0].clientX, y: touches[0].clientY } : null;
  },
  { passive: true },
);

document.addEventListener("touchcancel", () => (start = null));

document.addEventListener("touchend", ({ changedTouches: [end] }) => {
  if (!start || !getSelection().isCollapsed) return;
  const [right, down] = [end.clientX - start.x, end.clientY - start.y];
  start = null;
  if (Math.abs(right) < LEAST_PX || Math.abs(down) > STEEPEST * Math.abs(right)) return;
  document.querySelector(`.ab-pager [data-step="${right < 0 ? 1 : -1}"]:not([hidden])`)?.click();
});
