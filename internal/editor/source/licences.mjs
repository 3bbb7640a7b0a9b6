// Prints the licences of the packages that are in the bundle.

import { readdirSync, readFileSync } from "node:fs";

const scopes = ["@codemirror", "@lezer", "@marijn"];
const all = scopes.flatMap((scope) => readdirSync(`node_modules/${scope}`).map((name) => `${scope}/${name}`));
for (const name of [...all, "crelt", "style-mod", "w3c-keyname"].sort()) {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  const file = readdirSync(`node_modules/${name}`).find((file) => /^licen[sc]e/i.test(file));
  console.log(`${name} ${version} (${license})\n\n${readFileSync(`node_modules/${name}/${file}`, "utf8").trim()}\n\n`);
}
