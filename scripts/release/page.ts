// SPDX-License-Identifier: Apache-2.0
// Builds the console's page with Vite, and lists the packages in it. It is rebuilt only if something changed.

import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import type { InlineConfig, Plugin } from "vite"

const HOME = "packages/console"
const SOURCES = [
  `${HOME}/src/web`,
  "packages/policy/src",
  "scripts/release/page.ts",
  `${HOME}/package.json`,
  "package-lock.json",
]
export const PAGE_FOLDER = `${HOME}/page`
/** Next to the page and not in it, because it is not served. */
const MADE = `${HOME}/dist/page.json`

/** URLs are relative, so that the page works below any path of a proxy. */
const config = (usualConditions: readonly string[]): InlineConfig => ({
  configFile: false,
  root: resolve(HOME, "src/web"),
  base: "./",
  logLevel: "warn",
  // From source, like the programs: `npm start` builds nothing else on a fresh clone.
  resolve: { conditions: ["@merlon/source", ...usualConditions] },
  build: {
    outDir: resolve(PAGE_FOLDER),
    emptyOutDir: true,
    target: "es2022",
    // The page's Content-Security-Policy allows no inline styles or scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // For the editor, which is loaded when a user edits.
    chunkSizeWarningLimit: 600,
    rolldownOptions: {
      // `"use client"` only matters to rendering servers, of which there are none. The parts of `@merlon/policy` that
      // the page uses do not need Node; the rest is removed.
      onLog: (level, log, pass) => {
        const known = log.code === "MODULE_LEVEL_DIRECTIVE" || /"node:.*packages\/policy\//s.test(log.message)
        if (!known) pass(level, log)
      },
    },
  },
})

/**
 * The font of most text is loaded together with the scripts, because text that changes its font moves what is around
 * it.
 */
const preloadText: Plugin = {
  name: "preload-text",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle = {} }) =>
      Object.keys(bundle)
        .filter(name => /\/inter-.*\.woff2$/.test(name))
        .map(name => ({
          tag: "link",
          attrs: { rel: "preload", as: "font", type: "font/woff2", crossorigin: "", href: `./${name}` },
          injectTo: "head",
        })),
  },
}

export async function buildPage(): Promise<void> {
  const digest = digestOf(SOURCES)
  if (made()?.digest === digest && existsSync(join(PAGE_FOLDER, "index.html"))) return
  // Loaded only if there is something to build: every bundling process runs this code, and loading took a sixth of its
  // time.
  const { build, defaultClientConditions } = await import("vite")
  const inputs = new Set<string>()
  const listed: Plugin = {
    name: "list-inputs",
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        // Fonts are assets: files that stylesheets reference.
        for (const id of chunk.type === "chunk" ? chunk.moduleIds : chunk.originalFileNames) inputs.add(id)
      }
    },
  }
  await build({ ...config(defaultClientConditions), plugins: [listed, preloadText] })
  mkdirSync(`${HOME}/dist`, { recursive: true })
  writeFileSync(MADE, JSON.stringify({ digest, inputs: [...inputs].filter(id => id.includes("node_modules")).sort() }))
}

/** Third-party files in the page, relative to the root of the repository. */
export function pageInputs(): readonly string[] {
  return (made()?.inputs ?? []).map(id => id.slice(id.indexOf("node_modules/")).replace(/[?#].*$/, ""))
}

function made(): { readonly digest: string; readonly inputs: readonly string[] } | undefined {
  return existsSync(MADE) ? JSON.parse(readFileSync(MADE, "utf8")) : undefined
}

function digestOf(places: readonly string[]): string {
  const hash = createHash("sha256")
  for (const file of places.flatMap(filesIn).sort()) hash.update(file).update("\0").update(readFileSync(file))
  return hash.digest("hex")
}

function filesIn(place: string): readonly string[] {
  if (!existsSync(place)) return []
  try {
    return readdirSync(place, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))
  } catch {
    return [place]
  }
}
