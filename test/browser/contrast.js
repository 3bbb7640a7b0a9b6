// faint lists the texts of a page that are hard to read: whose contrast to what is
// behind them is less than criterion 1.4.3 of WCAG 2.2 wants at level AA, 4.5, and 3
// for large text. Disabled controls are exempt there, and here.
export async function faint(page) {
  await page.waitForLoadState(); // with its style sheets
  return page.evaluate(() => {
    for (const change of document.getAnimations()) if (change instanceof CSSTransition) change.finish();
    const parse = (colour) => {
      const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
      return { r, g, b, a };
    };
    const over = (front, back, a = front.a) => ({ r: front.r * a + back.r * (1 - a), g: front.g * a + back.g * (1 - a), b: front.b * a + back.b * (1 - a), a: 1 });
    const luminance = ({ r, g, b }) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    // ground is what is behind the text of an element, and how much of the text is seen.
    const ground = (element) => {
      const chain = [];
      for (let at = element; at; at = at.parentElement) chain.unshift(getComputedStyle(at));
      const dark = matchMedia("(prefers-color-scheme: dark)").matches && chain[0].colorScheme.includes("dark");
      let colour = dark ? { r: 18, g: 18, b: 18, a: 1 } : { r: 255, g: 255, b: 255, a: 1 }; // the canvas
      let opacity = 1;
      for (const style of chain) {
        opacity *= Number(style.opacity);
        const own = parse(style.backgroundColor);
        colour = over(own, colour, own.a * opacity);
      }
      return { colour, opacity };
    };
    const found = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      const text = walker.currentNode.textContent.trim();
      if (!text || !element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) || element.closest("[disabled], script, style")) continue;
      const style = getComputedStyle(element);
      const { colour, opacity } = ground(element);
      const own = parse(style.color);
      const [light, dark] = [luminance(over(own, colour, own.a * opacity)), luminance(colour)].sort((a, b) => b - a);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const contrast = (light + 0.05) / (dark + 0.05);
      if (contrast < (large ? 3 : 4.5)) {
        const hex = ({ r, g, b }) => `#${[r, g, b].map((c) => Math.round(c).toString(16).padStart(2, "0")).join("")}`;
        found.add(`${contrast.toFixed(2)} ${hex(own)} on ${hex(colour)} "${text.slice(0, 40)}" in <${element.localName} class="${element.getAttribute("class") ?? ""}">`);
      }
    }
    return [...found];
  });
}
