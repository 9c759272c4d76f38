// Builds vendor.js (packages from npm) and widget.js (the component in one file, for notebooks).
// Both are committed: a clone and the wheel need neither npm nor a network.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const page = resolve(here, "../../src/spexplain/studio/page");
const BUILT = ["vendor.js", "widget.js"];
const options = { bundle: true, format: "esm", target: "es2022", minify: true, charset: "utf8", legalComments: "none", logLevel: "warning", metafile: true };

const vendor = await build({
  ...options,
  entryPoints: [join(here, "vendor-entry.js")],
  outfile: join(page, "vendor.js"),
  banner: { js: "/* Packages from npm, bundled by `make studio-page`; their licences are in LICENSES.txt. */" },
});

// tests/studio recount this: a change of a module without a new build is noticed.
const sources = readdirSync(page).filter((name) => name.endsWith(".js") && !BUILT.includes(name)).sort();
const hash = createHash("sha256");
for (const path of [...sources.map((name) => join(page, name)), join(here, "widget-entry.js")]) hash.update(readFileSync(path));
await build({
  ...options,
  entryPoints: [join(here, "widget-entry.js")],
  outfile: join(page, "widget.js"),
  banner: { js: `/* Built by \`make studio-page\` from sources ${hash.digest("hex")}. */` },
});

const packages = new Map();
for (const input of Object.keys(vendor.metafile.inputs)) {
  const name = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1];
  if (name && !packages.has(name)) {
    const folder = join(here, "node_modules", name);
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const licence = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    packages.set(name, `${name} ${about.version} (${about.license})\n\n${readFileSync(join(folder, licence), "utf8").trim()}\n`);
  }
}
const rule = `\n${"-".repeat(78)}\n\n`;
const texts = [...packages.keys()].sort().map((name) => packages.get(name));
writeFileSync(join(page, "LICENSES.txt"), `vendor.js and widget.js contain these packages.\n${rule}${texts.join(rule)}`);
