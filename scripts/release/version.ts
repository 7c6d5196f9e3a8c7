// SPDX-License-Identifier: Apache-2.0
// Sets a new version in every manifest, in the lock, and as a heading of the changelog. Pure: text in, text out.

const SEMANTIC = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/

export function checkVersion(version: string, before: string): void {
  if (!SEMANTIC.test(version)) throw new Error(`\`${version}\` is no version; write it as 1.2.3 or 1.2.3-rc.1`)
  if (compare(version, before) <= 0) throw new Error(`\`${version}\` does not come after \`${before}\``)
}

/** Updates one package.json: its own version, and the versions of our packages that it needs. */
export function withVersion(manifest: string, version: string): string {
  const value = JSON.parse(manifest)
  const ours = (names: Record<string, string> | undefined): Record<string, string> | undefined =>
    names &&
    Object.fromEntries(
      Object.entries(names).map(([name, wanted]) => [name, name.startsWith("@merlon/") ? version : wanted]),
    )
  const { dependencies, devDependencies } = value
  const next = {
    ...value,
    version,
    ...(dependencies === undefined ? {} : { dependencies: ours(dependencies) }),
    ...(devDependencies === undefined ? {} : { devDependencies: ours(devDependencies) }),
  }
  return `${JSON.stringify(next, undefined, 2)}\n`
}

/** Updates every workspace in the lock. */
export function lockWithVersion(lock: string, version: string): string {
  const value = JSON.parse(lock)
  for (const [path, entry] of Object.entries<Record<string, unknown>>(value.packages)) {
    if (path.includes("node_modules/") || entry.link === true) continue
    value.packages[path] = JSON.parse(withVersion(JSON.stringify(entry), version))
  }
  return `${JSON.stringify({ ...value, version }, undefined, 2)}\n`
}

/** Moves the unreleased changes under the version. */
export function releasedChangelog(changelog: string, version: string, date: string): string {
  if (changelog.includes(`\n## ${version} `)) throw new Error(`the changelog has a section for ${version} already`)
  const section = /\n## Unreleased\n([\s\S]*?)(?=\n## |$)/.exec(changelog)
  if (section?.[1] === undefined) throw new Error("the changelog has no section `## Unreleased`")
  if (section[1].trim() === "") throw new Error("nothing stands under `## Unreleased`; say what is new first")
  return changelog.replace("\n## Unreleased\n", `\n## Unreleased\n\n## ${version} - ${date}\n`)
}

/** The section of the changelog for a version. */
export function notesOf(changelog: string, version: string): string {
  const headings = [...changelog.matchAll(/^## (\S+).*$/gm)]
  const at = headings.findIndex(([, name]) => name === version)
  const found = headings[at === -1 ? headings.findIndex(([, name]) => name === "Unreleased") : at]
  if (found === undefined) return ""
  const next = headings[headings.indexOf(found) + 1]
  return changelog.slice(found.index + found[0].length, next?.index).trim()
}

function compare(a: string, b: string): number {
  const [coreA = "", preA] = a.split(/-(.*)/)
  const [coreB = "", preB] = b.split(/-(.*)/)
  const order = coreA.localeCompare(coreB, "en", { numeric: true })
  if (order !== 0) return order
  if (preA === preB) return 0
  // A pre-release comes before its release.
  if (preA === undefined) return 1
  return preB === undefined ? -1 : preA.localeCompare(preB, "en", { numeric: true })
}
