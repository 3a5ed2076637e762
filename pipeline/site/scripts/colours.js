// The colours of the system, or those that were chosen. The style has them once, for the system's
// choice; a choice of one's own puts that rule in force or out of it.
const DARK = "(prefers-color-scheme: dark)";
const darkRule = [...document.styleSheets[0].cssRules].find((rule) => rule instanceof CSSMediaRule && rule.conditionText === DARK);
const theme = document.getElementById("theme");
const remember = (value) => {
  // A browser may forbid pages from disk to remember anything.
  try { if (value === undefined) return localStorage.getItem("nightshift-colours") || ""; localStorage.setItem("nightshift-colours", value); } catch { /* it is asked again */ }
  return "";
};
function colour(choice) {
  darkRule.media.mediaText = { dark: "all", light: "not all" }[choice] || DARK;
  document.documentElement.style.colorScheme = choice || "";
  recolour();
}
theme.value = remember();
colour(theme.value);
theme.addEventListener("change", () => { remember(theme.value); colour(theme.value); });
matchMedia(DARK).addEventListener("change", recolour);

// On paper everything is drawn, in light colours.
addEventListener("beforeprint", () => { colour("light"); drawAll(); });
addEventListener("afterprint", () => colour(theme.value));
