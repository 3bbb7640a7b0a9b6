// Looks for what keeps people from using a page, with axe.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

// found returns what axe finds on a page as it is now, a line each. Rules are all of WCAG 2.2 AA
// unless some are named.
export async function found(page, ...rules) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(source);
  const { violations } = await page.evaluate((runOnly) => window.axe.run(document, { runOnly, resultTypes: ["violations"] }),
    rules.length > 0 ? { type: "rule", values: rules } : { type: "tag", values: standards });
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
    `${id}: ${target.join(" ")}: ${failureSummary.split("\n").slice(1).join(" ").trim()}`));
}
