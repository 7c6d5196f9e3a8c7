// SPDX-License-Identifier: Apache-2.0
// Every link of every page leads somewhere: to a file that is there, and where it names a heading, to that heading.

import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { expect, it } from "vitest"

const PAGES = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {
  encoding: "utf8",
})
  .split("\n")
  .filter(path => path !== "" && existsSync(path))

/** Outside of code, which may hold brackets of its own. */
const prose = (path: string): string =>
  readFileSync(path, "utf8")
    .replaceAll(/^```.*?^```/gms, "")
    .replaceAll(/`[^`\n]*`/g, "code")

/** As hosts of repositories and sites make them of headings. */
function anchors(path: string): ReadonlySet<string> {
  const seen = new Map<string, number>()
  const found = new Set<string>()
  for (const [, heading = ""] of readFileSync(path, "utf8")
    .replaceAll(/^```.*?^```/gms, "")
    .matchAll(/^#{1,6} +(.+)$/gm)) {
    const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase()
    const slug = text
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .trim()
      .replaceAll(" ", "-")
    const times = seen.get(slug) ?? 0
    seen.set(slug, times + 1)
    found.add(times === 0 ? slug : `${slug}-${times}`)
  }
  return found
}

it.each(PAGES)("%s links only to what is there", path => {
  const dead = [...prose(path).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = ""]) => {
    if (/^[a-z]+:/.test(link)) return []
    const [file = "", anchor] = link.split("#")
    const target = file === "" ? path : normalize(join(dirname(path), file))
    if (!existsSync(target)) return [link]
    return anchor === undefined || !target.endsWith(".md") || anchors(target).has(anchor) ? [] : [link]
  })
  expect(dead).toEqual([])
})

it("the site's list of pages names all pages for users, and only pages that are there", () => {
  const listed = [...readFileSync("docs/.vitepress/config.ts", "utf8").matchAll(/page\("[^"]*", "\/([^"]+)"\)/g)]
  const pages = listed.map(([, path]) => `${path}.md`)
  expect(pages.filter(page => !PAGES.includes(page))).toEqual([])
  const forUsers = PAGES.filter(page => /^docs\/(?!adr\/|index\.md$)/.test(page))
  expect(forUsers.filter(page => !pages.includes(page))).toEqual([])
})
