// SPDX-License-Identifier: Apache-2.0
// Checks what `npm ci` requires: for every platform, every optional dependency of a locked package is locked too; and,
// before npm 11.11, peer dependencies match.

export interface LockedPackage {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly optionalDependencies?: { readonly [name: string]: string }
  readonly peerDependencies?: { readonly [name: string]: string }
}

export interface PackageLock {
  packages: { [path: string]: LockedPackage & object }
}

export interface Missing {
  readonly name: string
  readonly version: string
  readonly dev: boolean
}

export function missingOptionals({ packages }: PackageLock): readonly Missing[] {
  const locked = new Set(Object.keys(packages).map(path => path.slice(path.lastIndexOf("node_modules/"))))
  return Object.values(packages).flatMap(({ optionalDependencies = {}, dev = false }) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !locked.has(`node_modules/${name}`))
      .map(([name, version]) => ({ name, version, dev })),
  )
}

/**
 * Returns lines of the form `PATH takes NAME VERSION and wants RANGE`. Packages at the top level are not checked,
 * because they cannot have their own copy and npm accepts that.
 */
export function unsuitedPeers({ packages }: PackageLock): readonly string[] {
  const nested = Object.entries(packages).filter(([path]) => path.lastIndexOf("node_modules/") > 0)
  return nested.flatMap(([path, { peerDependencies = {} }]) =>
    Object.entries(peerDependencies).flatMap(([name, range]) => {
      const version = foundFrom(path, name, packages)?.version
      if (version === undefined || suits(version, range)) return []
      return [`${path} takes ${name} ${version} and wants ${range}`]
    }),
  )
}

/** Resolves a package as Node does: in the folder of the package itself, then upwards. */
function foundFrom(path: string, name: string, packages: PackageLock["packages"]): LockedPackage | undefined {
  for (let at = path; at !== ""; ) {
    at = at.slice(0, Math.max(at.lastIndexOf("node_modules/"), 0)).replace(/\/$/, "")
    const found = packages[`${at}${at === "" ? "" : "/"}node_modules/${name}`]
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Supports the ranges that peer dependencies use: `^1.2.3`, `>=1 <3`, `18`, combined with `||`. Other ranges count as
 * satisfied.
 */
function suits(version: string, range: string): boolean {
  if (version.includes("-") || range.includes(" - ")) return true
  const ours = numbers(version)
  return range.split("||").some(one => {
    const parts = [...one.matchAll(/(\^|~|>=|<=|>|<|=)?\s*v?(\d+(?:\.\d+){0,2})(?=$|\s)/g)]
    return parts.every(([, sign = "", text = ""]) => holds(ours, sign, numbers(text), text.split(".").length))
  })
}

type Triple = readonly [major: number, minor: number, patch: number]

function numbers(text: string): Triple {
  const [major = 0, minor = 0, patch = 0] = text.split(".").map(Number)
  return [major, minor, patch]
}

function holds(ours: Triple, sign: string, theirs: Triple, given: number): boolean {
  const order = Math.sign(ours[0] - theirs[0]) || Math.sign(ours[1] - theirs[1]) || Math.sign(ours[2] - theirs[2])
  if (sign === ">=") return order >= 0
  if (sign === ">") return order > 0
  if (sign === "<") return order < 0
  if (sign === "<=") return order <= 0
  // `^` keeps the numbers up to the first nonzero one. The others keep the given numbers, `~` at most two.
  const first = theirs.findIndex(number => number !== 0)
  const kept = sign === "^" ? (first < 0 ? 3 : first + 1) : sign === "~" ? Math.min(given, 2) : given
  return order >= 0 && ours.slice(0, kept).every((number, at) => number === theirs[at])
}
