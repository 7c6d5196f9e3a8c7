// SPDX-License-Identifier: Apache-2.0
// Rules for imports: a package imports only the packages below it, names them in its package.json, and uses only their
// `exports`: the index, or a part such as `@merlon/policy/proof`. This reads the imports of every source file and lists
// violations.

/** Our packages, each with those of our packages that it may import. */
export const FLOORS: Readonly<Record<string, readonly string[]>> = {
  policy: [],
  // Checks what `policy` proves, so it shares no code with it.
  "proof-check": [],
  wire: [],
  cluster: ["wire"],
  identity: ["wire", "policy"],
  xds: ["wire", "identity", "policy"],
  control: ["wire", "xds", "identity", "policy"],
  xserver: ["wire", "xds", "identity", "policy"],
  xclient: ["wire", "xds", "identity", "policy"],
  console: ["wire", "xds", "identity", "policy"],
  cli: ["control", "cluster", "xserver", "xclient", "console", "wire", "xds", "identity", "policy"],
}

export interface SourceFile {
  /** Relative to the root of the repository, for example `packages/policy/src/index.ts`. */
  readonly path: string
  readonly text: string
}

export interface Manifest {
  readonly dependencies: readonly string[]
  readonly devDependencies: readonly string[]
}

const IMPORT = /(?:^|[\s;])(?:import|export)\s(?:[^"';]*?\sfrom\s)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/g
const SCOPE = "@merlon/"

export function importsOf(text: string): readonly string[] {
  return [...text.matchAll(IMPORT)].map(match => match[1] ?? match[2] ?? "")
}

export function breaches({ path, text }: SourceFile, manifest: Manifest): readonly string[] {
  const home = /^packages\/([^/]+)\//.exec(path)?.[1]
  if (home === undefined) return []
  const allowed = FLOORS[home]
  if (allowed === undefined) return [`${path}: the package \`${home}\` has no floor; add it to FLOORS`]
  return importsOf(text).flatMap(specifier => breach(path, home, allowed, specifier, manifest) ?? [])
}

function breach(
  path: string,
  home: string,
  allowed: readonly string[],
  specifier: string,
  { dependencies, devDependencies }: Manifest,
): string | undefined {
  if (specifier.startsWith(".")) {
    const resolved = new URL(specifier, `file:///${path}`).pathname.slice(1)
    return resolved.startsWith(`packages/${home}/`) ? undefined : `${path}: \`${specifier}\` leaves its package`
  }
  if (specifier.startsWith("node:")) return undefined
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")
  if (specifier.startsWith(SCOPE)) {
    const floor = name.slice(SCOPE.length)
    if (!allowed.includes(floor)) return `${path}: \`${home}\` must not import \`${floor}\``
    if (!/^@merlon\/[a-z]+(\/[a-z0-9-]+)?$/.test(specifier))
      return `${path}: \`${specifier}\` is no part that \`${floor}\` exports`
    // Our programs load only the parts that they use, and the index loads everything.
    if (specifier === "@merlon/policy")
      return `${path}: \`${specifier}\` is the whole library; import a part, as \`@merlon/policy/proof\``
  }
  const isTest = /\.test\.ts$|\/testing\//.test(path)
  if (dependencies.includes(name) || (isTest && devDependencies.includes(name))) return undefined
  return `${path}: \`${name}\` is not in the package's package.json`
}
